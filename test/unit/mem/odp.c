/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * On-demand regions: memory that is not mapped is refused without a signal when it is used, not
 * when it is registered.
 */

#include "mem/odp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "mem/mw.h"
#include "mem/sge.h"

#define NB_MR    8
#define PDN      7
#define QPN      0x1234
#define NB_PAGES 1024u /* more pages than one call of the table makes present */
#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND)

static const uint8_t secret[16] = "fifteen letters";
static struct uroce_mr_table *table;
static uint8_t *pages;
static size_t page_len;
static int ends[2]; /* the read end and the write end of a pipe */

static void
map(unsigned first, unsigned nb, int prot)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	assert_ptr_not_equal(mmap(pages + first * page_len, nb * page_len, prot, flags, -1, 0),
			     MAP_FAILED);
}

static void
unmap(unsigned first, unsigned nb)
{
	assert_int_equal(munmap(pages + first * page_len, nb * page_len), 0);
}

/*
 * Make pages present: write a byte of each page into a pipe; if `is_written`, read the byte back
 * into the page. The kernel reports pages that cannot be read or written.
 * @return 0, or a negative errno
 */
static int
page_in(const void *addr, uint64_t len, bool is_written)
{
	const uintptr_t first = (uintptr_t)addr & ~(page_len - 1);
	const uintptr_t end = ((uintptr_t)addr + len + page_len - 1) & ~(page_len - 1);
	bool is_there = end >= first;
	uint8_t byte;

	for (uintptr_t at = first; is_there && at < end; at += page_len) {
		if (write(ends[1], (const void *)at, 1) != 1)
			return -EFAULT;
		is_there = !is_written || read(ends[0], (void *)at, 1) == 1;
		if (!is_written || !is_there)
			(void)!read(ends[0], &byte, 1);
	}
	return is_there ? 0 : -EFAULT;
}

static int
setup(void **state)
{
	void *mem = NULL;

	(void)state;
	page_len = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(NB_MR)), 0);
	table = uroce_mr_table_init(mem, NB_MR, secret);
	uroce_mr_table_set_page_in(table, page_in);
	pages = mmap(NULL, NB_PAGES * page_len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (pages != NULL)
		munmap(pages, NB_PAGES * page_len);
	free(table);
	close(ends[0]);
	close(ends[1]);
	pages = NULL;
	table = NULL;
	return 0;
}

static uint32_t
add(void *addr, uint64_t iova, uint64_t len)
{
	const struct uroce_mr_conf conf = {
		.addr = addr, .iova = iova, .len = len, .pdn = PDN, .access = ALL
	};
	uint32_t key;

	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	return key;
}

static void *
read_at(uint32_t key, uint64_t va, uint64_t len)
{
	return uroce_mr_resolve(table, key, PDN, va, len, 0);
}

static void *
write_at(uint32_t key, uint64_t va, uint64_t len)
{
	return uroce_mr_resolve(table, key, PDN, va, len, IBV_ACCESS_LOCAL_WRITE);
}

static void
mr_resolve__nothing_without_the_function(void **state)
{
	(void)state;
	const uint32_t key = add(pages, 0, page_len);

	uroce_mr_table_set_page_in(table, NULL);
	assert_null(read_at(key, 0, 1));
}

static void
mr_resolve__follows_the_mapping(void **state)
{
	(void)state;
	unmap(0, NB_PAGES);
	const uint32_t key = add(pages, 0, 4 * page_len);

	assert_null(read_at(key, page_len, 1));
	map(1, 1, PROT_READ | PROT_WRITE);
	assert_ptr_equal(read_at(key, page_len, page_len), pages + page_len);
	assert_ptr_equal(write_at(key, page_len, page_len), pages + page_len);
	assert_null(read_at(key, page_len - 1, 1));
	assert_null(read_at(key, page_len, page_len + 1));
	map(1, 1, PROT_READ);
	assert_ptr_equal(read_at(key, page_len, 1), pages + page_len);
	assert_null(write_at(key, page_len, 1));
	unmap(1, 1);
	assert_null(read_at(key, page_len, 1));
}

/* An on-demand region is checked for protection domain, rights and range like any other region. */
static void
mr_resolve__domain_rights_and_range_hold(void **state)
{
	(void)state;
	const uint32_t key = add(pages, 0, 2 * page_len);

	assert_non_null(read_at(key, 0, 2 * page_len));
	assert_null(read_at(key, 0, 2 * page_len + 1));
	assert_null(read_at(key, UINT64_MAX, 2));
	assert_null(uroce_mr_resolve(table, key, PDN + 1, 0, 1, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, 0, 8, IBV_ACCESS_REMOTE_ATOMIC));
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_null(read_at(key, 0, 1));
}

/*
 * Of a large range only the first UROCE_ODP_MAX bytes, which the next packets use, are made
 * present.
 */
