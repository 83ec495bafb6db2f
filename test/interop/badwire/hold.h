/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_HOLD_H
#define BADWIRE_HOLD_H

/**
 * @file
 * A list of frames of one direction that wait for a time, or for a number of later frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* due time of a frame that waits only for later frames */
#define HOLD_NEVER UINT64_MAX

struct held {
	TAILQ_ENTRY(held) entry;
	uint64_t due_ns;
	/* the frame is sent when the direction has received this number of frames */
	uint64_t after;
	uint32_t len;
	uint8_t frame[];
};

/**
 * Waiting frames, sorted by the time at which they are due. Frames that are due at the same time
 * are in the order of arrival.
 */
TAILQ_HEAD(hold, held);

/**
 * Add a copy of a frame to the list.
 * @return false: there is no memory, and the frame was not added
 */
bool hold_put(struct hold *hold, const uint8_t *frame, uint32_t len, uint64_t due_ns,
	      uint64_t after);

/**
 * Remove a frame whose `after` is at most `nb_come`. The caller frees the frame.
 * @return the frame; NULL: there is no such frame
 */
struct held *hold_take_overtaken(struct hold *hold, uint64_t nb_come);

/**
 * Remove a frame that is due. The caller frees the frame.
 * @return the frame; NULL: no frame is due
 */
struct held *hold_take_due(struct hold *hold, uint64_t now_ns);

/** The time at which the first frame of the list is due; HOLD_NEVER: the list is empty. */
uint64_t hold_due(const struct hold *hold);

#endif /* BADWIRE_HOLD_H */
