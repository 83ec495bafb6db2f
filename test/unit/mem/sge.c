/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Scatter/gather lists. Every range of a list is compared with the same bytes in contiguous memory,
 * and every invalid element must be refused.
 */

#include "mem/sge.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PDN     3
#define LEN     256
#define BAD_KEY 0xffffffff

/** Two regions, each with its own memory: `rw` may be written, `ro` may only be read. */
struct fixture {
	struct uroce_mr_table *mrs;
	uint8_t rw_mem[LEN];
	uint8_t ro_mem[LEN];
	uint32_t rw;
	uint32_t ro;
};

static uint32_t
add(struct fixture *f, uint8_t *mem, uint32_t access)
{
	const struct uroce_mr_conf conf = {
		.addr = mem, .iova = (uintptr_t)mem, .len = LEN, .pdn = PDN, .access = access
	};
	uint32_t key;

	assert_int_equal(uroce_mr_add(f->mrs, &conf, &key), 0);
	return key;
}

static int
setup(void **state)
{
	static const uint8_t secret[16] = "fifteen letters";
	struct fixture *f = calloc(1, sizeof(*f));
	void *mem = NULL;

	assert_non_null(f);
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(4)), 0);
	f->mrs = uroce_mr_table_init(mem, 4, secret);
	f->rw = add(f, f->rw_mem, IBV_ACCESS_LOCAL_WRITE);
	f->ro = add(f, f->ro_mem, 0);
	for (unsigned i = 0; i < LEN; i++)
		f->ro_mem[i] = (uint8_t)(i + 1);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	free(f->mrs);
	free(f);
	return 0;
}

static struct ibv_sge
rw(const struct fixture *f, unsigned at, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)f->rw_mem + at, len, f->rw };
}

static struct ibv_sge
ro(const struct fixture *f, unsigned at, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)f->ro_mem + at, len, f->ro };
}

/* An element of length 0 with an invalid address and key, which must not be checked. */
static struct ibv_sge
nothing(void)
{
	return (struct ibv_sge){ .addr = 1, .length = 0, .lkey = BAD_KEY };
}

static bool
is_untouched(const struct fixture *f)
{
	for (unsigned i = 0; i < LEN; i++) {
		if (f->rw_mem[i] != 0)
			return false;
	}
	return true;
}

static void
sge_len__sums_beyond_32_bits(void **state)
{
	struct ibv_sge list[UROCE_SGE_MAX];

	(void)state;
	for (unsigned i = 0; i < UROCE_SGE_MAX; i++)
		list[i] = (struct ibv_sge){ .length = UINT32_MAX };
	assert_int_equal(uroce_sge_len(list, 0), 0);
	assert_int_equal(uroce_sge_len(NULL, 0), 0);
	assert_int_equal(uroce_sge_len(list, 1), UINT32_MAX);
	assert_true(uroce_sge_len(list, UROCE_SGE_MAX) == 32 * (uint64_t)UINT32_MAX);
}

/*
 * Copy the bytes of all slices to `to`, one slice behind the other.
 * @return the number of bytes
 */
static uint32_t
flatten(const struct uroce_slice *slice, int nb, uint8_t *to)
{
	uint32_t len = 0;

	for (int i = 0; i < nb; i++) {
		assert_int_not_equal(slice[i].len, 0);
		memcpy(to + len, slice[i].addr, slice[i].len);
		len += slice[i].len;
	}
	return len;
}

static void
expect_gathered(const struct fixture *f, const struct ibv_sge *list, unsigned nb_sge,
		const uint8_t *flat, uint32_t flat_len)
{
	for (uint32_t offset = 0; offset <= flat_len; offset++) {
		for (uint32_t len = 0; len <= flat_len - offset; len++) {
			struct uroce_slice slice[UROCE_SGE_MAX];
			uint8_t got[LEN];
			const int nb = uroce_sge_gather(f->mrs, PDN, list, nb_sge, offset, len,
							NULL, slice);

			assert_in_range(nb, 0, nb_sge);
			assert_int_equal(flatten(slice, nb, got), len);
			assert_memory_equal(got, flat + offset, len);
		}
	}
}

static void
sge_gather__every_range_of_a_list(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { nothing(),    ro(f, 10, 3), nothing(),     ro(f, 100, 5),
					ro(f, 11, 1), nothing(),    ro(f, 249, 7), nothing() };
	uint8_t flat[16];

	memcpy(flat, f->ro_mem + 10, 3);
	memcpy(flat + 3, f->ro_mem + 100, 5);
	memcpy(flat + 8, f->ro_mem + 11, 1);
	memcpy(flat + 9, f->ro_mem + 249, 7);
	expect_gathered(f, list, 8, flat, 16);
}

static void
sge_gather__every_range_of_one_element(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge one = ro(f, 20, 9);

	expect_gathered(f, &one, 1, f->ro_mem + 20, 9);
}

