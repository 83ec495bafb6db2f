/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_HOLD_H
#define BADWIRE_HOLD_H

/**
 * @file
 * Frames of one direction that wait for a time, or for a number of later frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define HOLD_NEVER UINT64_MAX /* a time that is never reached */

struct held {
	TAILQ_ENTRY(held) entry;
	uint64_t due_ns;
	uint64_t after; /* number of frames at which it has waited long enough */
	uint32_t len;
	uint8_t frame[];
};

/** Waiting frames, sorted by time; frames with the same time are in the order of arrival. */
TAILQ_HEAD(hold, held);

/**
 * Add a copy of a frame.
 * @return false: no memory, and the frame was not added
 */
bool hold_put(struct hold *hold, const uint8_t *frame, uint32_t len, uint64_t due_ns,
	      uint64_t after);

/** Remove a frame that waits for at most `nb_come` frames; the caller frees it. NULL: none */
struct held *hold_take_overtaken(struct hold *hold, uint64_t nb_come);

/** Remove a frame that is due; the caller frees it. NULL: none */
struct held *hold_take_due(struct hold *hold, uint64_t now_ns);

/** The time at which the next frame is due, or HOLD_NEVER. */
uint64_t hold_due(const struct hold *hold);

#endif /* BADWIRE_HOLD_H */
