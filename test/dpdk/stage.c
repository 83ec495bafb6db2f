/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The stage clock, which measures the stages of a round. The library contains the stage clock only
 * if a build option enables it. This test always compiles it in.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datapath/stage.h"

/*
 * Start the stage clock of this thread. The first lap of a thread only starts its clock, and adds
 * nothing to the sums.
 */
static int
start(void **state)
{
	(void)state;
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	return 0;
}

static struct uroce_stage_sum
read_stage(enum uroce_stage stage)
{
	const char *name;

	return uroce_stage_read(stage, &name);
}

static void
spend(uint64_t cycles)
{
	const uint64_t begin = rte_rdtsc();

	while (rte_rdtsc() - begin < cycles)
		;
}

static void
lap__counts_what_was_since_the_last_one(void **state)
{
	const struct uroce_stage_sum before = read_stage(UROCE_STAGE_PARSE);
	struct uroce_stage_sum after;

	(void)state;
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	spend(100000);
	uroce_stage_lap(UROCE_STAGE_PARSE, 7);

	after = read_stage(UROCE_STAGE_PARSE);
	assert_true(after.cycles - before.cycles > 90000);
	assert_int_equal(after.laps - before.laps, 1);
	assert_int_equal(after.items - before.items, 7);
}

static void
lap__costs_next_to_nothing_that_is_reported(void **state)
{
	const struct uroce_stage_sum before = read_stage(UROCE_STAGE_LINK);
	const uint64_t begin = rte_rdtsc();
	uint64_t spent;

	(void)state;
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	for (unsigned i = 0; i < 100000; i++)
		uroce_stage_lap(UROCE_STAGE_LINK, 1);
	spent = rte_rdtsc() - begin;

	assert_true(read_stage(UROCE_STAGE_LINK).cycles - before.cycles < spent);
	assert_int_equal(read_stage(UROCE_STAGE_LINK).items - before.items, 100000);
}

static void
skip__is_nobodys_time(void **state)
{
	const struct uroce_stage_sum before = read_stage(UROCE_STAGE_ROUND);
	uint64_t begin, spent;

	(void)state;
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	spend(10000000);
	begin = rte_rdtsc();
	uroce_stage_skip();
	uroce_stage_lap(UROCE_STAGE_ROUND, 0);
	spent = rte_rdtsc() - begin;

	assert_true(read_stage(UROCE_STAGE_ROUND).cycles - before.cycles <= spent);
}

static void *
make_laps(void *arg)
{
	(void)arg;
	/* the first lap of a thread only starts its clock */
	uroce_stage_lap(UROCE_STAGE_ACT, 1);
	uroce_stage_lap(UROCE_STAGE_ACT, 3);
	return NULL;
}

/*
 * The sums over all threads must be right if there are more threads than clocks. The sums must
 * include threads that have ended.
 */
static void
read__sums_over_threads(void **state)
{
	const struct uroce_stage_sum before = read_stage(UROCE_STAGE_ACT);

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, make_laps, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}

	assert_int_equal(read_stage(UROCE_STAGE_ACT).items - before.items, 300);
	assert_int_equal(read_stage(UROCE_STAGE_ACT).laps - before.laps, 100);
}

static void
read__names_every_stage(void **state)
{
	const char *name;

	(void)state;
	for (unsigned i = 0; i < UROCE_STAGE_NB; i++) {
		name = NULL;
		(void)uroce_stage_read(i, &name);
		assert_non_null(name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lap__counts_what_was_since_the_last_one),
		cmocka_unit_test(lap__costs_next_to_nothing_that_is_reported),
		cmocka_unit_test(skip__is_nobodys_time),
		cmocka_unit_test(read__sums_over_threads),
		cmocka_unit_test(read__names_every_stage),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
