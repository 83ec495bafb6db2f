/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LOOPBACK_H
#define UROCE_DATAPATH_LOOPBACK_H

/**
 * @file
 * Loopback: frames from a device to its own addresses.
 *
 * A frame for a QP of the device never reaches the port. It waits in the loopback queue of the
 * worker that built it. This worker processes it in the next round, as if it had been received. A
 * frame to a QPN that the device does not have is transmitted: another host or process behind the
 * port may own this QPN.
 *
 * The queue is bounded. While it has no room for a burst, the worker polls no QP for frames. Each
 * round receives before it transmits, so this lasts for one round.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_mbuf.h>

#include "datapath/device/dev.h"
#include "datapath/port/port.h"

/** Capacity of the loopback queue of a worker, in frames. */
#define UROCE_LOOPBACK_MAX (2 * UROCE_BURST)

struct uroce_loopback {
	unsigned nb;
	/* The frames of the loopback queue, oldest first; each frame has one segment. */
	struct rte_mbuf *frame[UROCE_LOOPBACK_MAX];
};

/** Whether the loopback queue has room for a burst. */
static inline bool
uroce_loopback_has_room(const struct uroce_loopback *loop)
{
	return loop->nb <= UROCE_LOOPBACK_MAX - UROCE_BURST;
}

/** Whether any path of the device has ever led to the device itself. */
static inline bool
uroce_loopback_is_open(const struct uroce_dev *dev)
{
	return atomic_load_explicit(&dev->has_loopback, memory_order_relaxed);
}

/**
 * Hint: whether the frame with these headers may be for the device, because its destination MAC is
 * the device's.
 */
static inline bool
uroce_loopback_is_likely(const struct uroce_dev *dev, const uint8_t *hdr)
{
	return uroce_loopback_is_open(dev) && memcmp(hdr, dev->mac, sizeof(dev->mac)) == 0;
}

/**
 * Record whether a new path, whose next hop has this MAC, may lead to the device itself. The
 * function must be called before any frame uses the path.
 */
void uroce_loopback_note(struct uroce_dev *dev, const uint8_t mac[6]);

/**
 * Move the pending frames from index `first` on that are for QPs of the device into the loopback
 * queue. The frames from index `first` on are at most a burst. The caller has checked that the
 * queue has room for a burst (uroce_loopback_has_room).
 */
void uroce_loopback_divert(struct uroce_worker *worker, unsigned first);

/** Free all frames in the loopback queue. */
void uroce_loopback_drop(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_LOOPBACK_H */
