/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_FABRIC_H
#define FUZZ_FRAMES_FABRIC_H

/**
 * @file
 * The network: EAL, two devices on ring ports, and this program as the switch between them.
 *
 *	target   192.0.2.1, 2001:db8::1   two workers; has all QPs under attack
 *	beside   192.0.2.2, 2001:db8::2   an honest peer
 *	ghost    192.0.2.3, 2001:db8::3   the attacker: the program responds for this address
 *
 * The program also controls time: only calls of fabric_wait_ns() advance the clock of the data
 * path. So timers expire at the same frame in every run with the same seed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rte_mbuf.h>

#include "datapath/device/dev.h"
#include "frame.h"
#include "rng.h"

enum host { HOST_TARGET, HOST_BESIDE, HOST_GHOST, HOST_NB };

#define TARGET_WORKERS 2

/** The QP number that the attacker has as the peer of victim `idx`. */
#define GHOST_QPN(idx) (0x600000u + (idx))

/** How a hostile frame reaches the target. */
enum feed {
	FEED_PORT,  /* a worker of the target receives the frame from its port */
	FEED_INPUT, /* the frame is passed to uroce_worker_input(), as by an embedder */
};

struct fabric {
	struct ibv_device *device[2]; /* the devices of the target and of the honest peer */
	struct ibv_context *context[2];
	struct uroce_dev *dev[2];
	uint64_t nb_sent; /* number of frames passed to the target, from any sender */
	uint64_t nb_rest; /* number of frames that uroce_worker_input() returned */
	/* number of frames that were dropped because a ring was full or no mbuf was free */
	uint64_t nb_lost;
	uint64_t nb_answers; /* number of READ responses and atomic acknowledges to the attacker */
	bool has_leaked;
	/* access rights that each victim grants to the attacker (enum ibv_access_flags) */
	int granted[UINT8_MAX + 1];
	bool has_overstepped; /* a victim has executed a READ or an atomic that it does not grant */
	uint64_t nb_reply;    /* number of frames from the target to the attacker */
};

/** The address of a host in the form of a GID. */
const uint8_t *fabric_ip(enum host host, bool is_ipv6);

/** The GID of a multicast group that has members on the target. */
const uint8_t *fabric_group(bool is_ipv6);

/**
 * Start EAL and create both devices.
 * @return false: a line on stderr gives the reason
 */
bool fabric_open(struct fabric *fabric, uint64_t seed);
void fabric_close(struct fabric *fabric);

/** Seed the generator from which the library gets all its random numbers. */
void fabric_seed_random(uint64_t seed);

/** Advance the clock of the data path by `ns`. */
void fabric_wait_ns(uint64_t ns);

/**
 * Let the target learn the MACs of the attacker and of the honest peer, and let the honest peer
 * learn the MAC of the target. MACs that are already known are not learnt again.
 * @return whether all these MACs are known at the end
 */
bool fabric_introduce(struct fabric *fabric);

/**
 * Send a frame to a worker of the target. The frame is in one of three kinds of memory, at random:
 * in a buffer at the end of a mapping, so that a read beyond it faults; in an ordinary mbuf; in a
 * chain of mbufs.
 */
void fabric_send(struct fabric *fabric, const struct frame *frame, unsigned worker,
		 struct rng *rng);

/**
 * Drive both devices until all frames that were sent are processed.
 * @param asleep  worker of the target that is not driven, or TARGET_WORKERS to drive all workers
 */
void fabric_run(struct fabric *fabric, enum feed feed, unsigned asleep);

/**
 * Choose a captured frame, which a QP of one of the two devices has sent. Returns NULL if no frame
 * was captured yet.
 */
const struct frame *fabric_captured(struct rng *rng);

/** Number of mbufs of this program's pool that were not released. */
unsigned fabric_mbufs_missing(void);

/** Sum of the statistics of the target's workers. */
struct uroce_worker_stats fabric_stats(const struct fabric *fabric);

#endif /* FUZZ_FRAMES_FABRIC_H */
