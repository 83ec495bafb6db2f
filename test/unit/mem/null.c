/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Null regions: as an element of a scatter/gather list a null region is read as zeros, and data
 * written to it is discarded. Every other use of its key is refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mw.h"
#include "mem/sge.h"

#define NB_MR 4
#define PDN   7
#define QPN   3

static const uint8_t secret[16] = "fifteen letters";
static struct uroce_mr_table *table;
static uint8_t memory[256];
static uint32_t null_key, key;

static int
setup(void **state)
{
	const struct uroce_mr_conf null = {
		.len = UINT64_MAX, .pdn = PDN, .access = IBV_ACCESS_LOCAL_WRITE, .is_null = true
	};
	const struct uroce_mr_conf real = {
		.addr = memory, .len = sizeof(memory), .pdn = PDN, .access = IBV_ACCESS_LOCAL_WRITE
	};
	void *mem = NULL;

	(void)state;
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(NB_MR)), 0);
	table = uroce_mr_table_init(mem, NB_MR, secret);
	assert_int_equal(uroce_mr_add(table, &null, &null_key), 0);
	assert_int_equal(uroce_mr_add(table, &real, &key), 0);
	memset(memory, 0x11, sizeof(memory));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static bool
is_zero(const struct uroce_slice *slice)
{
	for (uint32_t i = 0; i < slice->len; i++)
		if (((const uint8_t *)slice->addr)[i] != 0)
			return false;
	return true;
}

static void
sge_gather__reads_zeros(void **state)
{
	static const uint64_t addrs[] = { 0, 1, 1u << 30, UINT64_MAX - 4096 };
	struct uroce_slice slice[UROCE_SGE_MAX];
	struct uroce_mr_view view = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		const struct ibv_sge sge = { .addr = addrs[i], .length = 4096, .lkey = null_key };

		assert_int_equal(uroce_sge_gather(table, PDN, &sge, 1, 0, 4096, NULL, slice), 1);
		assert_int_equal(slice[0].len, 4096);
		/* key 0 means that no TX reference can be taken */
		assert_int_equal(slice[0].key, 0);
		assert_true(is_zero(slice));
		assert_int_equal(uroce_sge_gather(table, PDN, &sge, 1, 4000, 96, NULL, slice), 1);
		assert_int_equal(uroce_sge_gather_all(table, PDN, &sge, 1, 4096, &view, slice), 1);
		assert_true(is_zero(slice));
	}
}

static void
sge_gather__among_others(void **state)
{
	const struct ibv_sge sge[] = { { 0, 10, key }, { 5, 20, null_key }, { 30, 10, key } };
	struct uroce_slice slice[UROCE_SGE_MAX];

	(void)state;
	assert_int_equal(uroce_sge_gather(table, PDN, sge, 3, 5, 30, NULL, slice), 3);
	assert_ptr_equal(slice[0].addr, memory + 5);
	assert_int_equal(slice[1].len, 20);
	assert_true(is_zero(&slice[1]));
	assert_ptr_equal(slice[2].addr, memory + 30);
	assert_int_equal(slice[2].len, 5);
}

static void
sge_scatter__forgets(void **state)
{
	const struct ibv_sge one = { 0, 100, null_key };
	const struct ibv_sge sge[] = { { 0, 10, key }, { 5, 20, null_key }, { 30, 10, key } };
	uint8_t src[100];

	(void)state;
	for (unsigned i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(100 + i);
	assert_int_equal(uroce_sge_scatter(table, PDN, &one, 1, 0, src, 100, NULL), 0);
	assert_int_equal(uroce_sge_scatter(table, PDN, &one, 1, 50, src, 51, NULL), -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(table, PDN, sge, 3, 0, src, 40, NULL), 0);
	assert_memory_equal(memory, src, 10);
	assert_int_equal(memory[10], 0x11);
	assert_int_equal(memory[29], 0x11);
	assert_memory_equal(memory + 30, src + 30, 10);
}

static void
null_key__is_of_its_domain_and_no_peers(void **state)
{
	const struct ibv_sge sge = { 0, 8, null_key };
	struct uroce_slice slice[UROCE_SGE_MAX];
	struct uroce_mr_view view;
	uint64_t len;
	uint8_t src[8] = { 0 };

	(void)state;
	assert_true(uroce_mr_is_null(table, null_key, PDN));
	assert_false(uroce_mr_is_null(table, null_key, PDN + 1));
	assert_false(uroce_mr_is_null(table, null_key ^ 1, PDN));
	assert_false(uroce_mr_is_null(table, key, PDN));
	assert_int_equal(uroce_sge_gather(table, PDN + 1, &sge, 1, 0, 8, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_scatter(table, PDN + 1, &sge, 1, 0, src, 8, NULL), -EFAULT);
	assert_null(uroce_mr_resolve(table, null_key, PDN, 0, 8, 0));
	assert_null(uroce_rkey_resolve(table, null_key, PDN, QPN, 0, 8, 0));
	assert_null(uroce_rkey_region(table, null_key, PDN, 0, &len));
	assert_false(uroce_mr_get_view(table, null_key, PDN, 0, &view));
	assert_null(uroce_mr_get_tx_ref(table, null_key));
	assert_int_equal(uroce_mr_invalidate(table, null_key), 0);
	assert_int_equal(uroce_sge_gather(table, PDN, &sge, 1, 0, 8, NULL, slice), -EFAULT);
}

static void
mw_bind__not_to_a_null_region(void **state)
{
	uint32_t rkey;

	(void)state;
	assert_int_equal(uroce_mw_add(table, UROCE_MW_1, PDN, &rkey), 0);
	const struct uroce_mw_bind bind = {
		.rkey = rkey, .mr_key = null_key, .len = 8, .pdn = PDN, .qpn = QPN
	};

	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sge_gather__reads_zeros),       TEST(sge_gather__among_others),
		TEST(sge_scatter__forgets),          TEST(null_key__is_of_its_domain_and_no_peers),
		TEST(mw_bind__not_to_a_null_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
