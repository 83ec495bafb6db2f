/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DRAW_H
#define TEST_DRAW_H

/**
 * @file
 * Pseudo-random numbers that are the same in each run. The generator is linear congruential, with
 * the constants of MMIX [Knuth, The Art of Computer Programming, volume 2, 3.3.4].
 */

#include <stdint.h>

/**
 * The state of draw(). Each source file that includes this header has its own state. A test sets it
 * to begin a sequence.
 */
static uint64_t draw_seed = 1;

/** Draw a pseudo-random number from 0 to `below` - 1. */
static inline uint32_t
draw(uint32_t below)
{
	draw_seed = draw_seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(draw_seed >> 33) % below;
}

#endif /* TEST_DRAW_H */
