/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Generation of the random numbers from which memory keys (lkeys and rkeys) are made. The secret of
 * a key table has 128 bits. One half of the secret is the start of a counter, the other half is a
 * secret word. Each random number is the counter, mixed, combined with the secret word, and mixed
 * again. Thus two random numbers do not reveal the next.
 */

#include <string.h>

#include "mem/key.h"

/* Mix `x` by a bijection in which each bit of the result depends on all bits of `x`. */
static uint64_t
mix_bits(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0x243f6a8885a308d3u;
	return x ^ x >> 32;
}

void
uroce_key_rand_init(struct uroce_key_rand *rand, const uint8_t secret[16])
{
	memcpy(&rand->counter, secret, sizeof(rand->counter));
	memcpy(&rand->secret, secret + 8, sizeof(rand->secret));
}

uint64_t
uroce_key_rand_next(struct uroce_key_rand *rand)
{
	rand->counter += 0x9e3779b97f4a7c15u;
	return mix_bits(mix_bits(rand->counter) ^ rand->secret);
}

void
uroce_key_perm_init(struct uroce_key_perm *perm, struct uroce_key_rand *rand)
{
	for (unsigned i = 0; i < UROCE_KEY_NB_ROUNDS; i++) {
		const uint64_t random = uroce_key_rand_next(rand);

		perm->round[i].flip = (uint32_t)random;
		perm->round[i].mul = (uint32_t)(random >> 32) | 0x80000001u;
	}
}
