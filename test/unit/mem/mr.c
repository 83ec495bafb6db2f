/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory regions: which keys and ranges resolve to memory, which are refused, and the states of a
 * table entry.
 */

#include "mem/key.h"
#include "mem/mr.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <cmocka.h>

#define NB_MR  4
#define PDN    7
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)

static const uint8_t secret[16] = "fifteen letters";
static uint8_t memory[4096];

static struct uroce_mr_table *
make_table(uint32_t nb_mr, const uint8_t key_secret[16])
{
	void *mem = NULL;

	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(nb_mr)), 0);
	/*
	 * fill the memory with a pattern, because uroce_mr_table_init() must not rely on zeroed
	 * memory
	 */
	memset(mem, 0xa5, uroce_mr_table_memsize(nb_mr));
	return uroce_mr_table_init(mem, nb_mr, key_secret);
}

static int
setup(void **state)
{
	*state = make_table(NB_MR, secret);
	return 0;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

static struct uroce_mr_conf
conf_at(uint64_t iova, uint64_t len)
{
	return (struct uroce_mr_conf){
		.addr = memory, .iova = iova, .len = len, .pdn = PDN, .access = RIGHTS
	};
}

static uint32_t
add(struct uroce_mr_table *table)
{
	const struct uroce_mr_conf conf = conf_at(0x1000, sizeof(memory));
	uint32_t key = 0;

	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	return key;
}

static void
drop(struct uroce_mr_table *table, uint32_t key)
{
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	uroce_mr_free(table, key);
}

static void
mr_table_memsize__grows_by_a_line_for_each_region(void **state)
{
	(void)state;
	assert_int_equal(uroce_mr_table_memsize(2) - uroce_mr_table_memsize(1), 64);
	assert_int_equal(uroce_mr_table_memsize(1u << 24) - uroce_mr_table_memsize(1),
			 ((UINT64_C(1) << 24) - 1) * 64);
}

static void
mr_add__key_resolves_to_the_memory(void **state)
{
	struct uroce_mr_table *table = *state;

	assert_int_equal(uroce_mr_table_count(table), 0);
	const uint32_t key = add(table);

	assert_int_equal(uroce_mr_table_count(table), 1);
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN, 0x1000, 4096, 0), memory);
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN, 0x1010, 16, 0), memory + 16);
}

static void
mr_add__regions_are_distinguished(void **state)
{
	enum { NB = 1000 };
	static uint8_t bytes[NB];
	static uint32_t keys[NB];
	struct uroce_mr_table *table = make_table(NB, secret);

	(void)state;
	for (uint32_t i = 0; i < NB; i++) {
		const struct uroce_mr_conf conf = { .addr = &bytes[i], .iova = i, .len = 1 };

		assert_int_equal(uroce_mr_add(table, &conf, &keys[i]), 0);
	}
	assert_int_equal(uroce_mr_table_count(table), NB);
	for (uint32_t i = 0; i < NB; i++) {
		assert_ptr_equal(uroce_mr_resolve(table, keys[i], 0, i, 1, 0), &bytes[i]);
		assert_null(uroce_mr_resolve(table, keys[i], 0, i + 1, 1, 0));
	}
	free(table);
}

static void
mr_add__full_table_is_enomem(void **state)
{
	struct uroce_mr_table *table = *state;
	const struct uroce_mr_conf conf = conf_at(0, 1);
	uint32_t key = 0xdead;

	for (unsigned i = 0; i < NB_MR; i++)
		add(table);
	assert_int_equal(uroce_mr_add(table, &conf, &key), -ENOMEM);
	assert_int_equal(key, 0xdead);
	assert_int_equal(uroce_mr_table_count(table), NB_MR);
}

static void
mr_add__wrapping_ranges_are_einval(void **state)
{
	struct uroce_mr_table *table = *state;
	const struct uroce_mr_conf bad[] = {
		{ .addr = memory, .iova = UINT64_MAX, .len = 1 },
		{ .addr = memory, .iova = 1, .len = UINT64_MAX },
		{ .addr = memory, .iova = UINT64_MAX - 4095, .len = 4096 },
		{ .addr = (void *)UINTPTR_MAX, .iova = 0, .len = 1 },
		{ .addr = (void *)(UINTPTR_MAX - 9), .iova = 0, .len = 11 },
		{ .addr = memory, .iova = 0, .len = UINT64_MAX },
	};
	uint32_t key = 0xdead;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(uroce_mr_add(table, &bad[i], &key), -EINVAL);
	assert_int_equal(key, 0xdead);
	assert_int_equal(uroce_mr_table_count(table), 0);
	/* the calls that were refused have used no entries of the table */
	for (unsigned i = 0; i < NB_MR; i++)
		add(table);
}

