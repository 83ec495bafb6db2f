/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_KEY_H
#define UROCE_MEM_KEY_H

/**
 * @file
 * Keys of memory (lkeys and rkeys): | permuted index:24 | tag:8 |
 *
 * The upper 24 bits of a key are the index of the key's entry in the key table (table.h), after a
 * keyed permutation. The permutation keeps a key from revealing the keys of neighbouring entries.
 * The inverse permutation makes look-up O(1).
 *
 * The permutation is a Feistel network of four rounds on two halves of 12 bits. A Feistel network
 * can be inverted whatever its round function is. The round function here is cheap and is no
 * cipher. A peer that guesses a key gains little: protection domain, range and access rights are
 * checked in any case, and a refused request puts the QP into the error state.
 */

#include <stdint.h>

/**
 * Number of possible indices of entries of a key table. An index, and the upper 24 bits of a key,
 * are less than this number.
 */
#define UROCE_KEY_NB_INDEX  (1u << 24)

#define UROCE_KEY_NB_ROUNDS 4

/** A keyed permutation of the numbers [0, 2^24). It is read-only after uroce_key_perm_init(). */
struct uroce_key_perm {
	struct {
		/*
		 * number that a round of the Feistel network combines by exclusive-or with one half
		 * of the 24 bits; any value is allowed
		 */
		uint32_t flip;
		/*
		 * number by which a round of the Feistel network multiplies one half of the 24
		 * bits; it is odd and large, so that bits 20 to 43 of the product depend on all
		 * bits of the half
		 */
		uint32_t mul;
	} round[UROCE_KEY_NB_ROUNDS];
};

/**
 * A small generator of unpredictable numbers. It is good enough for the tags of keys and for the
 * round keys of the permutation, but not for cryptography.
 */
struct uroce_key_rand {
	uint64_t counter;
	uint64_t secret;
};

void uroce_key_rand_init(struct uroce_key_rand *rand, const uint8_t secret[16]);

uint64_t uroce_key_rand_next(struct uroce_key_rand *rand);

/** Fill `perm` with a random permutation of 24-bit numbers. */
void uroce_key_perm_init(struct uroce_key_perm *perm, struct uroce_key_rand *rand);

static inline uint32_t
uroce_key_round(const struct uroce_key_perm *perm, unsigned round, uint32_t half)
{
	const uint64_t x = (uint64_t)(half ^ perm->round[round].flip) * perm->round[round].mul;

	/*
	 * Both shifts select bits of the product that depend on all bits of `half`. The
	 * exclusive-or of the two results makes the round function of the Feistel network
	 * non-linear.
	 */
	return (uint32_t)(x >> 32 ^ x >> 20) & 0xfff;
}

/** Compute the key (lkey or rkey) of the table entry with the index `idx`. */
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

/**
 * Compute the index of the table entry that belongs to a key. The table may have no entry with this
 * index.
 */
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
