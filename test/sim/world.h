/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

/**
 * @file
 * A network in virtual time: hosts, each with a cable to one switch, and QPs on the hosts.
 *
 * Floors 0-2 run in it unmodified. Time is a number that jumps from event to event; nothing in it
 * depends on the machine, its clock or its addresses (regions have addresses of their own, made up
 * from their number), so the same seed is the same run, byte for byte.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "heap.h"
#include "link.h"
#include "rng.h"
#include "trace.h"

#define HOSTS_MAX 66
#define QPS_MAX   136

/** Shared receive queues. */
#define SHAREDS_MAX 64

/** The XRC domain of every host. */
#define HOST_XRCD 5

/** The address of the noise in requests, at each host. */
#define NOISE_IOVA (UINT64_C(1) << 40)

/** Bytes that everything sent is a piece of; registered at each host, readable by everyone. */
#define NOISE_LEN (8u << 20)

struct qp;
struct shared;

/** A worker and its application: see host.h. */
struct host {
	struct link link;
	struct uroce_mr_table *mrs;
	struct uroce_rd_pool *rd_pool;
	struct shared *shared; /* its shared receive queue; NULL: none */
	struct shared *xrc[2]; /* XRC_SRQS of them; NULL: none */
	struct uroce_srq_table *srqs;
	struct uroce_mcast_table *mcast;
	struct uroce_reorder_buffer *reorder_buffer; /* NULL: nothing is placed early or held */
	struct uroce_qpc_limits limits;
	uint8_t idx;
	bool is_dead;
	uint8_t ip[16];
	uint32_t pdn;
	uint32_t noise_key;   /* the noise, readable */
	uint32_t foreign_key; /* the noise, of another protection domain */
	uint32_t dead_key;    /* was a region once */
	uint32_t next_qpn;
	struct qp *qps[QPS_MAX]; /* alive */
	uint32_t nb_qps;
	uint32_t turn; /* the QP that sends first in the next round */
	/* received, not yet taken */
	struct frame *rx_first;
	struct frame *rx_last;
	uint32_t nb_rx;
	uint32_t rx_room; /* frames; what comes when it is full is lost */
	uint32_t run_max; /* frames that a QP gets at once, at most */
	/* rounds */
	uint32_t gap_ns;     /* least time between two */
	uint32_t burst;      /* frames that a QP may send in one */
	uint64_t round_ns;   /* when the next is due; UROCE_NEVER: none is */
	uint64_t last_ns;    /* when the last was */
	uint64_t awake_ns;   /* stalled until then */
	uint64_t blocked_ns; /* its port took nothing for so long, in all */
	uint64_t busy_ns;    /* when its port last had no room for another QP */
};

/** What happened, for the histograms. */
struct tally {
	uint64_t packets;
	uint64_t requests;
	uint64_t bytes;
	uint64_t retransmits;
	uint64_t shared;   /* QPs with a shared receive queue */
	uint64_t limits;   /* of shared receive queues that were reached */
	uint64_t reacting; /* QPs with congestion control */
	uint64_t cnps;
	uint64_t in_runs; /* frames that were handed over with others */
	uint64_t copies;  /* of datagrams to a group, to its members */
	uint64_t mkeys;
	uint64_t damaged;         /* requests of which an mkey finds a block bad */
	uint64_t stops;           /* for that */
	uint64_t stopped_cancels; /* requests that were cancelled then */
	uint64_t spurious;        /* packets that arrived again */
	uint64_t ops[16];         /* by enum ibv_wr_opcode */
	uint64_t sizes[34];       /* by the number of bits of the length */
	uint64_t statuses[32];
	uint64_t faults[FAULT_NB];
	uint64_t services[16]; /* QPs, by enum ibv_qp_type */
	uint64_t lives[17];    /* by enum life_kind */
	uint64_t bads[16];     /* by enum bad */
};

struct world {
	uint64_t seed;
	struct rng rng;
	uint64_t now_ns;
	uint64_t calm_ns; /* from then on the network delivers everything */
	struct heap heap;
	struct frame_pool frames;
	struct host hosts[HOSTS_MAX];
	uint32_t nb_hosts;
	struct qp *qps[QPS_MAX]; /* all that ever were */
	uint32_t nb_qps;
	struct shared *shared[SHAREDS_MAX];
	uint32_t nb_shared;
	uint64_t next_iova;
	uint64_t nb_passes; /* datagrams to groups that were delivered */
	const uint8_t *noise;
	struct trace trace;
	struct tally tally;
	uint64_t nb_events;
	uint64_t max_events; /* more: it does not end */
	/* the first violation; empty: none */
	char violation[400];
	/* memory that lives as long as the seed */
	uint8_t *arena;
	size_t arena_len;
	size_t arena_used;
};

/** Memory and noise; once in a process. */
void world_create(struct world *world);
void world_destroy(struct world *world);

/** An empty world at time 0. */
void world_reset(struct world *world, uint64_t seed);

/** Memory until the next reset, 64-byte aligned, zeroed. */
void *world_alloc(struct world *world, size_t len);

/** Add a host with a cable. */
struct host *world_add_host(struct world *world);

/** Go on until nothing happens any more, or `until_ns`, or a violation. */
void world_run(struct world *world, uint64_t until_ns);

/** The world is not as it must be. The first complaint stays. */
void world_complain(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool
world_is_well(const struct world *world)
{
	return world->violation[0] == '\0';
}

#endif /* TEST_SIM_WORLD_H */