static void
mr_add__null_is_for_length_0(void **state)
{
	struct uroce_mr_table *table = *state;
	const struct uroce_mr_conf some = { .addr = NULL, .iova = 0x1000, .len = 1 };
	const struct uroce_mr_conf none = { .addr = NULL, .iova = 0x1000, .len = 0 };
	uint32_t key;

	assert_int_equal(uroce_mr_add(table, &some, &key), -EINVAL);
	assert_int_equal(uroce_mr_add(table, &none, &key), 0);
	assert_null(uroce_mr_resolve(table, key, 0, 0x1000, 0, 0));
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
}

static void
mr_add__an_entry_never_gets_the_same_key_twice_in_a_row(void **state)
{
	struct uroce_mr_table *table = make_table(1, secret);
	uint32_t last = 0;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		const uint32_t key = add(table);

		assert_int_not_equal(key, last);
		if (i > 0)
			assert_int_equal(key >> 8, last >> 8);
		drop(table, key);
		last = key;
	}
	free(table);
}

/*
 * Find a secret with which an entry of a small table has keys whose upper bits are 0. Of the
 * thousands of keys that this entry gets, none is 0.
 */
static void
mr_add__key_0_is_not_given(void **state)
{
	uint8_t tried[16] = { 0 };
	uint32_t idx = UINT32_MAX;

	(void)state;
	for (uint32_t n = 0; idx >= 4096; n++) {
		struct uroce_key_rand rand;
		struct uroce_key_perm perm;

		memcpy(tried, &n, sizeof(n));
		uroce_key_rand_init(&rand, tried);
		uroce_key_perm_init(&perm, &rand);
		idx = uroce_key_index(&perm, 0);
	}
	struct uroce_mr_table *table = make_table(idx + 1, tried);

	for (uint32_t i = 0; i < idx; i++)
		add(table);
	for (unsigned i = 0; i < 5000; i++) {
		const uint32_t key = add(table);

		assert_int_equal(key >> 8, 0);
		assert_int_not_equal(key, 0);
		drop(table, key);
	}
	assert_null(uroce_mr_resolve(table, 0, PDN, 0x1000, 1, 0));
	free(table);
}

static void
mr_resolve__range_is_exact(void **state)
{
	static const struct {
		uint64_t va;
		uint64_t len;
		bool is_inside;
	} rows[] = {
		{ 0x1000, 0, true },
		{ 0x1000, 1, true },
		{ 0x1000, 4096, true },
		{ 0x1000, 4097, false },
		{ 0x1fff, 1, true },
		{ 0x1fff, 2, false },
		{ 0x2000, 0, true },
		{ 0x2000, 1, false },
		{ 0x2001, 0, false },
		{ 0x0fff, 0, false },
		{ 0x0fff, 1, false },
		{ 0x0fff, 2, false },
		{ 0, 0x1001, false },
		{ 0, 0, false },
		/* addresses and lengths whose sum wraps around */
		{ 0x1000, UINT64_MAX, false },
		{ 0x1001, UINT64_MAX, false },
		{ 0x1800, UINT64_MAX - 0x7ff, false },
		{ 0x2000, UINT64_MAX, false },
		{ UINT64_MAX, 1, false },
		{ UINT64_MAX, 0x1002, false },
		{ UINT64_MAX, UINT64_MAX, false },
	};
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *expected = rows[i].is_inside ? memory + (rows[i].va - 0x1000) : NULL;

		assert_ptr_equal(uroce_mr_resolve(table, key, PDN, rows[i].va, rows[i].len, 0),
				 expected);
	}
}

static void
mr_resolve__region_at_the_top_of_the_address_space(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint64_t iova = UINT64_MAX - 16;
	const struct uroce_mr_conf conf = conf_at(iova, 16);
	uint32_t key;

	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN, iova, 16, 0), memory);
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN, UINT64_MAX, 0, 0), memory + 16);
	assert_null(uroce_mr_resolve(table, key, PDN, UINT64_MAX, 1, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, iova, 17, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, iova + 8, 100, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, 0, 0, 0));
}

