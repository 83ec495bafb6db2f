/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The allocator of the library under --no-huge. It allocates from a heap of the library, which can
 * grow, and not from the memory of EAL.
 */

#include "rig.h"

#include <string.h>
#include <rte_malloc.h>

#include "datapath/device/hugemem.h"

#define MIB ((size_t)1 << 20)

/* The number of bytes in use in the heaps of EAL. */
static size_t
eal_len(void)
{
	struct rte_malloc_socket_stats stats;
	size_t len = 0;

	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++)
		if (rte_malloc_get_socket_stats(i, &stats) == 0)
			len += stats.heap_allocsz_bytes;
	return len;
}

static void
assert_zero(const uint8_t *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(mem[i], 0);
}

static void
hugemem_alloc__is_zeroed_and_aligned_also_when_used_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		uint8_t *mem = uroce_hugemem_alloc(100001, 0);

		assert_non_null(mem);
		assert_int_equal((uintptr_t)mem % 64, 0);
		assert_zero(mem, 100001);
		memset(mem, 0xff, 100001);
		uroce_hugemem_free(mem);
	}
}

static void
hugemem_alloc__many_small_ones_do_not_overlap(void **state)
{
	enum { NB = 4000, LEN = 4160 };
	static uint8_t *mem[NB];

	(void)state;
	for (unsigned i = 0; i < NB; i++) {
		mem[i] = uroce_hugemem_alloc(LEN, 0);
		assert_non_null(mem[i]);
		memset(mem[i], (int)i, LEN);
	}
	for (unsigned i = 0; i < NB; i++) {
		assert_int_equal(mem[i][0], (uint8_t)i);
		assert_int_equal(mem[i][LEN - 1], (uint8_t)i);
		uroce_hugemem_free(mem[i]);
	}
}

/* The heap of the library grows beyond the 256 MiB of memory that this test gives to EAL. */
static void
hugemem_alloc__is_not_bounded_by_what_eal_was_given(void **state)
{
	const size_t before = eal_len();
	uint8_t *mem[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		mem[i] = uroce_hugemem_alloc(64 * MIB, SOCKET_ID_ANY);
		assert_non_null(mem[i]);
		mem[i][64 * MIB - 1] = 1;
	}
	assert_int_equal(eal_len(), before);
	for (unsigned i = 0; i < 5; i++)
		uroce_hugemem_free(mem[i]);
}

static void
hugemem_alloc__a_large_table_is_of_what_eal_was_given(void **state)
{
	const size_t before = eal_len();
	void *mem = uroce_hugemem_alloc(64 * MIB + 1, 0);

	(void)state;
	assert_non_null(mem);
	assert_true(eal_len() > before + 64 * MIB);
	uroce_hugemem_free(mem);
}

static void
hugemem_alloc__more_than_there_is_gets_nothing(void **state)
{
	(void)state;
	assert_null(uroce_hugemem_alloc(1024 * MIB, 0));
	/* a failed allocation has no effect on later allocations */
	void *mem = uroce_hugemem_alloc(MIB, 0);

	assert_non_null(mem);
	uroce_hugemem_free(mem);
}

static void
hugemem_free__nothing_is_allowed(void **state)
{
	(void)state;
	uroce_hugemem_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hugemem_alloc__is_zeroed_and_aligned_also_when_used_again),
		cmocka_unit_test(hugemem_alloc__many_small_ones_do_not_overlap),
		cmocka_unit_test(hugemem_alloc__is_not_bounded_by_what_eal_was_given),
		cmocka_unit_test(hugemem_alloc__a_large_table_is_of_what_eal_was_given),
		cmocka_unit_test(hugemem_alloc__more_than_there_is_gets_nothing),
		cmocka_unit_test(hugemem_free__nothing_is_allowed),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
