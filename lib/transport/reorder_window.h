/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REORDER_WINDOW_H
#define UROCE_TRANSPORT_REORDER_WINDOW_H

/**
 * @file
 * How long a hole may be mere reordering: learnt from packets that came late.
 *
 * Until one has come late there is no delay: a hole is a loss, and reported at once. From the first
 * on, a hole is given time: eight times the longest lateness while few were seen, because the next
 * one may be much later; twice the longest after that. Losses that turn out to be real let it sink.
 */

#include <stdbool.h>
#include <stdint.h>

/** So many packets have to be late before the longest lateness is believed. */
#define UROCE_REORDER_SAMPLES_MIN 16

/** The longest time that a hole is given. */
#define UROCE_LATE_MAX_NS UINT64_C(10000000)

struct uroce_reorder_window {
	uint64_t since_ns; /* when the present hole was seen first; 0: there is none */
	uint32_t max_ns;   /* longest lateness, sinking; 0: nothing was late yet */
	uint16_t nb;       /* packets that were late, up to UROCE_REORDER_SAMPLES_MIN */
};

/** How long to wait before a hole is taken for a loss, from the moment it was seen. */
static inline uint64_t
uroce_reorder_window_delay_ns(const struct uroce_reorder_window *late)
{
	const uint64_t delay_ns =
		(uint64_t)late->max_ns * (late->nb < UROCE_REORDER_SAMPLES_MIN ? 8 : 2);

	return delay_ns < UROCE_LATE_MAX_NS ? delay_ns : UROCE_LATE_MAX_NS;
}

/** A packet filled its hole by being late by `ns`. */
static inline void
uroce_reorder_window_grow(struct uroce_reorder_window *late, uint64_t ns)
{
	const uint32_t capped_ns = (uint32_t)(ns < UROCE_LATE_MAX_NS ? ns : UROCE_LATE_MAX_NS);

	if (late->max_ns < capped_ns)
		late->max_ns = capped_ns;
	if (late->nb < UROCE_REORDER_SAMPLES_MIN)
		late->nb++;
}

/** A hole was filled by a repetition: it was a loss. */
static inline void
uroce_reorder_window_shrink(struct uroce_reorder_window *late)
{
	late->max_ns -= late->max_ns / 16;
}

#endif /* UROCE_TRANSPORT_REORDER_WINDOW_H */
