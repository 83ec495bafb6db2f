/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory windows: the rules for a bind, the use of a bound window, and the events that end a
 * binding.
 */

#include "mem/mw.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <cmocka.h>

#define NB_MR 8
#define PDN   7
#define QPN   0x1234
#define IOVA  0x10000
#define MR_RIGHTS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static const uint8_t secret[16] = "fifteen letters";
static uint8_t memory[4096];
static struct uroce_mr_table *table;
static uint32_t mr_key;

static uint32_t
add_region(uint64_t iova, uint32_t pdn, uint32_t access)
{
	const struct uroce_mr_conf conf = {
		.addr = memory, .iova = iova, .len = sizeof(memory), .pdn = pdn, .access = access
	};
	uint32_t key;

	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	return key;
}

static int
setup(void **state)
{
	void *mem = NULL;

	(void)state;
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(NB_MR)), 0);
	memset(mem, 0xa5, uroce_mr_table_memsize(NB_MR));
	table = uroce_mr_table_init(mem, NB_MR, secret);
	mr_key = add_region(IOVA, PDN, MR_RIGHTS);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static uint32_t
add_window(enum uroce_mw_kind kind)
{
	uint32_t rkey = 0;

	assert_int_equal(uroce_mw_add(table, kind, PDN, &rkey), 0);
	return rkey;
}

/* A bind of window `rkey` to bytes 256..1279 of the region, with the rights to READ and WRITE. */
static struct uroce_mw_bind
bind_of(uint32_t rkey)
{
	return (struct uroce_mw_bind){
		.rkey = rkey,
		.mr_key = mr_key,
		.addr = IOVA + 256,
		.len = 1024,
		.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		.pdn = PDN,
		.qpn = QPN,
	};
}

static uint32_t
bound_window(enum uroce_mw_kind kind)
{
	const struct uroce_mw_bind bind = bind_of(add_window(kind) ^ 0x5a);

	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	return bind.rkey;
}

static void *
resolve(uint32_t rkey, uint64_t va, uint64_t len)
{
	return uroce_rkey_resolve(table, rkey, PDN, QPN, va, len, IBV_ACCESS_REMOTE_READ);
}

static void
mw_add__key_leads_nowhere_until_bound(void **state)
{
	const uint32_t rkey = add_window(UROCE_MW_2B);

	(void)state;
	assert_int_not_equal(rkey, 0);
	assert_null(resolve(rkey, IOVA + 256, 0));
	assert_int_equal(uroce_mr_table_count(table), 2);
}

static void
mw_add__full_table(void **state)
{
	uint32_t rkey;

	(void)state;
	for (unsigned i = 1; i < NB_MR; i++)
		(void)add_window(UROCE_MW_1);
	assert_int_equal(uroce_mw_add(table, UROCE_MW_1, PDN, &rkey), -ENOMEM);
}

static void
mw_bind__resolves_inside_and_not_outside(void **state)
{
	(void)state;
	for (int kind = UROCE_MW_1; kind <= UROCE_MW_2B; kind++) {
		const uint32_t rkey = bound_window((enum uroce_mw_kind)kind);

		assert_ptr_equal(resolve(rkey, IOVA + 256, 1024), memory + 256);
		assert_ptr_equal(resolve(rkey, IOVA + 1279, 1), memory + 1279);
		assert_null(resolve(rkey, IOVA + 255, 1));
		assert_null(resolve(rkey, IOVA + 256, 1025));
		assert_null(resolve(rkey, IOVA + 1280, 1));
		assert_null(resolve(rkey, IOVA + 256, UINT64_MAX));
	}
}

static void
mw_bind__old_key_no_longer_resolves(void **state)
{
	const uint32_t first = add_window(UROCE_MW_1);
	struct uroce_mw_bind bind = bind_of(first + 1);

	(void)state;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_null(resolve(first, IOVA + 256, 1));
	bind.rkey = first + 2;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_null(resolve(first + 1, IOVA + 256, 1));
	assert_non_null(resolve(first + 2, IOVA + 256, 1));
}

static void
mw_bind__zero_based_counts_from_the_windows_begin(void **state)
{
	struct uroce_mw_bind bind = bind_of(add_window(UROCE_MW_2B));

	(void)state;
	bind.access |= IBV_ACCESS_ZERO_BASED;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_ptr_equal(resolve(bind.rkey, 0, 1024), memory + 256);
	assert_ptr_equal(resolve(bind.rkey, 1023, 1), memory + 1279);
	assert_null(resolve(bind.rkey, 1024, 1));
	assert_null(resolve(bind.rkey, IOVA + 256, 1));
}