static void
mr_resolve__makes_so_much_ready_at_a_time(void **state)
{
	(void)state;
	const unsigned nb = (unsigned)(UROCE_ODP_MAX / page_len);
	const uint32_t key = add(pages, 0, NB_PAGES * page_len);

	unmap(nb, 1);
	assert_non_null(read_at(key, 0, NB_PAGES * page_len));
	/* a range from byte 1 on: its first UROCE_ODP_MAX bytes end in the unmapped page */
	assert_null(read_at(key, 1, NB_PAGES * page_len - 1));
	assert_null(read_at(key, nb * page_len, 1));
}

/* The bytes of an SGE before the requested offset need not be present. */
static void
mr_resolve_sge__asks_for_the_piece_alone(void **state)
{
	(void)state;
	const uint32_t key = add(pages, 0, 4 * page_len);
	const struct ibv_sge sge = { .addr = 1, .length = (uint32_t)(2 * page_len), .lkey = key };

	unmap(0, 1);
	assert_null(uroce_mr_resolve_sge(table, PDN, &sge, 0, 1, 0));
	assert_ptr_equal(uroce_mr_resolve_sge(table, PDN, &sge, page_len - 1, page_len, 0),
			 pages + page_len);
	assert_null(uroce_mr_resolve_sge(table, PDN, &sge, page_len - 2, 1, 0));
	/* an SGE that wraps around the end of the address space is refused at any offset */
	const struct ibv_sge wrapping = { .addr = UINT64_MAX - 10, .length = 100, .lkey = key };

	assert_null(uroce_mr_resolve_sge(table, PDN, &wrapping, 50, 1, 0));
}

/* An on-demand region has no view that a caller could cache, and no TX reference. */
static void
mr_get_view__is_not_for_such_regions(void **state)
{
	struct uroce_mr_view view;

	(void)state;
	const uint32_t key = add(pages, 0, page_len);
	struct uroce_mr_view none = { 0 };
	struct ibv_sge sge = { .addr = 0, .length = 100, .lkey = key };
	struct uroce_slice slice[UROCE_SGE_MAX];

	assert_false(uroce_mr_get_view(table, key, PDN, 0, &view));
	assert_int_equal(view.key, 0);
	assert_null(uroce_mr_get_tx_ref(table, key));
	/* uroce_sge_gather_all() can still gather a list with an SGE of the region */
	assert_int_equal(uroce_sge_gather_all(table, PDN, &sge, 1, 100, &none, slice), 1);
	assert_ptr_equal(slice[0].addr, pages);
	unmap(0, 1);
	assert_int_equal(uroce_sge_gather_all(table, PDN, &sge, 1, 100, &none, slice), -EFAULT);
}

static void
rkey_resolve__of_the_region_and_of_a_window(void **state)
{
	uint32_t rkey;

	(void)state;
	const uint32_t key = add(pages, 0, 4 * page_len);

	assert_int_equal(uroce_mw_add(table, UROCE_MW_2B, PDN, &rkey), 0);
	const struct uroce_mw_bind bind = {
		.rkey = rkey + 1 - (rkey % 256 == 255 ? 256 : 0),
		.mr_key = key,
		.addr = page_len,
		.len = 2 * page_len,
		.access = IBV_ACCESS_REMOTE_WRITE,
		.pdn = PDN,
		.qpn = QPN,
	};

	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	unmap(2, 1);
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t any = i ? bind.rkey : key;

		assert_ptr_equal(uroce_rkey_resolve(table, any, PDN, QPN, page_len, page_len,
						    IBV_ACCESS_REMOTE_WRITE),
				 pages + page_len);
		assert_null(uroce_rkey_resolve(table, any, PDN, QPN, page_len, page_len + 1,
					       IBV_ACCESS_REMOTE_WRITE));
	}
	assert_int_equal(uroce_mr_invalidate(table, key), -EBUSY);
}

/* An implicit region covers the whole address space. */
static void
mr_add__implicit(void **state)
{
	uint64_t len;

	(void)state;
	const uint32_t key = add(NULL, 0, UINT64_MAX);

	assert_ptr_equal(write_at(key, (uintptr_t)pages, page_len), pages);
	/* a constant in read-only memory, which cannot be written */
	assert_null(write_at(key, (uintptr_t)&secret, 1));
	assert_non_null(read_at(key, (uintptr_t)&secret, 1));
	assert_null(read_at(key, 0, 1));
	assert_null(read_at(key, UINT64_MAX - 8, 8));
	unmap(0, 1);
	assert_null(read_at(key, (uintptr_t)pages, 1));
	assert_null(uroce_rkey_region(table, key, PDN, 0, &len));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mr_resolve__nothing_without_the_function),
		TEST(mr_resolve__follows_the_mapping),
		TEST(mr_resolve__domain_rights_and_range_hold),
		TEST(mr_resolve__makes_so_much_ready_at_a_time),
		TEST(mr_resolve_sge__asks_for_the_piece_alone),
		TEST(mr_get_view__is_not_for_such_regions),
		TEST(rkey_resolve__of_the_region_and_of_a_window),
		TEST(mr_add__implicit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
