/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Blocks: whose they are, for how long nobody's, and to whom they come back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "uroced/lease.h"

#define NOW UINT64_C(1000000000000)
#define MAX UROCE_MUX_LEASES_MAX

static struct lease_table *table;
static const struct lessee ann = { 0, 1000, 11 }, bob = { 1023, 1000, 22 }, eve = { 5, 2000, 33 };

static int
make(void **state)
{
	(void)state;
	table = lease_table_create();
	return table ? 0 : -1;
}

static int
drop(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static void
block__is_one_clients(void **state)
{
	uint32_t a[MAX], b[MAX], nb_low = 0;

	(void)state;
	assert_int_equal(lease_take(table, &ann, MAX, NOW, a), MAX);
	assert_int_equal(lease_take(table, &bob, MAX, NOW, b), MAX);
	for (uint32_t i = 0; i < MAX; i++) {
		assert_true(a[i] > 0 && a[i] < UROCE_MUX_BLOCKS - 1);
		assert_int_equal(lease_owner(table, a[i] * UROCE_MUX_BLOCK), ann.slot + 1);
		assert_int_equal(lease_owner(table, a[i] * UROCE_MUX_BLOCK + 255), ann.slot + 1);
		assert_int_equal(lease_owner(table, b[i] * UROCE_MUX_BLOCK), bob.slot + 1);
		nb_low += a[i] < UROCE_MUX_BLOCKS / 2;
	}
	/* drawn at random: 512 are expected in the lower half, and 16 is a standard deviation */
	assert_true(nb_low > 512 - 8 * 16 && nb_low < 512 + 8 * 16);
	assert_int_equal(lease_owner(table, 0), 0);
	assert_int_equal(lease_owner(table, 0xffffff), 0);
	assert_int_equal(lease_owner(table, UINT32_MAX), 0);
}

static void
block__rests_before_it_is_anothers(void **state)
{
	const uint64_t free_ns = NOW + LEASE_QUARANTINE_NS;
	uint32_t block;

	(void)state;
	assert_int_equal(lease_take(table, &ann, 1, NOW, &block), 1);
	assert_int_equal(lease_end(table, &ann, NOW), 1);
	assert_int_equal(lease_owner(table, block * UROCE_MUX_BLOCK), 0);
	assert_false(lease_take_back(table, &eve, block, free_ns - 1));
	assert_true(lease_take_back(table, &ann, block, free_ns - 1));
	assert_false(lease_take_back(table, &ann, block, free_ns - 1)); /* it has it */
	assert_false(lease_take_back(table, &eve, block, free_ns + 1));
	assert_int_equal(lease_end(table, &ann, NOW), 1);
	assert_true(lease_take_back(table, &eve, block, free_ns));
	assert_int_equal(lease_end(table, &ann, NOW), 0);
}

static void
block__that_was_released_does_not_return(void **state)
{
	uint32_t block;

	(void)state;
	assert_int_equal(lease_take(table, &ann, 1, NOW, &block), 1);
	assert_false(lease_release(table, &eve, block, NOW));
	assert_false(lease_release(table, &ann, block ^ 1, NOW));
	assert_false(lease_release(table, &ann, UROCE_MUX_BLOCKS, NOW));
	assert_true(lease_release(table, &ann, block, NOW));
	assert_false(lease_release(table, &ann, block, NOW));
	assert_false(lease_take_back(table, &ann, block, NOW + 1));
}

static void
block__of_nobody_cannot_be_had(void **state)
{
	static const uint32_t nobodys[] = { 0, UROCE_MUX_BLOCKS - 1, UROCE_MUX_BLOCKS, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(nobodys) / sizeof(nobodys[0]); i++)
		assert_false(lease_take_back(table, &ann, nobodys[i], NOW));
	assert_true(lease_take_back(table, &ann, 1, NOW));
	assert_true(lease_take_back(table, &ann, UROCE_MUX_BLOCKS - 2, NOW));
}

/* Also by taking and giving back, and by coming and going, which fills the quarantine. */
static void
user__has_half_of_all_at_most(void **state)
{
	uint32_t blocks[MAX], nb, sum = 0;

	(void)state;
	for (uint16_t slot = 0; slot < 64; slot++) {
		const struct lessee lessee = { slot, 1000, slot };

		nb = lease_take(table, &lessee, MAX, NOW, blocks);
		sum += nb;
		for (uint32_t i = 0; i < nb / 2; i++)
			assert_true(lease_release(table, &lessee, blocks[i], NOW));
		assert_int_equal(lease_end(table, &lessee, NOW), nb - nb / 2);
	}
	assert_int_equal(sum, LEASE_USER_MAX);
	assert_int_equal(lease_take(table, &eve, MAX, NOW, blocks), MAX);
	assert_int_equal(lease_take(table, &ann, MAX, NOW, blocks), 0);
	assert_int_equal(lease_take(table, &ann, MAX, NOW + LEASE_QUARANTINE_NS, blocks), MAX);
}

static void
blocks__can_all_be_leased(void **state)
{
	uint32_t blocks[MAX], nb, sum = 0;

	(void)state;
	for (uint16_t slot = 0; slot < 80; slot++) {
		const struct lessee lessee = { slot, slot, slot };

		nb = lease_take(table, &lessee, MAX, NOW, blocks);
		sum += nb;
	}
	assert_int_equal(sum, UROCE_MUX_BLOCKS - 2);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		TEST(block__is_one_clients),
		TEST(block__rests_before_it_is_anothers),
		TEST(block__that_was_released_does_not_return),
		TEST(block__of_nobody_cannot_be_had),
		TEST(user__has_half_of_all_at_most),
		TEST(blocks__can_all_be_leased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