static void
mr_resolve__region_of_length_0(void **state)
{
	struct uroce_mr_table *table = *state;
	const struct uroce_mr_conf conf = conf_at(0x5000, 0);
	uint32_t key;

	assert_int_equal(uroce_mr_add(table, &conf, &key), 0);
	assert_ptr_equal(uroce_mr_resolve(table, key, PDN, 0x5000, 0, 0), memory);
	assert_null(uroce_mr_resolve(table, key, PDN, 0x5000, 1, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, 0x5001, 0, 0));
	assert_null(uroce_mr_resolve(table, key, PDN, 0x4fff, 1, 0));
}

static void
mr_resolve__other_protection_domain_is_refused(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	assert_null(uroce_mr_resolve(table, key, PDN + 1, 0x1000, 1, 0));
	assert_null(uroce_mr_resolve(table, key, 0, 0x1000, 1, 0));
	assert_non_null(uroce_mr_resolve(table, key, PDN, 0x1000, 1, 0));
}

static void
mr_resolve__needs_every_right_asked_for(void **state)
{
	static const struct {
		uint32_t needed;
		bool is_granted;
	} rows[] = {
		{ 0, true },
		{ IBV_ACCESS_LOCAL_WRITE, true },
		{ IBV_ACCESS_REMOTE_READ, true },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, true },
		{ IBV_ACCESS_REMOTE_WRITE, false },
		{ IBV_ACCESS_REMOTE_ATOMIC, false },
		{ IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, false },
		{ UINT32_MAX, false },
	};
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *addr = uroce_mr_resolve(table, key, PDN, 0x1000, 1, rows[i].needed);

		assert_ptr_equal(addr, rows[i].is_granted ? memory : NULL);
	}
}

/*
 * Of all keys that share the upper bits with a valid key, only the valid key resolves. No key of an
 * entry that was never used, or of an index outside of the table, resolves.
 */
static void
mr_resolve__only_the_very_key(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	for (uint32_t tag = 0; tag < 256; tag++) {
		const uint32_t guess = (key & ~0xffu) | tag;

		assert_ptr_equal(uroce_mr_resolve(table, guess, PDN, 0x1000, 1, 0),
				 guess == key ? memory : NULL);
	}
	for (uint64_t guess = 0; guess <= UINT32_MAX; guess += 65521 * 3) {
		if (guess == key)
			continue;
		assert_null(uroce_mr_resolve(table, (uint32_t)guess, PDN, 0x1000, 1, 0));
	}
}

/*
 * Keys of the first index behind the table, and of the last possible index. The table is at the end
 * of its allocation, so that a sanitizer detects a read behind it.
 */
static void
mr_resolve__index_behind_the_table(void **state)
{
	struct uroce_mr_table *table = *state;
	struct uroce_key_rand rand;
	struct uroce_key_perm perm;

	uroce_key_rand_init(&rand, secret);
	uroce_key_perm_init(&perm, &rand);
	const uint32_t keys[] = { uroce_key_make(&perm, NB_MR, 0),
				  uroce_key_make(&perm, UROCE_KEY_NB_INDEX - 1, 0) };

	for (unsigned i = 0; i < 2; i++) {
		assert_null(uroce_mr_resolve(table, keys[i], PDN, 0x1000, 1, 0));
		assert_int_equal(uroce_mr_invalidate(table, keys[i]), -EINVAL);
	}
	/* check that this test computes keys as the table does */
	assert_int_equal(add(table) >> 8, uroce_key_make(&perm, 0, 0) >> 8);
}

static void
mr_invalidate__region_no_longer_resolves(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t stays = add(table);
	const uint32_t goes = add(table);

	assert_int_equal(uroce_mr_invalidate(table, goes), 0);
	assert_int_equal(uroce_mr_table_count(table), 1);
	assert_null(uroce_mr_resolve(table, goes, PDN, 0x1000, 1, 0));
	assert_non_null(uroce_mr_resolve(table, stays, PDN, 0x1000, 1, 0));
	uroce_mr_free(table, goes);
	assert_null(uroce_mr_resolve(table, goes, PDN, 0x1000, 1, 0));
	assert_int_equal(uroce_mr_table_count(table), 1);
}

