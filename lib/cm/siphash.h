/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_SIPHASH_H
#define UROCE_CM_SIPHASH_H

/**
 * @file
 * SipHash-2-4 (Aumasson and Bernstein, 2012) of 64-bit words: a hash that cannot be predicted
 * without the key.
 *
 * Peers choose the contents of the keys of look-up tables. With this hash, peers cannot choose keys
 * that all belong to one bucket. The hash of a counter is a random number for comm ids and PSNs.
 */

#include <stdint.h>

struct uroce_siphash_key {
	uint64_t half[2];
};

static inline uint64_t
uroce_siphash_rotate(uint64_t x, unsigned nb_bits)
{
	return x << nb_bits | x >> (64 - nb_bits);
}

static inline void
uroce_siphash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = uroce_siphash_rotate(v[1], 13) ^ v[0];
	v[3] = uroce_siphash_rotate(v[3], 16) ^ v[2];
	v[0] = uroce_siphash_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = uroce_siphash_rotate(v[1], 17) ^ v[2];
	v[3] = uroce_siphash_rotate(v[3], 21) ^ v[0];
	v[2] = uroce_siphash_rotate(v[2], 32);
}

static inline void
uroce_siphash_absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	uroce_siphash_round(v);
	uroce_siphash_round(v);
	v[0] ^= word;
}

/** Hash `nb` words of 64 bits, at most 31 words, with the secret key `key`. */
static inline uint64_t
uroce_siphash(const struct uroce_siphash_key *key, const uint64_t *words, unsigned nb)
{
	uint64_t v[4] = {
		key->half[0] ^ UINT64_C(0x736f6d6570736575),
		key->half[1] ^ UINT64_C(0x646f72616e646f6d),
		key->half[0] ^ UINT64_C(0x6c7967656e657261),
		key->half[1] ^ UINT64_C(0x7465646279746573),
	};

	for (unsigned i = 0; i < nb; i++)
		uroce_siphash_absorb(v, words[i]);
	uroce_siphash_absorb(v, (uint64_t)nb * 8 << 56);
	v[2] ^= 0xff;
	for (unsigned i = 0; i < 4; i++)
		uroce_siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif /* UROCE_CM_SIPHASH_H */
