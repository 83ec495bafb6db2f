/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_PSN_H
#define UROCE_WIRE_PSN_H

/**
 * @file
 * Packet sequence numbers: 24-bit serial arithmetic [IBA 9.7.2].
 *
 * PSNs wrap around at 2^24, as on a circle. Windows are half-open: `[first, end)` contains `first`,
 * but not `end`. Whether a PSN is in a window is decided by a distance on the circle, never by a
 * comparison of numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#define UROCE_PSN_MASK 0xffffffu

static inline uint32_t
uroce_psn_add(uint32_t psn, uint32_t nb)
{
	return (psn + nb) & UROCE_PSN_MASK;
}

/** Count the PSNs from `from` forward to `to`: 0 .. 2^24 - 1. */
static inline uint32_t
uroce_psn_dist(uint32_t from, uint32_t to)
{
	return (to - from) & UROCE_PSN_MASK;
}

/**
 * Compute the signed distance `a - b` in the shorter direction on the circle: -2^23 .. 2^23 - 1.
 */
static inline int32_t
uroce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline bool
uroce_psn_before(uint32_t a, uint32_t b)
{
	return uroce_psn_diff(a, b) < 0;
}

/** Whether `psn` is in the half-open window of `nb` PSNs that begins at `first`. */
static inline bool
uroce_psn_in(uint32_t psn, uint32_t first, uint32_t nb)
{
	return uroce_psn_dist(first, psn) < nb;
}

/** The PSNs [begin, end). The range is empty if `begin` and `end` are equal. */
struct uroce_psn_range {
	uint32_t begin;
	uint32_t end;
};

#endif /* UROCE_WIRE_PSN_H */
