/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_PACE_H
#define PERF_PACE_H

/**
 * @file
 * Limits the rate of messages for the option --rate_limit, as the software limit of perftest does:
 * bursts of messages are posted at equal distances in time. The limit applies to all QPs of a side
 * together.
 */

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct pace {
	uint64_t burst; /* number of messages in a burst; 0 if the rate is not limited */
	uint64_t gap;   /* time between the starts of two bursts in ticks of the clock */
	uint64_t next;  /* time at which the next burst may begin */
	uint64_t left;  /* number of messages that may still be posted in this burst */
};

/**
 * Compute the size and the distance of the bursts for a message size.
 * @param hz  ticks of the clock in a second
 */
void pace_init(struct pace *pace, const struct options *opt, uint64_t size, uint64_t hz);

/**
 * Get the number of messages that may be posted now. If the time of the next burst has come, the
 * burst begins.
 * @return UINT64_MAX if the rate is not limited
 */
uint64_t pace_room(struct pace *pace, uint64_t now);

/** Subtract posted messages from those that the current burst may still have. */
void pace_take(struct pace *pace, uint64_t nb);

#endif /* PERF_PACE_H */
