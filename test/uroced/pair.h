/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_PAIR_H
#define TEST_UROCED_PAIR_H

/**
 * @file
 * Two honest clients, who lose nothing whatever others do: each frame that one sends has a number, and the other one
 * gets all of them in order. They never have more under way than a lane has room for.
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

/** Send and receive what can be at once. */
void pair_step(struct pair *pair);

/** So many frames more, and none under way afterwards. */
void pair_run(struct pair *pair, uint32_t nb);

/** What a daemon has in its hands, to compare. */
struct footprint {
	unsigned nb_fds, nb_watched, nb_clients;
	unsigned kib; /* of its own memory */
};

/** Once its clients are so many. */
struct footprint pair_footprint(const struct daemon *daemon, unsigned nb_clients);

/** It has no more than before. */
void pair_expect_footprint(const struct daemon *daemon, const struct footprint *before);

#endif /* TEST_UROCED_PAIR_H */
