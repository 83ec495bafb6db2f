/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_HOLD_H
#define BADWIRE_HOLD_H

/**
 * @file
 * Frames of one direction that wait: until a time, or until so many others have come.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define HOLD_NEVER UINT64_MAX /* a time that does not come */

struct held {
	TAILQ_ENTRY(held) entry;
	uint64_t due_ns;
	uint64_t after; /* how many frames will have come when it has waited long enough */
	uint32_t len;
	uint8_t frame[];
};

/** Held frames by the time at which they are due; of those with the same, the first is in front. */
TAILQ_HEAD(hold, held);

/** Keep a copy. @return false: no memory, and it is not kept */
bool hold_put(struct hold *hold, const uint8_t *frame, uint32_t len, uint64_t due_ns,
	      uint64_t after);

/** Take out a frame for which `nb_come` frames are enough; it is the caller's to free. NULL: none */
struct held *hold_take_overtaken(struct hold *hold, uint64_t nb_come);

/** Take out a frame that is due; it is the caller's to free. NULL: none */
struct held *hold_take_due(struct hold *hold, uint64_t now_ns);

/** When the next one is due, or HOLD_NEVER. */
uint64_t hold_due(const struct hold *hold);

#endif /* BADWIRE_HOLD_H */
