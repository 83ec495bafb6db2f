/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_RNG_H
#define FUZZ_FRAMES_RNG_H

/**
 * @file
 * The random generator of the program. The generator is SplitMix64, which mixes the bits of a
 * counter. A seed determines all numbers, so runs with the same seed are the same.
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

/** Draw a number from 0 to `n` - 1. `n` is at least 1. */
static inline uint32_t
rng_below(struct rng *rng, uint32_t n)
{
	return (uint32_t)((rng_next(rng) >> 32) * n >> 32);
}

/** Return true with a probability of 1 / `n`. */
static inline bool
rng_once_in(struct rng *rng, uint32_t n)
{
	return rng_below(rng, n) == 0;
}

/** Draw an index of `weight`. The probability of an index is in proportion to its weight. */
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
