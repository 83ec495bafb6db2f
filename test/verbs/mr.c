/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: which memory can be registered, and with which access flags. */

#include "net.h"

#include <uroce_dv.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NB_MR 4

struct fixture {
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint8_t *buf; /* memory of four pages, which tests register */
	size_t page_len;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->device = net_device(0, "mrs=4");
	f->context = f->device ? uroce_open_device(f->device) : NULL;
	f->pd = f->context ? uroce_alloc_pd(f->context) : NULL;
	f->page_len = (size_t)sysconf(_SC_PAGESIZE);
	f->buf = mmap(NULL, 4 * f->page_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	*state = f;
	return f->pd ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	const int ret = uroce_dealloc_pd(f->pd) || uroce_close_device(f->context) ||
			uroce_destroy_device(f->device);

	munmap(f->buf, 4 * f->page_len);
	free(f);
	return ret;
}

static void
reg__describes_the_region(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = uroce_reg_mr(f->pd, f->buf, 100, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	assert_ptr_equal(mr->context, f->context);
	assert_ptr_equal(mr->pd, f->pd);
	assert_ptr_equal(mr->addr, f->buf);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->lkey, mr->rkey);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
reg__gives_every_region_its_own_key(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *one = uroce_reg_mr(f->pd, f->buf, 100, 0);
	struct ibv_mr *two = uroce_reg_mr(f->pd, f->buf, 100, 0);
	const uint32_t key = one->lkey;

	assert_int_not_equal(one->lkey, two->lkey);
	assert_int_equal(uroce_dereg_mr(one), 0);
	/* a new region gets a key that no region has had recently */
	one = uroce_reg_mr(f->pd, f->buf, 100, 0);
	assert_int_not_equal(one->lkey, key);
	assert_int_equal(uroce_dereg_mr(one), 0);
	assert_int_equal(uroce_dereg_mr(two), 0);
}

static void
reg__checks_access(void **state)
{
	static const struct {
		int access;
		int err;
	} rows[] = {
		{ IBV_ACCESS_LOCAL_WRITE, 0 },
		{ IBV_ACCESS_REMOTE_READ, 0 },
		{ IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE, 0 },
		{ IBV_ACCESS_HUGETLB, 0 },
		{ IBV_ACCESS_RELAXED_ORDERING, 0 },
		{ 1 << 29, 0 }, /* the highest bit of the optional flags */
		{ 1 << 30, EINVAL },
		{ UROCE_DV_ACCESS_FLUSH_GLOBAL, 0 },
		{ UROCE_DV_ACCESS_FLUSH_PERSISTENT, EOPNOTSUPP },
		{ 1 << 10, EINVAL },
		{ IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ IBV_ACCESS_REMOTE_ATOMIC, EINVAL },
		{ IBV_ACCESS_MW_BIND, 0 },
		{ IBV_ACCESS_ZERO_BASED, 0 },
		{ IBV_ACCESS_ON_DEMAND, 0 },
		{ IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB, 0 },
		/* optional flags that are unknown have no effect */
		{ IBV_ACCESS_OPTIONAL_RANGE, 0 },
		{ IBV_ACCESS_ON_DEMAND | 1 << 10, EINVAL },
	};
	struct fixture *f = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		struct ibv_mr *mr = uroce_reg_mr(f->pd, f->buf, 100, rows[i].access);
		struct ibv_mr *mr2 =
			uroce_reg_mr_iova2(f->pd, f->buf, 100, 0x5000, (unsigned)rows[i].access);

		assert_int_equal(mr ? 0 : errno, rows[i].err);
		assert_int_equal(mr2 != NULL, mr != NULL);
		if (mr) {
			assert_int_equal(uroce_dereg_mr(mr), 0);
			assert_int_equal(uroce_dereg_mr(mr2), 0);
		}
	}
}

static void
reg__checks_length(void **state)
{
	struct fixture *f = *state;

	assert_errno(EINVAL, uroce_reg_mr(NULL, f->buf, 100, 0));
	assert_errno(EINVAL, uroce_reg_mr(f->pd, f->buf, SIZE_MAX, 0));
	assert_errno(EINVAL, uroce_reg_mr(f->pd, f->buf, ((size_t)1 << 47) + 1, 0));
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, (size_t)1 << 47, 0));
	assert_errno(EINVAL, uroce_reg_mr_iova(f->pd, f->buf, 100, UINT64_MAX - 50, 0));
}

