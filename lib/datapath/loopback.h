/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LOOPBACK_H
#define UROCE_DATAPATH_LOOPBACK_H

/**
 * @file
 * Frames to the device's own addresses. One for a QP that the device has never leaves: instead of waiting
 * for the port it waits here, and the worker that built it takes it in its next round, as if it had been
 * received. A frame for a number that is not ours goes to the port, beyond which somebody may know it.
 *
 * Bounded: while there is no room for a burst, no QP of the worker is asked for frames. Each round receives
 * before it sends, so that the wait is for one round.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_mbuf.h>

#include "datapath/dev.h"
#include "datapath/port.h"

/** Frames on their way from a worker to itself. */
#define UROCE_LOOPBACK_MAX (2 * UROCE_BURST)

struct uroce_loopback {
	unsigned nb;
	struct rte_mbuf *frame[UROCE_LOOPBACK_MAX]; /* oldest first; of one segment */
};

/** Whether there is room for a burst. */
static inline bool
uroce_loopback_has_room(const struct uroce_loopback *loop)
{
	return loop->nb <= UROCE_LOOPBACK_MAX - UROCE_BURST;
}

/** Whether any path of the device ever led to itself. */
static inline bool
uroce_loopback_is_open(const struct uroce_dev *dev)
{
	return atomic_load_explicit(&dev->has_loopback, memory_order_relaxed);
}

/** Whether a frame that begins so may be for the device: its MAC is ours. For a hint. */
static inline bool
uroce_loopback_is_likely(const struct uroce_dev *dev, const uint8_t *hdr)
{
	return uroce_loopback_is_open(dev) && memcmp(hdr, dev->mac, sizeof(dev->mac)) == 0;
}

/** A path with this next hop is made: it may be one to ourselves. Before any frame has it. */
void uroce_loopback_note(struct uroce_dev *dev, const uint8_t mac[6]);

/**
 * Of the frames that wait for the port, take those from `first` on that are for QPs of the device: a burst
 * at most, for which there was room before they were built.
 */
void uroce_loopback_divert(struct uroce_worker *worker, unsigned first);

/** Free what waits. */
void uroce_loopback_drop(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_LOOPBACK_H */