static void
mr_invalidate__unknown_key_is_einval(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	assert_int_equal(uroce_mr_invalidate(table, key ^ 1), -EINVAL);
	/* 255 keys with other upper bits: their index is outside of the table, or has no region */
	for (uint32_t i = 1; i < 256; i++)
		assert_int_equal(uroce_mr_invalidate(table, key + (i << 24)), -EINVAL);
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_int_equal(uroce_mr_invalidate(table, key), -EINVAL);
	uroce_mr_free(table, key);
	assert_int_equal(uroce_mr_invalidate(table, key), -EINVAL);
	assert_int_equal(uroce_mr_table_count(table), 0);
}

static void
mr_invalidate__entry_is_kept_until_it_is_freed(void **state)
{
	struct uroce_mr_table *table = *state;
	const struct uroce_mr_conf conf = conf_at(0, 1);
	uint32_t key[NB_MR];
	uint32_t new_key;

	for (unsigned i = 0; i < NB_MR; i++)
		key[i] = add(table);
	assert_int_equal(uroce_mr_invalidate(table, key[2]), 0);
	assert_int_equal(uroce_mr_add(table, &conf, &new_key), -ENOMEM);
	uroce_mr_free(table, key[2]);
	assert_int_equal(uroce_mr_add(table, &conf, &new_key), 0);
	assert_int_equal(new_key >> 8, key[2] >> 8);
	assert_int_not_equal(new_key, key[2]);
}

static void
mr_get_tx_ref__counts_until_the_loans_end(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);
	_Atomic uint32_t *first = uroce_mr_get_tx_ref(table, key);
	_Atomic uint32_t *second = uroce_mr_get_tx_ref(table, key);

	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(uroce_mr_nb_tx_refs(table, key), 2);
	/* after the invalidation, existing TX references still count, and no new one is given */
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_null(uroce_mr_get_tx_ref(table, key));
	assert_int_equal(uroce_mr_nb_tx_refs(table, key), 2);
	uroce_mr_put_tx_ref(first);
	uroce_mr_put_tx_ref(second);
	assert_int_equal(uroce_mr_nb_tx_refs(table, key), 0);
	uroce_mr_free(table, key);
}

static void
mr_get_tx_ref__nobodys_key_lends_nothing(void **state)
{
	struct uroce_mr_table *table = *state;

	assert_null(uroce_mr_get_tx_ref(table, 0x12345678));
	assert_int_equal(uroce_mr_nb_tx_refs(table, 0x12345678), 0);
}

static void
mr_free__entries_come_back_oldest_first(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t a = add(table);
	const uint32_t b = add(table);

	drop(table, b);
	drop(table, a);
	const uint32_t c = add(table);
	const uint32_t d = add(table);

	assert_int_not_equal(c >> 8, a >> 8);
	assert_int_not_equal(c >> 8, b >> 8);
	assert_int_not_equal(d >> 8, a >> 8);
	assert_int_not_equal(d >> 8, b >> 8);
	assert_int_equal(add(table) >> 8, b >> 8);
	assert_int_equal(add(table) >> 8, a >> 8);
}

static void
mr_free__queue_may_run_empty(void **state)
{
	struct uroce_mr_table *table = *state;
	uint32_t key[NB_MR];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NB_MR; i++)
			key[i] = add(table);
		for (unsigned i = 0; i < NB_MR; i++)
			drop(table, key[i]);
	}
	assert_int_equal(uroce_mr_table_count(table), 0);
}

#ifndef NDEBUG
/*
 * Free `key` in a child process.
 * @return the signal that ends the child process; 0: none
 */
static int
signal_of_free(struct uroce_mr_table *table, uint32_t key)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		const struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		uroce_mr_free(table, key);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
mr_free__without_invalidate_is_an_error_of_ours(void **state)
{
	struct uroce_mr_table *table = *state;
	const uint32_t key = add(table);

	assert_int_equal(signal_of_free(table, key), SIGABRT);
	assert_int_equal(uroce_mr_invalidate(table, key), 0);
	assert_int_equal(signal_of_free(table, key), 0);
}
#endif

/*
 * One thread registers and deregisters regions. Another thread, the reader, resolves the current
 * key all the time. The reader must get the memory of the region whose key it has, or nothing.
 *
 * The grace period is that of a worker: `round` is odd while the reader is inside a round. The key
 * is passed to the reader with relaxed order, so only the order of the table itself makes the entry
 * visible: release R1 in publish_entry() and acquire A1 of the lookups (mr.c).
 */
