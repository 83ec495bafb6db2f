/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control calls on the table of regions: querying a region, and replacing a region under its key.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mw.h"

#define NB_MR 2
#define PDN   7

static const uint8_t secret[16] = "fifteen letters";
static struct uroce_mr_table *table;
static uint8_t memory[64];

static int
setup(void **state)
{
	void *mem = NULL;

	(void)state;
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(NB_MR)), 0);
	table = uroce_mr_table_init(mem, NB_MR, secret);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static const struct uroce_mr_conf conf = {
	.addr = memory, .iova = 0x5000, .len = 32, .pdn = PDN, .access = IBV_ACCESS_LOCAL_WRITE
};

static void
mr_query__tells_what_was_added(void **state)
{
	const struct uroce_mr_conf null = { .len = UINT64_MAX, .pdn = PDN, .is_null = true };
	struct uroce_mr_conf out;
	uint32_t key;

	(void)state;
	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	assert_int_equal(uroce_mr_query(table, key, &out), 0);
	assert_ptr_equal(out.addr, conf.addr);
	assert_int_equal(out.iova, conf.iova);
	assert_int_equal(out.len, conf.len);
	assert_int_equal(out.pdn, conf.pdn);
	assert_int_equal(out.access, conf.access);
	assert_false(out.is_null);
	assert_int_equal(uroce_mr_add(table, &null, &key), 0);
	assert_int_equal(uroce_mr_query(table, key, &out), 0);
	assert_true(out.is_null);
}

static void
mr_query__tells_why_not(void **state)
{
	struct uroce_mr_conf out;
	uint32_t key, rkey;

	(void)state;
	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	assert_int_equal(uroce_mw_add(table, UROCE_MW_1, PDN, &rkey), 0);
	assert_int_equal(uroce_mr_query(table, key ^ 0x5a, &out), -ENOENT);
	assert_int_equal(uroce_mr_query(table, rkey, &out), -EINVAL);
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_int_equal(uroce_mr_query(table, key, &out), -EFAULT);
	uroce_mr_free(table, key);
	assert_int_equal(uroce_mr_query(table, key, &out), -EFAULT);
	/* indexes 0..15, of which most are outside of this table with two entries */
	for (uint32_t i = 0; i < 16; i++) {
		const uint32_t any = i << 28 | 0x00abcd00;

		if (any >> 8 != rkey >> 8)
			assert_int_equal(uroce_mr_query(table, any, &out), -EFAULT);
	}
}

static void
mr_replace__another_region_under_the_same_key(void **state)
{
	const struct uroce_mr_conf other = { .addr = memory + 32,
					     .iova = 0x9000,
					     .len = 16,
					     .pdn = PDN + 1,
					     .access = IBV_ACCESS_REMOTE_READ };
	uint32_t key;

	(void)state;
	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_int_equal(uroce_mr_table_count(table), 0);
	assert_null(uroce_mr_resolve(table, key, PDN, 0x5000, 1, 0));
	uroce_mr_replace(table, key, &other);
	assert_int_equal(uroce_mr_table_count(table), 1);
	assert_null(uroce_mr_resolve(table, key, PDN, 0x5000, 1, 0));
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN + 1, 0x9000, 16, IBV_ACCESS_REMOTE_READ),
			 memory + 32);
	assert_null(uroce_mr_resolve(table, key, PDN + 1, 0x9000, 16, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	uroce_mr_free(table, key);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mr_query__tells_what_was_added),
		TEST(mr_query__tells_why_not),
		TEST(mr_replace__another_region_under_the_same_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
