/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_RNG_H
#define FUZZ_FRAMES_RNG_H

/**
 * @file
 * The random generator of the program (SplitMix64: a counter that is mixed), so that a seed repeats
 * a run exactly.
 */

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t counter;
};

static inline uint64_t
rng_next(struct rng *rng)
{
	uint64_t x = rng->counter += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/** A number of 0 .. n - 1; n is at least 1. */
static inline uint32_t
rng_below(struct rng *rng, uint32_t n)
{
	return (uint32_t)((rng_next(rng) >> 32) * n >> 32);
}

/** True once in n times. */
static inline bool
rng_once_in(struct rng *rng, uint32_t n)
{
	return rng_below(rng, n) == 0;
}

/** An index, drawn in proportion to the weights. */
static inline unsigned
rng_weighted(struct rng *rng, const uint8_t *weight, unsigned nb)
{
	uint32_t sum = 0, at;
	unsigned i = 0;

	for (unsigned k = 0; k < nb; k++)
		sum += weight[k];
	at = rng_below(rng, sum);
	while (at >= weight[i])
		at -= weight[i++];
	return i;
}

#endif /* FUZZ_FRAMES_RNG_H */
