/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The spinlock: only one thread at a time owns the lock, and the next owner sees what the previous
 * one wrote.
 */

#include "base/lock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define NB_ROUNDS 50000

struct shared {
	struct uroce_lock lock;
	unsigned count; /* protected by `lock` only */
};

static void
lock_try__one_holder(void **state)
{
	struct uroce_lock lock = { 0 };

	(void)state;
	assert_true(uroce_lock_try(&lock));
	assert_false(uroce_lock_try(&lock));
	uroce_lock_release(&lock);
	assert_true(uroce_lock_try(&lock));
	uroce_lock_release(&lock);
	uroce_lock_take(&lock);
	assert_false(uroce_lock_try(&lock));
	uroce_lock_release(&lock);
}

static void *
count_up(void *arg)
{
	struct shared *shared = arg;

	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		uroce_lock_take(&shared->lock);
		shared->count++;
		uroce_lock_release(&shared->lock);
	}
	return NULL;
}

static void
lock_take__keeps_threads_apart(void **state)
{
	struct shared shared = { .count = 0 };
	pthread_t thread[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count_up, &shared), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(shared.count, 3 * NB_ROUNDS);
}

/*
 * Take the lock.
 * @return the value of `count` that the owner of the lock sees
 */
static void *
wait_for_lock(void *arg)
{
	struct shared *shared = arg;

	uroce_lock_take(&shared->lock);
	const uintptr_t seen = shared->count;

	uroce_lock_release(&shared->lock);
	return (void *)seen;
}

static void
lock_take__waits_longer_than_it_spins(void **state)
{
	struct shared shared = { .count = 0 };
	pthread_t waiter;
	void *seen = NULL;

	(void)state;
	uroce_lock_take(&shared.lock);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_lock, &shared), 0);
	for (unsigned i = 0; i < 5000; i++)
		sched_yield();
	shared.count = 42;
	uroce_lock_release(&shared.lock);
	pthread_join(waiter, &seen);
	assert_int_equal((uintptr_t)seen, 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_try__one_holder),
		cmocka_unit_test(lock_take__keeps_threads_apart),
		cmocka_unit_test(lock_take__waits_longer_than_it_spins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
