/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Keys: the permutation maps each index to a different key, the inverse maps the key to the index,
 * and keys of neighbouring indexes look unrelated.
 */

#include "mem/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint8_t secret_a[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const uint8_t secret_zero[16];

static struct uroce_key_perm
draw(const uint8_t secret[16])
{
	struct uroce_key_rand rand;
	struct uroce_key_perm perm;

	uroce_key_rand_init(&rand, secret);
	uroce_key_perm_init(&perm, &rand);
	return perm;
}

static void
expect_round_trip(const struct uroce_key_perm *perm, uint32_t idx)
{
	const uint8_t tag = (uint8_t)(idx * 7);
	const uint32_t key = uroce_key_make(perm, idx, tag);

	assert_int_equal(key & 0xff, tag);
	assert_int_equal(uroce_key_index(perm, key), idx);
	assert_int_equal(uroce_key_index(perm, key ^ 0xff), idx);
}

static void
key_index__undoes_make(void **state)
{
	const struct uroce_key_perm perms[] = { draw(secret_a), draw(secret_zero) };

	(void)state;
	for (unsigned p = 0; p < 2; p++) {
		for (uint32_t idx = 0; idx < UROCE_KEY_NB_INDEX; idx += 61)
			expect_round_trip(&perms[p], idx);
		for (uint32_t idx = 0; idx < 5000; idx++) {
			expect_round_trip(&perms[p], idx);
			expect_round_trip(&perms[p], UROCE_KEY_NB_INDEX - 1 - idx);
		}
	}
}

static void
key_make__undoes_index(void **state)
{
	const struct uroce_key_perm perm = draw(secret_a);

	(void)state;
	for (uint64_t key = 0; key <= UINT32_MAX; key += 15485863) {
		const uint32_t idx = uroce_key_index(&perm, (uint32_t)key);

		assert_in_range(idx, 0, UROCE_KEY_NB_INDEX - 1);
		assert_int_equal(uroce_key_make(&perm, idx, (uint8_t)key), key);
	}
}

/*
 * From one index to the next, half of the 24 bits of the key change on average, and each bit
 * changes in some of the steps.
 */
static void
key_make__neighbours_look_unrelated(void **state)
{
	const struct uroce_key_perm perm = draw(secret_a);
	const unsigned nb = 4096;
	unsigned changed = 0;
	unsigned by_bit[24] = { 0 };

	(void)state;
	for (uint32_t idx = 0; idx < nb; idx++) {
		const uint32_t diff =
			(uroce_key_make(&perm, idx, 0) ^ uroce_key_make(&perm, idx + 1, 0)) >> 8;

		changed += (unsigned)__builtin_popcount(diff);
		for (unsigned bit = 0; bit < 24; bit++)
			by_bit[bit] += diff >> bit & 1;
	}
	assert_in_range(changed, nb * 11, nb * 13);
	for (unsigned bit = 0; bit < 24; bit++)
		assert_in_range(by_bit[bit], nb / 4, nb * 3 / 4);
}

/*
 * The distance between the keys of neighbouring indexes varies, so that an attacker cannot learn it
 * from one pair.
 */
static void
key_make__distances_do_not_repeat(void **state)
{
	const struct uroce_key_perm perm = draw(secret_a);
	const unsigned nb = 1000;
	unsigned nb_repeated = 0;
	uint32_t last = 0;

	(void)state;
	for (uint32_t idx = 0; idx < nb; idx++) {
		const uint32_t distance =
			(uroce_key_make(&perm, idx + 1, 0) - uroce_key_make(&perm, idx, 0)) >> 8;

		nb_repeated += distance == last;
		last = distance;
	}
	assert_in_range(nb_repeated, 0, nb / 50);
}

static void
key_perm_init__depends_on_every_byte_of_the_secret(void **state)
{
	const struct uroce_key_perm before = draw(secret_a);
	const struct uroce_key_perm again = draw(secret_a);

	(void)state;
	assert_memory_equal(&before, &again, sizeof(before));
	for (unsigned i = 0; i < 16; i++) {
		uint8_t secret[16];
		unsigned nb_same = 0;

		for (unsigned j = 0; j < 16; j++)
			secret[j] = (uint8_t)(secret_a[j] ^ (i == j ? 0x80 : 0));
		const struct uroce_key_perm after = draw(secret);

		for (uint32_t idx = 0; idx < 1000; idx++)
			nb_same +=
				uroce_key_make(&before, idx, 0) == uroce_key_make(&after, idx, 0);
		assert_in_range(nb_same, 0, 2);
	}
}

static void
key_rand_next__low_bytes_are_spread(void **state)
{
	struct uroce_key_rand rand;
	unsigned seen[256] = { 0 };

	(void)state;
	uroce_key_rand_init(&rand, secret_zero);
	for (unsigned i = 0; i < 256 * 100; i++)
		seen[uroce_key_rand_next(&rand) & 0xff]++;
	for (unsigned i = 0; i < 256; i++)
		assert_in_range(seen[i], 50, 150);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_index__undoes_make),
		cmocka_unit_test(key_make__undoes_index),
		cmocka_unit_test(key_make__neighbours_look_unrelated),
		cmocka_unit_test(key_make__distances_do_not_repeat),
		cmocka_unit_test(key_perm_init__depends_on_every_byte_of_the_secret),
		cmocka_unit_test(key_rand_next__low_bytes_are_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
