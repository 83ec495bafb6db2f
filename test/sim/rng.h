/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_RNG_H
#define TEST_SIM_RNG_H

/**
 * @file
 * Pseudo-random numbers that are the same on every machine. All random decisions of the simulator
 * use such a generator, so that a seed determines a run.
 */

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t
rng_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t
rng_next(struct rng *rng)
{
	rng->state += UINT64_C(0x9e3779b97f4a7c15);
	return rng_mix(rng->state);
}

/** A number of 0 .. limit - 1. */
static inline uint32_t
rng_below(struct rng *rng, uint32_t limit)
{
	return (uint32_t)((rng_next(rng) >> 32) * limit >> 32);
}

/** A number of from .. to, both included. */
static inline uint32_t
rng_between(struct rng *rng, uint32_t from, uint32_t to)
{
	return from + rng_below(rng, to - from + 1);
}

/** True in `ppm` of a million cases. */
static inline bool
rng_chance(struct rng *rng, uint32_t ppm)
{
	return ppm && rng_below(rng, 1000000) < ppm;
}

/** True in one of `n` cases. */
static inline bool
rng_one_in(struct rng *rng, uint32_t n)
{
	return rng_below(rng, n) == 0;
}

#endif /* TEST_SIM_RNG_H */
