/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_FABRIC_H
#define FUZZ_FRAMES_FABRIC_H

/**
 * @file
 * The network: EAL, two devices on ring ports, and the switch between them, which is this program.
 *
 *	target   192.0.2.1, 2001:db8::1   two workers; carries all the QPs under attack
 *	beside   192.0.2.2, 2001:db8::2   an honest peer
 *	ghost    192.0.2.3, 2001:db8::3   an address that nobody has: the attacker, who answers for it
 *
 * Time is the program's too: the data path's clock stands still and is moved by hand, so that timers
 * run out at the same frame in every run of a seed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rte_mbuf.h>

#include "datapath/dev.h"
#include "frame.h"
#include "rng.h"

enum host { HOST_TARGET, HOST_BESIDE, HOST_GHOST, HOST_NB };

#define TARGET_WORKERS 2

/** The QP numbers that the ghost is the peer of victim `idx` under. */
#define GHOST_QPN(idx) (0x600000u + (idx))

/** How a hostile frame reaches the target. */
enum feed {
	FEED_PORT,  /* received by the worker from its port */
	FEED_INPUT, /* handed to uroce_worker_input() */
};

struct fabric {
	struct ibv_device *device[2]; /* target, beside */
	struct ibv_context *context[2];
	struct uroce_dev *dev[2];
	uint64_t nb_sent;    /* frames given to the target, by anybody */
	uint64_t nb_rest;    /* of those fed as an embedder does: handed back */
	uint64_t nb_lost;    /* not taken by a full queue */
	uint64_t nb_answers; /* to READs and atomics among them, looked through for the secret */
	bool has_leaked;
	/* what each QP that the ghost is a peer of grants it: enum ibv_access_flags */
	int granted[UINT8_MAX + 1];
	bool has_overstepped; /* a READ or an atomic was answered by one that does not grant it */
	uint64_t nb_reply;    /* frames that the target sent to the ghost */
};

/** The address of a host, in the form of a GID. */
const uint8_t *fabric_ip(enum host host, bool is_ipv6);

/** The GID of a group that has members on the target. */
const uint8_t *fabric_group(bool is_ipv6);

/** EAL and both devices. @return false after one line on stderr */
bool fabric_open(struct fabric *fabric, uint64_t seed);
void fabric_close(struct fabric *fabric);

/** Make every draw of randomness in the library follow from this seed. */
void fabric_seed_random(uint64_t seed);

/** Let time pass. */
void fabric_wait_ns(uint64_t ns);

/** Whether the target knows the ghost's and the honest peer's MAC; it is told when it
 * does not. @return whether it knows now */
bool fabric_introduce(struct fabric *fabric);

/**
 * A frame on its way to a worker of the target: in a buffer that ends at the end of a mapping, so
 * that a read beyond it faults; or in an ordinary mbuf; or in a chain of them.
 */
void fabric_send(struct fabric *fabric, const struct frame *frame, unsigned worker,
		 struct rng *rng);

/** Everything sent is acted upon, but by the worker `asleep` (TARGET_WORKERS: none). */
void fabric_run(struct fabric *fabric, enum feed feed, unsigned asleep);

/** A frame that some real QP has sent; NULL: none yet. */
const struct frame *fabric_captured(struct rng *rng);

/** mbufs of ours that are not back. */
unsigned fabric_mbufs_missing(void);

/** Sum over the target's workers. */
struct uroce_worker_stats fabric_stats(const struct fabric *fabric);

#endif /* FUZZ_FRAMES_FABRIC_H */
