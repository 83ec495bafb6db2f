/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

/**
 * @file
 * A network in virtual time: hosts, each with a cable to one switch, and QPs on the hosts.
 *
 * Floors 0-2 of the library run in this network unmodified. Time is a number that advances from
 * event to event. Nothing depends on the machine, its clock or its addresses: the address of a
 * region, as requests name it, is derived from the region's number. So one seed always gives the
 * same run, byte for byte.
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

/** Number of the XRC domain, which is the same at every host. */
#define HOST_XRCD 5

/** The address by which requests name the noise; it is the same at each host. */
#define NOISE_IOVA (UINT64_C(1) << 40)

/**
 * Length of the noise: random bytes from which all sent data is taken. Every host has registered
 * the noise, and every peer may READ it.
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
	/* the host's XRC shared receive queues, XRC_SRQS of them; NULL: none */
	struct shared *xrc[2];
	struct uroce_srq_table *srqs;
	struct uroce_mcast_table *mcast;
	/* reorder buffer of the host; NULL: the host has none */
	struct uroce_reorder_buffer *reorder_buffer;
	struct uroce_qpc_limits limits;
	uint8_t idx;
	bool is_dead;
	uint8_t ip[16];
	uint32_t pdn;
	uint32_t noise_key;   /* key through which peers READ the noise (NOISE_LEN) */
	uint32_t foreign_key; /* key of the noise that belongs to another protection domain */
	uint32_t dead_key;    /* key of a region that was deregistered */
	uint32_t next_qpn;
	struct qp *qps[QPS_MAX]; /* QPs that exist on the host; NULL: a free entry */
	uint32_t nb_qps;
	uint32_t turn; /* index of the QP that sends first in the next round */
	/* receive queue of the host: frames that have arrived and wait for the next round */
	struct frame *rx_first;
	struct frame *rx_last;
	uint32_t nb_rx;
	/* length of the receive ring in frames; frames that arrive at a full ring are lost */
	uint32_t rx_room;
	uint32_t run_max; /* maximum number of frames that a QP receives in one call */
	/* the rounds of the host */
	uint32_t gap_ns;     /* minimum time between two rounds */
	uint32_t burst;      /* maximum number of frames that a QP sends in one round */
	uint64_t round_ns;   /* time of the next round; UROCE_NEVER: none is due */
	uint64_t last_ns;    /* time of the last round */
	uint64_t awake_ns;   /* the host runs no rounds until this time */
	uint64_t blocked_ns; /* total time in which the port of the host accepted no frames */
	/* last time at which a QP had to wait because the port of the host was busy */
	uint64_t busy_ns;
};

/** Counts of events in a run, which are printed as histograms. */
struct tally {
	uint64_t packets;
	uint64_t requests;
	uint64_t bytes;
	uint64_t retransmits;
	uint64_t shared;   /* number of QPs with a shared receive queue */
	uint64_t limits;   /* number of limit events of shared receive queues */
	uint64_t reacting; /* number of QPs with congestion control */
	uint64_t cnps;
	uint64_t in_runs; /* number of frames that a QP received in calls with several frames */
	/* number of multicast datagrams that members received, each copy counted */
	uint64_t copies;
	uint64_t mkeys;
	uint64_t damaged; /* number of requests in whose data an mkey finds a bad block */
	uint64_t stops;   /* how often a QP stopped because of a bad block */
	/* number of requests that were cancelled after their QP stopped because of a bad block */
	uint64_t stopped_cancels;
	uint64_t spurious;  /* number of packets that arrived twice */
	uint64_t ops[16];   /* number of requests, by enum ibv_wr_opcode */
	uint64_t sizes[34]; /* number of requests, by the number of bits of their length */
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
	uint64_t calm_ns; /* from this time on the network drops and damages no frames */
	struct heap heap;
	struct frame_pool frames;
	struct host hosts[HOSTS_MAX];
	uint32_t nb_hosts;
	struct qp *qps[QPS_MAX]; /* all QPs of the run, including those that no longer exist */
	uint32_t nb_qps;
	struct shared *shared[SHAREDS_MAX];
	uint32_t nb_shared;
	uint64_t next_iova;
	uint64_t nb_passes; /* number of multicast datagrams that arrived at hosts */
	const uint8_t *noise;
	struct trace trace;
	struct tally tally;
	uint64_t nb_events;
	uint64_t max_events; /* maximum number of events; a run with more counts as endless */
	/* text of the first violation of a rule; empty: no violation */
	char violation[400];
	/* memory for world_alloc(), which the next run uses again */
	uint8_t *arena;
	size_t arena_len;
	size_t arena_used;
};

/** Allocate the memory and the noise of a world. To be called once in a process. */
void world_create(struct world *world);
void world_destroy(struct world *world);

/** Make the world empty, with time 0 and a new seed. */
void world_reset(struct world *world, uint64_t seed);

/** Allocate zeroed memory, aligned to 64 bytes, which remains until world_reset(). */
void *world_alloc(struct world *world, size_t len);

/** Add a host, with a cable to the switch. */
struct host *world_add_host(struct world *world);

/** Run events until none is left, until time `until_ns`, or until a rule is violated. */
void world_run(struct world *world, uint64_t until_ns);

/** Report that a rule is violated. Only the first violation is recorded. */
void world_complain(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool
world_is_well(const struct world *world)
{
	return world->violation[0] == '\0';
}

#endif /* TEST_SIM_WORLD_H */
