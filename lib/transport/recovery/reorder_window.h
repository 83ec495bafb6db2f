/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REORDER_WINDOW_H
#define UROCE_TRANSPORT_REORDER_WINDOW_H

/**
 * @file
 * The reordering window: how long a PSN gap may be reordering instead of loss. The window is learnt
 * from packets that arrived late. The lateness of a packet is the time from the detection of the
 * gap to the arrival of the packet.
 *
 * As long as no packet was ever late, a gap is a loss, and is reported at once. While few packets
 * were late, the window is eight times the longest lateness, because the next late packet may be
 * much later. After UROCE_REORDER_SAMPLES_MIN late packets the window is twice the longest
 * lateness. Each gap that was a loss makes the longest lateness a little shorter.
 */

#include <stdbool.h>
#include <stdint.h>

/** After this number of late packets the reordering window is twice the longest lateness. */
#define UROCE_REORDER_SAMPLES_MIN 16

/**
 * The longest reordering window, and the longest lateness of a packet that is remembered, in
 * nanoseconds.
 */
#define UROCE_LATE_MAX_NS UINT64_C(10000000)

struct uroce_reorder_window {
	uint64_t since_ns; /* time at which the present PSN gap was first seen; 0: no gap is open */
	/*
	 * longest lateness of a packet in nanoseconds, reduced a little by each loss; 0: no packet
	 * was late yet
	 */
	uint32_t max_ns;
	uint16_t nb; /* number of late packets so far, at most UROCE_REORDER_SAMPLES_MIN */
};

/**
 * Get the length of the reordering window. A PSN gap that is open for longer than this time counts
 * as a loss.
 */
static inline uint64_t
uroce_reorder_window_delay_ns(const struct uroce_reorder_window *window)
{
	const uint64_t delay_ns =
		(uint64_t)window->max_ns * (window->nb < UROCE_REORDER_SAMPLES_MIN ? 8 : 2);

	return delay_ns < UROCE_LATE_MAX_NS ? delay_ns : UROCE_LATE_MAX_NS;
}

/**
 * Adapt the reordering window to a late packet, which filled its PSN gap `ns` nanoseconds after the
 * gap was first seen.
 */
static inline void
uroce_reorder_window_grow(struct uroce_reorder_window *window, uint64_t ns)
{
	const uint32_t capped_ns = (uint32_t)(ns < UROCE_LATE_MAX_NS ? ns : UROCE_LATE_MAX_NS);

	if (window->max_ns < capped_ns)
		window->max_ns = capped_ns;
	if (window->nb < UROCE_REORDER_SAMPLES_MIN)
		window->nb++;
}

/** Adapt the reordering window to a loss: a retransmission filled the PSN gap. */
static inline void
uroce_reorder_window_shrink(struct uroce_reorder_window *window)
{
	window->max_ns -= window->max_ns / 16;
}

#endif /* UROCE_TRANSPORT_REORDER_WINDOW_H */