static void
mw_bind__whole_region_and_one_byte_more(void **state)
{
	struct uroce_mw_bind bind = bind_of(add_window(UROCE_MW_1));

	(void)state;
	bind.addr = IOVA;
	bind.len = sizeof(memory) + 1;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind.len = sizeof(memory);
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	bind.addr = IOVA - 1;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind.addr = IOVA + 1;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind.len = UINT64_MAX;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	assert_non_null(resolve(bind.rkey, IOVA, sizeof(memory)));
}

static void
mw_bind__region_must_allow_it(void **state)
{
	const uint32_t no_bind = add_region(IOVA, PDN, MR_RIGHTS & ~(uint32_t)IBV_ACCESS_MW_BIND);
	const uint32_t no_write = add_region(IOVA, PDN, IBV_ACCESS_MW_BIND);
	struct uroce_mw_bind bind = bind_of(add_window(UROCE_MW_2B));

	(void)state;
	bind.mr_key = no_bind;
	assert_int_equal(uroce_mw_bind(table, &bind), -EACCES);
	bind.mr_key = no_write;
	assert_int_equal(uroce_mw_bind(table, &bind), -EACCES);
	bind.access = IBV_ACCESS_REMOTE_ATOMIC;
	assert_int_equal(uroce_mw_bind(table, &bind), -EACCES);
	/* a window may allow remote READs although its region does not allow them */
	bind.access = IBV_ACCESS_REMOTE_READ;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_non_null(resolve(bind.rkey, IOVA + 256, 1));
	assert_null(uroce_rkey_resolve(table, bind.rkey, PDN, QPN, IOVA + 256, 1,
				       IBV_ACCESS_REMOTE_WRITE));
}

static void
mw_bind__bad_keys_domains_and_flags(void **state)
{
	const uint32_t foreign = add_region(IOVA, PDN + 1, MR_RIGHTS);
	const uint32_t window = add_window(UROCE_MW_2B);
	struct uroce_mw_bind bind = bind_of(window);

	(void)state;
	bind.mr_key = foreign;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind.mr_key = mr_key ^ 1;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind.mr_key = bound_window(UROCE_MW_1); /* a window cannot be bound to a window */
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind = bind_of(mr_key); /* the key of a region is not the key of a window */
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind = bind_of(window ^ 0x100);
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind = bind_of(window);
	bind.pdn = PDN + 1;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind = bind_of(window);
	bind.access |= IBV_ACCESS_MW_BIND;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	bind = bind_of(window);
	/* IBV_ACCESS_LOCAL_WRITE is accepted, and has no effect on a window */
	bind.access |= IBV_ACCESS_LOCAL_WRITE;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
}

static void
mw_bind__type_2_is_bound_once_until_invalidated(void **state)
{
	const uint32_t rkey = bound_window(UROCE_MW_2B);
	struct uroce_mw_bind bind = bind_of(rkey + 1);

	(void)state;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	assert_non_null(resolve(rkey, IOVA + 256, 1));
	assert_int_equal(uroce_mw_invalidate(table, rkey, PDN, QPN), 0);
	assert_null(resolve(rkey, IOVA + 256, 1));
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_non_null(resolve(bind.rkey, IOVA + 256, 1));
}

static void
mw_bind__length_0_unbinds_type_1_alone(void **state)
{
	const uint32_t rkey = bound_window(UROCE_MW_1);
	struct uroce_mw_bind bind = { .rkey = rkey + 1, .pdn = PDN, .qpn = QPN };

	(void)state;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_null(resolve(rkey, IOVA + 256, 0));
	assert_null(resolve(rkey + 1, IOVA + 256, 0));
	bind.rkey = rkey + 2; /* unbinding an unbound window succeeds */
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	bind.rkey = add_window(UROCE_MW_2A);
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
}