struct race {
	struct uroce_mr_table *table;
	_Atomic uint64_t told; /* number of the registration << 32 | key */
	atomic_uint round;
	atomic_uint nb_resolved;
	atomic_bool is_over;
	unsigned nb_wrong; /* number of wrong addresses that the reader got */
};

static uint8_t *
memory_of(uint32_t generation)
{
	return memory + generation % sizeof(memory);
}

static void *
resolve_again_and_again(void *arg)
{
	struct race *race = arg;

	while (!atomic_load(&race->is_over)) {
		atomic_fetch_add(&race->round, 1);
		const uint64_t state = atomic_load_explicit(&race->told, memory_order_relaxed);
		const uint32_t generation = (uint32_t)(state >> 32);
		void *addr = uroce_mr_resolve(race->table, (uint32_t)state, generation, generation,
					      1, 0);

		if (addr != NULL) {
			race->nb_wrong += addr != memory_of(generation);
			atomic_fetch_add(&race->nb_resolved, 1);
		}
		atomic_fetch_add(&race->round, 1);
	}
	return NULL;
}

static void
wait_for_grace(struct race *race)
{
	const unsigned round = atomic_load(&race->round);

	while ((round & 1) != 0 && atomic_load(&race->round) == round)
		sched_yield();
}

static void
live_and_die(struct race *race, uint32_t generation)
{
	const struct uroce_mr_conf conf = {
		.addr = memory_of(generation), .iova = generation, .len = 1, .pdn = generation
	};
	const unsigned before = atomic_load(&race->nb_resolved);
	uint32_t key;

	assert_int_equal(uroce_mr_add(race->table, &conf, &key), 0);
	atomic_store_explicit(&race->told, (uint64_t)generation << 32 | key, memory_order_relaxed);
	while (atomic_load(&race->nb_resolved) == before)
		sched_yield();
	assert_int_equal(uroce_mr_invalidate(race->table, key), 0);
	wait_for_grace(race);
	uroce_mr_free(race->table, key);
}

static void
mr_resolve__beside_add_and_invalidate(void **state)
{
	struct race race = { .table = make_table(1, secret) };
	pthread_t reader;

	(void)state;
	assert_int_equal(pthread_create(&reader, NULL, resolve_again_and_again, &race), 0);
	for (uint32_t generation = 1; generation <= 2000; generation++)
		live_and_die(&race, generation);
	atomic_store(&race.is_over, true);
	pthread_join(reader, NULL);
	assert_int_equal(race.nb_wrong, 0);
	free(race.table);
}

int
main(void)
{
#define TABLE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mr_table_memsize__grows_by_a_line_for_each_region),
		TABLE_TEST(mr_add__key_resolves_to_the_memory),
		cmocka_unit_test(mr_add__regions_are_distinguished),
		TABLE_TEST(mr_add__full_table_is_enomem),
		TABLE_TEST(mr_add__wrapping_ranges_are_einval),
		TABLE_TEST(mr_add__null_is_for_length_0),
		cmocka_unit_test(mr_add__an_entry_never_gets_the_same_key_twice_in_a_row),
		cmocka_unit_test(mr_add__key_0_is_not_given),
		TABLE_TEST(mr_resolve__range_is_exact),
		TABLE_TEST(mr_resolve__region_at_the_top_of_the_address_space),
		TABLE_TEST(mr_resolve__region_of_length_0),
		TABLE_TEST(mr_resolve__other_protection_domain_is_refused),
		TABLE_TEST(mr_resolve__needs_every_right_asked_for),
		TABLE_TEST(mr_resolve__only_the_very_key),
		TABLE_TEST(mr_resolve__index_behind_the_table),
		TABLE_TEST(mr_invalidate__region_no_longer_resolves),
		TABLE_TEST(mr_invalidate__unknown_key_is_einval),
		TABLE_TEST(mr_invalidate__entry_is_kept_until_it_is_freed),
		TABLE_TEST(mr_get_tx_ref__counts_until_the_loans_end),
		TABLE_TEST(mr_get_tx_ref__nobodys_key_lends_nothing),
		TABLE_TEST(mr_free__entries_come_back_oldest_first),
		TABLE_TEST(mr_free__queue_may_run_empty),
#ifndef NDEBUG
		TABLE_TEST(mr_free__without_invalidate_is_an_error_of_ours),
#endif
		cmocka_unit_test(mr_resolve__beside_add_and_invalidate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