static void
sge_gather__slices_lead_into_the_region(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { ro(f, 0, 4), ro(f, 50, 4) };
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 3, 2, NULL, slice), 2);
	assert_ptr_equal(slice[0].addr, f->ro_mem + 3);
	assert_int_equal(slice[0].len, 1);
	assert_ptr_equal(slice[1].addr, f->ro_mem + 50);
	assert_int_equal(slice[1].len, 1);
	assert_int_equal(slice[0].key, list[0].lkey);
	assert_int_equal(slice[1].key, list[1].lkey);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 4, 4, NULL, slice), 1);
	assert_ptr_equal(slice[0].addr, f->ro_mem + 50);
}

static void
sge_gather__as_many_elements_as_there_may_be(void **state)
{
	const struct fixture *f = *state;
	struct ibv_sge list[UROCE_SGE_MAX];
	struct uroce_slice slice[UROCE_SGE_MAX];

	for (unsigned i = 0; i < UROCE_SGE_MAX; i++)
		list[i] = ro(f, 2 * i, 1);
	assert_int_equal(
		uroce_sge_gather(f->mrs, PDN, list, UROCE_SGE_MAX, 0, UROCE_SGE_MAX, NULL, slice),
		UROCE_SGE_MAX);
	for (unsigned i = 0; i < UROCE_SGE_MAX; i++)
		assert_ptr_equal(slice[i].addr, f->ro_mem + 2 * i);
}

static void
sge_gather__length_0_asks_nothing(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge bad = { .addr = 0, .length = 4, .lkey = BAD_KEY };
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_int_equal(uroce_sge_gather(f->mrs, PDN, &bad, 1, 0, 0, NULL, slice), 0);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, NULL, 0, 0, 0, NULL, slice), 0);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, NULL, 0, 99, 0, NULL, slice), 0);
}

static void
sge_gather__short_list_is_refused(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { ro(f, 0, 4), ro(f, 8, 4) };
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 0, 9, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 8, 1, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, UINT64_MAX, 1, NULL, slice),
			 -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 1, 0, 5, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 1, 4, 1, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 1, UINT64_MAX, 1, NULL, slice),
			 -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 1, 1u << 31, UINT32_MAX, NULL, slice),
			 -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, NULL, 0, 0, 1, NULL, slice), -EFAULT);
}

static void
sge_gather__bad_elements_are_refused(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge bad[] = {
		{ (uintptr_t)f->ro_mem, 4, f->ro ^ 1 },
		{ (uintptr_t)f->ro_mem - 1, 4, f->ro },
		{ (uintptr_t)f->ro_mem + LEN - 3, 4, f->ro },
		{ (uintptr_t)f->ro_mem, 4, f->rw },
		{ UINT64_MAX, 4, f->ro },
	};
	struct uroce_slice slice[UROCE_SGE_MAX];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ibv_sge list[] = { ro(f, 0, 4), bad[i] };

		assert_int_equal(uroce_sge_gather(f->mrs, PDN, &bad[i], 1, 0, 4, NULL, slice),
				 -EFAULT);
		assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 0, 8, NULL, slice),
				 -EFAULT);
		/* the range ends before the invalid element, so that element is not checked */
		assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 0, 4, NULL, slice), 1);
	}
}

static void
sge_gather__other_protection_domain_is_refused(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { ro(f, 0, 4), ro(f, 8, 4) };
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_int_equal(uroce_sge_gather(f->mrs, PDN + 1, list, 1, 0, 4, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN + 1, list, 2, 0, 8, NULL, slice), -EFAULT);
}

static void
sge_gather__deregistered_between_two_packets(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge one = ro(f, 0, 64);
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_int_equal(uroce_sge_gather(f->mrs, PDN, &one, 1, 0, 32, NULL, slice), 1);
	assert_int_equal(uroce_mr_invalidate(f->mrs, f->ro), 0);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, &one, 1, 32, 32, NULL, slice), -EFAULT);
}

/*
 * A region begins at address 0. An element that begins shortly before the end of the address space
 * must not wrap around into the region.
 */
static void
sge_gather__element_that_wraps_is_refused(void **state)
{
	const struct fixture *f = *state;
	const struct uroce_mr_conf conf = {
		.addr = (void *)(uintptr_t)f->ro_mem, .iova = 0, .len = LEN, .pdn = PDN
	};
	struct uroce_slice slice[UROCE_SGE_MAX];
	uint32_t key;

	assert_int_equal(uroce_mr_add(f->mrs, &conf, &key), 0);
	const struct ibv_sge list[] = { { UINT64_MAX - 9, 20, key }, { 0, 4, key } };

	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 1, 10, 4, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 10, 4, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(f->mrs, PDN, list, 2, 20, 4, NULL, slice), 1);
}