static void
rkey_resolve__by_qp_and_domain_as_the_type_wants(void **state)
{
	static const struct {
		enum uroce_mw_kind kind;
		bool other_qp, other_pd;
	} rows[] = {
		{ UROCE_MW_1, true, false },
		{ UROCE_MW_2A, false, true },
		{ UROCE_MW_2B, false, false },
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const uint32_t rkey = bound_window(rows[i].kind);
		const void *by_qp = uroce_rkey_resolve(table, rkey, PDN, QPN + 1, IOVA + 256, 1, 0);
		const void *by_pd = uroce_rkey_resolve(table, rkey, PDN + 1, QPN, IOVA + 256, 1, 0);

		assert_int_equal(by_qp != NULL, rows[i].other_qp);
		assert_int_equal(by_pd != NULL, rows[i].other_pd);
	}
}

static void
mr_resolve__a_windows_key_is_no_lkey(void **state)
{
	const uint32_t rkey = bound_window(UROCE_MW_1);

	(void)state;
	assert_null(uroce_mr_resolve(table, rkey, PDN, IOVA + 256, 1, 0));
	assert_ptr_equal(uroce_mr_resolve(table, mr_key, PDN, IOVA + 256, 1, 0), memory + 256);
	assert_ptr_equal(resolve(mr_key, IOVA, 1), memory);
}

static void
mw_invalidate__what_this_qp_may_invalidate(void **state)
{
	const uint32_t type_1 = bound_window(UROCE_MW_1);
	const uint32_t type_2a = bound_window(UROCE_MW_2A);
	const uint32_t type_2b = bound_window(UROCE_MW_2B);

	(void)state;
	assert_int_equal(uroce_mw_invalidate(table, type_1, PDN, QPN), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, mr_key, PDN, QPN), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, type_2a, PDN, QPN + 1), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, type_2b, PDN + 1, QPN), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, type_2b ^ 1, PDN, QPN), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, type_2a, PDN, QPN), 0);
	assert_int_equal(uroce_mw_invalidate(table, type_2a, PDN, QPN), -EINVAL);
	assert_int_equal(uroce_mw_invalidate(table, type_2b, PDN, QPN), 0);
}

static void
mr_invalidate__busy_while_windows_are_bound(void **state)
{
	const uint32_t first = bound_window(UROCE_MW_1);
	const uint32_t second = bound_window(UROCE_MW_2B);
	struct uroce_mw_bind bind = { .rkey = first + 1, .pdn = PDN };

	(void)state;
	assert_int_equal(uroce_mr_invalidate(table, mr_key), -EBUSY);
	assert_non_null(resolve(mr_key, IOVA, 1));
	assert_int_equal(uroce_mw_invalidate(table, second, PDN, QPN), 0);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), -EBUSY);
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), 0);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), -EINVAL);
}

static void
mr_invalidate__a_window_is_not_taken_for_a_region(void **state)
{
	(void)state;
	assert_int_equal(uroce_mr_invalidate(table, bound_window(UROCE_MW_1)), -EINVAL);
	assert_int_equal(uroce_mr_invalidate(table, add_window(UROCE_MW_1)), -EINVAL);
}

/*
 * A failed bind does not change the number of windows that are bound to a region. A bind to another
 * region moves the window's count to that region.
 */
static void
mw_bind__region_is_counted_as_often_as_it_is_bound(void **state)
{
	const uint32_t other = add_region(IOVA, PDN, MR_RIGHTS);
	const uint32_t rkey = bound_window(UROCE_MW_1);
	struct uroce_mw_bind bind = bind_of(rkey + 1);

	(void)state;
	bind.mr_key = other;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), 0);
	assert_int_equal(uroce_mr_invalidate(table, other), -EBUSY);
	bind.mr_key = mr_key;
	assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
	assert_int_equal(uroce_mr_invalidate(table, other), -EBUSY);
	bind.len = 0;
	assert_int_equal(uroce_mw_bind(table, &bind), 0);
	assert_int_equal(uroce_mr_invalidate(table, other), 0);
}

static void
mw_remove__bound_or_not(void **state)
{
	const uint32_t idle = add_window(UROCE_MW_1);
	const uint32_t bound = bound_window(UROCE_MW_2B);
	uint32_t last = 0;

	(void)state;
	assert_int_equal(uroce_mw_remove(table, idle, &last), 0);
	assert_int_equal(last, idle);
	uroce_mr_free(table, last);
	/*
	 * uroce_mw_remove() finds the window by the index in the key, whatever the tag in the key
	 * is
	 */
	assert_int_equal(uroce_mw_remove(table, bound ^ 0x11, &last), 0);
	assert_int_equal(last, bound);
	assert_null(resolve(bound, IOVA + 256, 1));
	assert_int_equal(uroce_mw_remove(table, bound, &last), -EINVAL);
	uroce_mr_free(table, last);
	assert_int_equal(uroce_mw_remove(table, mr_key, &last), -EINVAL);
	assert_int_equal(uroce_mr_table_count(table), 1);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), 0);
}

