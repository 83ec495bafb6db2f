/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests for check-isolation.py. Some of them fail on purpose and leave threads, processes and
 * descriptors behind. The others succeed only if nothing is left of the failed ones.
 */

#include "isolation.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned nb_set_up; /* number of group setups in this image of the program */
static bool is_dirty;
static int left_fd = -1;

static int
set_up(void **state)
{
	(void)state;
	nb_set_up++;
	return 0;
}

static int
break_down(void **state)
{
	(void)state;
	assert_true(false);
	return 0;
}

static int
break_set_up(void **state)
{
	(void)state;
	is_dirty = true;
	return -1;
}

static void *
wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		(void)pause();
	return NULL;
}

static void
isolation__clean(void **state)
{
	(void)state;
	assert_int_equal(nb_set_up, 1);
	assert_false(is_dirty);
	assert_int_equal(left_fd, -1);
	assert_int_equal(access("/proc/self/fd/20", F_OK), -1);
}

static void
isolation__fails_and_leaves_a_mess(void **state)
{
	pthread_t thread;

	(void)state;
	is_dirty = true;
	left_fd = dup2(0, 20);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
	if (fork() == 0) {
		(void)pause();
		_exit(0);
	}
	assert_true(false);
}

static void
isolation__succeeds_and_its_teardown_fails(void **state)
{
	(void)state;
	is_dirty = true;
}

static void
isolation__is_skipped(void **state)
{
	(void)state;
	skip();
}

/*
 * Print how often this image has run this test. A skipped test is no failure, so the image is the
 * same after it.
 */
static void
isolation__counts(void **state)
{
	static unsigned nb;

	(void)state;
	printf("# count %u\n", ++nb);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(isolation__clean),
		cmocka_unit_test(isolation__fails_and_leaves_a_mess),
		cmocka_unit_test(isolation__clean),
		cmocka_unit_test_teardown(isolation__succeeds_and_its_teardown_fails, break_down),
		cmocka_unit_test(isolation__clean),
		cmocka_unit_test(isolation__counts),
		cmocka_unit_test(isolation__is_skipped),
		cmocka_unit_test(isolation__counts),
		cmocka_unit_test_setup(isolation__clean, break_set_up),
		cmocka_unit_test(isolation__clean),
	};

	if (argc != 3)
		return 77; /* each image must get the two arguments of the program */
	printf("# arguments %s %s\n", argv[1], argv[2]);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
