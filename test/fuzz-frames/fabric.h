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
 * The program also controls time: the clock of the data path advances by calls only. So timers
 * expire at the same frame in every run of a seed.
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

/** The QP number of the attacker as the peer of victim `idx`. */
#define GHOST_QPN(idx) (0x600000u + (idx))

/** How a hostile frame reaches the target. */
enum feed {
	FEED_PORT,  /* a worker receives the frame from its port */
	FEED_INPUT, /* frames are passed to uroce_worker_input() */
};

struct fabric {
	struct ibv_device *device[2]; /* devices of the target and of the host beside it */
	struct ibv_context *context[2];
	struct uroce_dev *dev[2];
	uint64_t nb_sent;    /* frames passed to the target, from any sender */
	uint64_t nb_rest;    /* number of frames that uroce_worker_input() returned */
	uint64_t nb_lost;    /* number of frames dropped by a full queue */
	uint64_t nb_answers; /* responses to READs and atomics, which are searched for the secret */
	bool has_leaked;
	/* access rights that each QP grants to the attacker: enum ibv_access_flags */
	int granted[UINT8_MAX + 1];
	bool has_overstepped; /* a QP executed a READ or an atomic that it does not grant */
	uint64_t nb_reply;    /* frames from the target to the attacker */
};

/** The address of a host, in the form of a GID. */
const uint8_t *fabric_ip(enum host host, bool is_ipv6);

/** The GID of a group that has members on the target. */
const uint8_t *fabric_group(bool is_ipv6);

/**
 * Start EAL and both devices.
 * @return false after one line on stderr
 */
bool fabric_open(struct fabric *fabric, uint64_t seed);
void fabric_close(struct fabric *fabric);

/** Make all random numbers of the library depend on this seed. */
void fabric_seed_random(uint64_t seed);

/** Advance the time. */
void fabric_wait_ns(uint64_t ns);

/**
 * Let the target learn the MACs of the attacker and the honest peer if it does not know them.
 * @return whether it knows them now
 */
bool fabric_introduce(struct fabric *fabric);

/**
 * Send a frame to a worker of the target. The frame is in one of three places: in a buffer that
 * ends at the end of a mapping, so that a read beyond it faults; in an ordinary mbuf; in a chain of
 * mbufs.
 */
void fabric_send(struct fabric *fabric, const struct frame *frame, unsigned worker,
		 struct rng *rng);

/**
 * Drive until all sent frames are handled, except by the worker `asleep` (TARGET_WORKERS: none).
 */
void fabric_run(struct fabric *fabric, enum feed feed, unsigned asleep);

/** A frame that a real QP has sent; NULL: none yet. */
const struct frame *fabric_captured(struct rng *rng);

/** Number of mbufs of this program that are not back in their pool. */
unsigned fabric_mbufs_missing(void);

/** Sum of the statistics of the target's workers. */
struct uroce_worker_stats fabric_stats(const struct fabric *fabric);

#endif /* FUZZ_FRAMES_FABRIC_H */
