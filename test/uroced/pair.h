/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_PAIR_H
#define TEST_UROCED_PAIR_H

/**
 * @file
 * Two honest clients, one of which sends numbered frames to the other. The receiver expects all
 * frames, in order, whatever other clients do. There are never more frames in flight than a ring
 * has room for.
 */

#include <stdint.h>

#include "daemon.h"
#include "peer.h"

#define PAIR_SLOTS 256u
#define PAIR_LEN   600u

struct pair {
	struct peer from, to;
	uint32_t nb_sent, nb_got;
	uint8_t frame[PAIR_LEN];
};

void pair_open(struct pair *pair, const struct daemon *daemon);
void pair_close(struct pair *pair);

/** Send and receive as many frames as possible without waiting. */
void pair_step(struct pair *pair);

/** Send `nb` frames, and wait until all are received. */
void pair_run(struct pair *pair, uint32_t nb);

/** The resources of a daemon, to be compared before and after a test. */
struct footprint {
	unsigned nb_fds, nb_watched, nb_clients;
	unsigned kib; /* memory of the daemon that no other process shares, in KiB */
};

/**
 * Wait until the daemon has this number of clients, and its numbers of descriptors do not change
 * any more.
 * @return the resources of the daemon
 */
struct footprint pair_footprint(const struct daemon *daemon, unsigned nb_clients);

/** Expect that the daemon has no more resources than before. */
void pair_expect_footprint(const struct daemon *daemon, const struct footprint *before);

#endif /* TEST_UROCED_PAIR_H */