/* A region of length 0 can be registered at any address, whether memory is mapped there or not. */
static void
reg__takes_what_has_no_length(void **state)
{
	struct fixture *f = *state;
	void *const starts[] = { f->buf, f->buf + 1, NULL, (void *)(uintptr_t)4096 };

	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct ibv_mr *const mr =
			uroce_reg_mr(f->pd, starts[i], 0, IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);

		assert_non_null(mr);
		assert_ptr_equal(mr->addr, starts[i]);
		assert_int_equal(mr->length, 0);
		assert_int_equal(uroce_dereg_mr(mr), 0);
	}
}

static void
reg__refuses_what_is_not_mapped(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr;

	assert_errno(EFAULT, uroce_reg_mr(f->pd, NULL, 100, 0));
	/*
	 * one page of the range is unmapped; memory up to the last byte before that page can be
	 * registered
	 */
	munmap(f->buf + 2 * f->page_len, f->page_len);
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, 4 * f->page_len, 0));
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, 4 * f->page_len, IBV_ACCESS_LOCAL_WRITE));
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, 2 * f->page_len + 1, 0));
	mr = uroce_reg_mr(f->pd, f->buf + 1, 2 * f->page_len - 1, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
reg__refuses_what_cannot_be_read(void **state)
{
	struct fixture *f = *state;

	mprotect(f->buf + f->page_len, f->page_len, PROT_NONE);
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, 2 * f->page_len, IBV_ACCESS_REMOTE_READ));
	mprotect(f->buf + f->page_len, f->page_len, PROT_READ);
}

static void
reg__refuses_to_write_what_is_read_only(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr;

	mprotect(f->buf + f->page_len, f->page_len, PROT_READ);
	assert_errno(EFAULT, uroce_reg_mr(f->pd, f->buf, 2 * f->page_len, IBV_ACCESS_LOCAL_WRITE));
	mr = uroce_reg_mr(f->pd, f->buf, 2 * f->page_len, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	mr = uroce_reg_mr(f->pd, f->buf, f->page_len, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
reg__has_room_for_max_mr(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr[NB_MR];

	for (unsigned i = 0; i < NB_MR; i++)
		assert_non_null(mr[i] = uroce_reg_mr(f->pd, f->buf, 1, 0));
	assert_errno(ENOMEM, uroce_reg_mr(f->pd, f->buf, 1, 0));
	assert_int_equal(uroce_dereg_mr(mr[1]), 0);
	assert_non_null(mr[1] = uroce_reg_mr(f->pd, f->buf, 1, 0));
	for (unsigned i = 0; i < NB_MR; i++)
		assert_int_equal(uroce_dereg_mr(mr[i]), 0);
}

static void
dealloc_pd__is_refused_while_regions_use_it(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = uroce_reg_mr(f->pd, f->buf, 1, 0);

	assert_int_equal(uroce_dealloc_pd(f->pd), EBUSY);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dereg_mr(NULL), EINVAL);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reg__describes_the_region),
		TEST(reg__gives_every_region_its_own_key),
		TEST(reg__checks_access),
		TEST(reg__checks_length),
		TEST(reg__takes_what_has_no_length),
		TEST(reg__refuses_what_is_not_mapped),
		TEST(reg__refuses_what_cannot_be_read),
		TEST(reg__refuses_to_write_what_is_read_only),
		TEST(reg__has_room_for_max_mr),
		TEST(dealloc_pd__is_refused_while_regions_use_it),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