static void
sge_scatter__every_range_of_a_list(void **state)
{
	struct fixture *f = *state;
	const struct ibv_sge list[] = { rw(f, 10, 3), nothing(), rw(f, 100, 5), rw(f, 249, 7),
					nothing() };
	uint8_t src[15];

	for (unsigned i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(0x80 + i);
	for (uint32_t offset = 0; offset <= 15; offset++) {
		for (uint32_t len = 0; len <= 15 - offset; len++) {
			uint8_t expected[LEN] = { 0 };
			uint8_t *const place[] = { expected + 10, expected + 100, expected + 249 };

			memset(f->rw_mem, 0, LEN);
			for (uint32_t i = 0; i < len; i++) {
				const uint32_t at = offset + i;

				*(at < 3   ? place[0] + at
				  : at < 8 ? place[1] + at - 3
					   : place[2] + at - 8) = src[i];
			}
			assert_int_equal(
				uroce_sge_scatter(f->mrs, PDN, list, 5, offset, src, len, NULL), 0);
			assert_memory_equal(f->rw_mem, expected, LEN);
		}
	}
}

static void
sge_scatter__into_one_element(void **state)
{
	struct fixture *f = *state;
	const struct ibv_sge one = rw(f, 16, 16);
	uint8_t expected[LEN] = { 0 };

	memcpy(expected + 20, "abcdefghijkl", 12);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, &one, 1, 4, "abcdefghijkl", 12, NULL), 0);
	assert_memory_equal(f->rw_mem, expected, LEN);
}

static void
sge_scatter__length_0_asks_nothing(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge bad = { .addr = 0, .length = 4, .lkey = BAD_KEY };

	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, &bad, 1, 0, NULL, 0, NULL), 0);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, NULL, 0, 5, NULL, 0, NULL), 0);
}

static void
sge_scatter__short_list_is_emsgsize_and_writes_nothing(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { rw(f, 0, 4), rw(f, 8, 4), nothing() };
	const uint8_t src[16] = "123456789012345";

	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 3, 0, src, 9, NULL), -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 3, 8, src, 1, NULL), -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 1, 0, src, 5, NULL), -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 1, 4, src, 1, NULL), -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 1, UINT64_MAX, src, 1, NULL),
			 -EMSGSIZE);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN, NULL, 0, 0, src, 1, NULL), -EMSGSIZE);
	assert_true(is_untouched(f));
}

static void
sge_scatter__bad_last_element_writes_nothing(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge bad[] = {
		/* the region of this element is read-only */
		ro(f, 0, 4),
		{ (uintptr_t)f->rw_mem, 4, f->rw ^ 1 }, /* no region has this key */
		/* this element ends outside of its region */
		{ (uintptr_t)f->rw_mem + LEN - 3, 4, f->rw },
	};
	const uint8_t src[16] = "123456789012345";

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ibv_sge list[] = { rw(f, 0, 4), rw(f, 8, 4), bad[i] };

		assert_int_equal(uroce_sge_scatter(f->mrs, PDN, list, 3, 0, src, 12, NULL),
				 -EFAULT);
		assert_int_equal(uroce_sge_scatter(f->mrs, PDN, &bad[i], 1, 0, src, 4, NULL),
				 -EFAULT);
		assert_true(is_untouched(f));
	}
	assert_int_equal(f->ro_mem[0], 1);
}

static void
sge_scatter__other_protection_domain_is_refused(void **state)
{
	const struct fixture *f = *state;
	const struct ibv_sge list[] = { rw(f, 0, 4), rw(f, 8, 4) };

	assert_int_equal(uroce_sge_scatter(f->mrs, PDN + 1, list, 1, 0, "1234", 4, NULL), -EFAULT);
	assert_int_equal(uroce_sge_scatter(f->mrs, PDN + 1, list, 2, 0, "12345", 5, NULL), -EFAULT);
	assert_true(is_untouched(f));
}

int
main(void)
{
#define LIST_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sge_len__sums_beyond_32_bits),
		LIST_TEST(sge_gather__every_range_of_a_list),
		LIST_TEST(sge_gather__every_range_of_one_element),
		LIST_TEST(sge_gather__slices_lead_into_the_region),
		LIST_TEST(sge_gather__as_many_elements_as_there_may_be),
		LIST_TEST(sge_gather__length_0_asks_nothing),
		LIST_TEST(sge_gather__short_list_is_refused),
		LIST_TEST(sge_gather__bad_elements_are_refused),
		LIST_TEST(sge_gather__other_protection_domain_is_refused),
		LIST_TEST(sge_gather__deregistered_between_two_packets),
		LIST_TEST(sge_gather__element_that_wraps_is_refused),
		LIST_TEST(sge_scatter__every_range_of_a_list),
		LIST_TEST(sge_scatter__into_one_element),
		LIST_TEST(sge_scatter__length_0_asks_nothing),
		LIST_TEST(sge_scatter__short_list_is_emsgsize_and_writes_nothing),
		LIST_TEST(sge_scatter__bad_last_element_writes_nothing),
		LIST_TEST(sge_scatter__other_protection_domain_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
