/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_KEY_H
#define UROCE_MEM_KEY_H

/**
 * @file
 * Keys of memory: | permuted index:24 | tag:8 |
 *
 * The index of a table entry goes through a keyed permutation of 24 bits, so that a key says nothing
 * about its neighbours, and back, so that look-up is O(1). The permutation is a Feistel network of
 * four rounds on two halves of 12 bits: whatever the round function, it can be undone. Ours is
 * made to be cheap rather than a cipher: what a peer gains by guessing is one refused request and a
 * QP in error, and protection domain, range and rights are checked in any case.
 */

#include <stdint.h>

/** Indices (and upper parts of keys) are below this. */
#define UROCE_KEY_NB_INDEX  (1u << 24)

#define UROCE_KEY_NB_ROUNDS 4

/** A keyed permutation of [0, 2^24). Read-only after uroce_key_perm_init(). */
struct uroce_key_perm {
	struct {
		uint32_t flip; /* any */
		uint32_t mul;  /* odd, and large: every bit of its product depends on the half */
	} round[UROCE_KEY_NB_ROUNDS];
};

/** A small generator of unpredictable numbers; not for more than tags and round keys. */
struct uroce_key_rand {
	uint64_t counter;
	uint64_t secret;
};

void uroce_key_rand_init(struct uroce_key_rand *rand, const uint8_t secret[16]);

uint64_t uroce_key_rand_next(struct uroce_key_rand *rand);

/** Draw a permutation. */
void uroce_key_perm_init(struct uroce_key_perm *perm, struct uroce_key_rand *rand);

static inline uint32_t
uroce_key_round(const struct uroce_key_perm *perm, unsigned round, uint32_t half)
{
	const uint64_t x = (uint64_t)(half ^ perm->round[round].flip) * perm->round[round].mul;

	/* Both shifts reach bits that carry the whole product; the xor hides that it is linear. */
	return (uint32_t)(x >> 32 ^ x >> 20) & 0xfff;
}

/** The key of an entry. */
static inline uint32_t
uroce_key_make(const struct uroce_key_perm *perm, uint32_t idx, uint8_t tag)
{
	uint32_t left = idx >> 12;
	uint32_t right = idx & 0xfff;

	for (unsigned i = 0; i < UROCE_KEY_NB_ROUNDS; i += 2) {
		left ^= uroce_key_round(perm, i, right);
		right ^= uroce_key_round(perm, i + 1, left);
	}
	return left << 20 | right << 8 | tag;
}

/** The entry that a key leads to, whether or not such an entry exists. */
static inline uint32_t
uroce_key_index(const struct uroce_key_perm *perm, uint32_t key)
{
	uint32_t left = key >> 20;
	uint32_t right = key >> 8 & 0xfff;

	for (unsigned i = UROCE_KEY_NB_ROUNDS; i > 0; i -= 2) {
		right ^= uroce_key_round(perm, i - 1, left);
		left ^= uroce_key_round(perm, i - 2, right);
	}
	return left << 12 | right;
}

#endif /* UROCE_MEM_KEY_H */