static void
mw__keys_that_lead_past_the_table(void **state)
{
	struct uroce_mw_bind bind;
	uint32_t last, rkey = 0;

	(void)state;
	while (uroce_mw_remove(table, rkey, &last) == 0 || resolve(rkey, 0, 0))
		rkey += 0x100;
	for (unsigned i = 0; i < 64; i++, rkey += 0x100) {
		bind = bind_of(rkey);
		assert_int_equal(uroce_mw_remove(table, rkey, &last), -EINVAL);
		assert_int_equal(uroce_mw_bind(table, &bind), -EINVAL);
		assert_int_equal(uroce_mw_invalidate(table, rkey, PDN, QPN), -EINVAL);
		assert_int_equal(uroce_mr_invalidate(table, rkey), -EINVAL);
	}
}

/* --- binding a window while another thread resolves its key --- */

static atomic_bool is_over;
static uint32_t raced_rkey;

/*
 * Resolve the window while another thread changes its binding. The result must be memory of one of
 * the two bindings as a whole, never of a mixture.
 */
static void *
read_window(void *arg)
{
	uintptr_t nb_bad = 0;

	(void)arg;
	while (!atomic_load(&is_over)) {
		const uint8_t *low = resolve(raced_rkey, 0, 128);
		const uint8_t *high = resolve(raced_rkey, 2000, 1);

		nb_bad += low != NULL && low != memory + 64 && low != memory;
		nb_bad += high != NULL && high != memory + 2000;
	}
	return (void *)nb_bad;
}

static void
rkey_resolve__while_the_window_is_bound_here_and_there(void **state)
{
	struct uroce_mw_bind low = {
		.mr_key = mr_key,
		.addr = IOVA + 64,
		.len = 128,
		.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
		.pdn = PDN,
		.qpn = QPN,
	};
	struct uroce_mw_bind high = low;
	pthread_t thread;
	void *nb_bad;

	(void)state;
	raced_rkey = add_window(UROCE_MW_2B);
	low.rkey = raced_rkey;
	high.rkey = raced_rkey;
	high.addr = IOVA;
	high.len = sizeof(memory);
	high.mr_key = add_region(IOVA, PDN, MR_RIGHTS);
	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&thread, NULL, read_window, NULL), 0);
	for (unsigned i = 0; i < 20000; i++) {
		const struct uroce_mw_bind *bind = i % 2 ? &high : &low;

		if (uroce_mw_bind(table, bind) != 0)
			break;
		if (uroce_mw_invalidate(table, raced_rkey, PDN, QPN) != 0)
			break;
	}
	atomic_store(&is_over, true);
	pthread_join(thread, &nb_bad);
	assert_null(nb_bad);
	assert_int_equal(uroce_mr_invalidate(table, mr_key), 0);
	assert_int_equal(uroce_mr_invalidate(table, high.mr_key), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mw_add__key_leads_nowhere_until_bound),
		TEST(mw_add__full_table),
		TEST(mw_bind__resolves_inside_and_not_outside),
		TEST(mw_bind__old_key_no_longer_resolves),
		TEST(mw_bind__zero_based_counts_from_the_windows_begin),
		TEST(mw_bind__whole_region_and_one_byte_more),
		TEST(mw_bind__region_must_allow_it),
		TEST(mw_bind__bad_keys_domains_and_flags),
		TEST(mw_bind__type_2_is_bound_once_until_invalidated),
		TEST(mw_bind__length_0_unbinds_type_1_alone),
		TEST(rkey_resolve__by_qp_and_domain_as_the_type_wants),
		TEST(mr_resolve__a_windows_key_is_no_lkey),
		TEST(mw_invalidate__what_this_qp_may_invalidate),
		TEST(mr_invalidate__busy_while_windows_are_bound),
		TEST(mr_invalidate__a_window_is_not_taken_for_a_region),
		TEST(mw_bind__region_is_counted_as_often_as_it_is_bound),
		TEST(mw_remove__bound_or_not),
		TEST(mw__keys_that_lead_past_the_table),
		TEST(rkey_resolve__while_the_window_is_bound_here_and_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
