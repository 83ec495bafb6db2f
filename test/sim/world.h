/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

/**
 * @file
 * A network in virtual time: hosts, each with a cable to one switch, and QPs on the hosts.
 *
 * Floors 0-2 run in it unmodified. Time is a number that advances from event to event. Nothing
 * depends on the machine, its clock or its addresses, because regions get addresses that are
 * derived from their number. So one seed always gives the same run, byte for byte.
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

/** The maximum number of shared receive queues. */
#define SHAREDS_MAX 64

/** The XRC domain of every host. */
#define HOST_XRCD 5

/** The address of the noise in requests, the same at each host. */
#define NOISE_IOVA (UINT64_C(1) << 40)

/**
 * The noise: random bytes from which all sent data is taken. Every host has them registered,
 * readable by all.
 */
#define NOISE_LEN (8u << 20)

struct qp;
struct shared;

/** A host: a worker and its applications. See host.h. */
struct host {
	struct link link;
	struct uroce_mr_table *mrs;
	struct uroce_rd_pool *rd_pool;
	struct shared *shared; /* the host's shared receive queue; NULL: none */
	struct shared *xrc[2]; /* the host's XRC shared queues, XRC_SRQS of them; NULL: none */
	struct uroce_srq_table *srqs;
	struct uroce_mcast_table *mcast;
	/* buffer of the host; NULL: out-of-order packets are dropped */
	struct uroce_reorder_buffer *reorder_buffer;
	struct uroce_qpc_limits limits;
	uint8_t idx;
	bool is_dead;
	uint8_t ip[16];
	uint32_t pdn;
	uint32_t noise_key;   /* key of the noise for READs */
	uint32_t foreign_key; /* key of the noise in another protection domain */
	uint32_t dead_key;    /* key of a region that no longer exists */
	uint32_t next_qpn;
	struct qp *qps[QPS_MAX]; /* QPs of the host that exist */
	uint32_t nb_qps;
	uint32_t turn; /* index of the QP that sends first in the next round */
	/* receive queue: frames that have arrived and were not received yet */
	struct frame *rx_first;
	struct frame *rx_last;
	uint32_t nb_rx;
	/* length of the receive ring in frames; frames that arrive at a full ring are lost */
	uint32_t rx_room;
	uint32_t run_max; /* maximum number of frames that a QP receives in one call */
	/* rounds of the host */
	uint32_t gap_ns;     /* minimum time between two rounds */
	uint32_t burst;      /* frames that a QP may send in one round */
	uint64_t round_ns;   /* time of the next round; UROCE_NEVER: none is due */
	uint64_t last_ns;    /* time of the last round */
	uint64_t awake_ns;   /* the host is stalled until this time */
	uint64_t blocked_ns; /* total time in which the port of the host accepted no frames */
	/* latest time at which the port of the host had no room for another QP */
	uint64_t busy_ns;
};

/** Counts of a run, for the histograms. */
struct tally {
	uint64_t packets;
	uint64_t requests;
	uint64_t bytes;
	uint64_t retransmits;
	uint64_t shared;   /* QPs with a shared receive queue */
	uint64_t limits;   /* limit events of shared receive queues */
	uint64_t reacting; /* number of QPs with congestion control */
	uint64_t cnps;
	uint64_t in_runs; /* frames that were delivered with others in one call */
	uint64_t copies;  /* copies of group datagrams that were delivered to members */
	uint64_t mkeys;
	uint64_t damaged;         /* requests in which an mkey finds a bad block */
	uint64_t stops;           /* QPs that stopped because of a bad block */
	uint64_t stopped_cancels; /* requests that were cancelled after such a stop */
	uint64_t spurious;        /* number of packets that arrived twice */
	uint64_t ops[16];         /* number of requests, by enum ibv_wr_opcode */
	uint64_t sizes[34];       /* number of messages, by the number of bits of the length */
	uint64_t statuses[32];
	uint64_t faults[FAULT_NB];
	uint64_t services[16]; /* number of QPs, by enum ibv_qp_type */
	uint64_t lives[17];    /* number of events, by enum life_kind */
	uint64_t bads[16];     /* number of invalid requests, by enum bad */
};

struct world {
	uint64_t seed;
	struct rng rng;
	uint64_t now_ns;
	uint64_t calm_ns; /* from this time on the network loses nothing */
	struct heap heap;
	struct frame_pool frames;
	struct host hosts[HOSTS_MAX];
	uint32_t nb_hosts;
	struct qp *qps[QPS_MAX]; /* all QPs that have existed */
	uint32_t nb_qps;
	struct shared *shared[SHAREDS_MAX];
	uint32_t nb_shared;
	uint64_t next_iova;
	uint64_t nb_passes; /* group datagrams that were delivered */
	const uint8_t *noise;
	struct trace trace;
	struct tally tally;
	uint64_t nb_events;
	uint64_t max_events; /* limit of events: a run with more does not end */
	/* text of the first violation; empty: none */
	char violation[400];
	/* memory that is freed at the end of the seed */
	uint8_t *arena;
	size_t arena_len;
	size_t arena_used;
};

/** Allocate memory and noise; once in a process. */
void world_create(struct world *world);
void world_destroy(struct world *world);

/** Make the world empty, at time 0. */
void world_reset(struct world *world, uint64_t seed);

/** Allocate zeroed memory, aligned to 64 bytes, until the next reset. */
void *world_alloc(struct world *world, size_t len);

/** Add a host with a cable. */
struct host *world_add_host(struct world *world);

/** Run until no events are left, or until `until_ns`, or until a violation. */
void world_run(struct world *world, uint64_t until_ns);

/** Report a violation. Only the first one is kept. */
void world_complain(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool
world_is_well(const struct world *world)
{
	return world->violation[0] == '\0';
}

#endif /* TEST_SIM_WORLD_H */
