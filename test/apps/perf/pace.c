/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of the message rate: bursts at equal distances of a clock that the test sets. */

#include "check.h"
#include "pace.h"

#define HZ 1000000u

static struct options
options_of(double limit, int unit, uint64_t burst)
{
	return (struct options){
		.rate_limit = limit, .rate_unit = unit, .burst_size = burst, .tx_depth = 128
	};
}

static void
pace__without_a_limit_has_room(void **state)
{
	struct options opt = options_of(0, PERF_RATE_GBIT, 0);
	struct pace pace;

	(void)state;
	pace_init(&pace, &opt, 64, HZ);
	assert_true(pace_room(&pace, 0) == UINT64_MAX);
	pace_take(&pace, 1000);
	assert_true(pace_room(&pace, 0) == UINT64_MAX);
}

static void
pace__the_distance_of_bursts_is_their_time(void **state)
{
	/* 1000 messages in a second, in bursts of 10: a burst in 10 ms */
	struct options messages = options_of(1000, PERF_RATE_MESSAGES, 10);
	/* 1 MiB/s in messages of 1 KiB: 1024 messages in a second */
	struct options mib = options_of(1, PERF_RATE_MIB, 1024);
	/* 0.008 Gb/s in messages of 1000 bytes: 1000 messages in a second */
	struct options gbit = options_of(0.008, PERF_RATE_GBIT, 0);
	struct pace pace;

	(void)state;
	pace_init(&pace, &messages, 64, HZ);
	assert_int_equal(pace.gap, 10000);
	pace_init(&pace, &mib, 1024, HZ);
	assert_int_equal(pace.gap, HZ);
	/* the default burst is as long as the send queue */
	pace_init(&pace, &gbit, 1000, HZ);
	assert_int_equal(pace.gap, 128000);
}

static void
pace__a_burst_waits_for_its_time(void **state)
{
	struct options opt = options_of(1000, PERF_RATE_MESSAGES, 10);
	struct pace pace;

	(void)state;
	pace_init(&pace, &opt, 64, HZ);
	assert_int_equal(pace_room(&pace, 5), 10);
	pace_take(&pace, 4);
	assert_int_equal(pace_room(&pace, 6), 6);
	pace_take(&pace, 6);
	assert_int_equal(pace_room(&pace, 10004), 0);
	assert_int_equal(pace_room(&pace, 10005), 10);
}

/* A burst that began late moves the next one: messages are not sent faster to catch up. */
static void
pace__a_late_burst_is_not_caught_up(void **state)
{
	struct options opt = options_of(1000, PERF_RATE_MESSAGES, 10);
	struct pace pace;

	(void)state;
	pace_init(&pace, &opt, 64, HZ);
	assert_int_equal(pace_room(&pace, 0), 10);
	pace_take(&pace, 10);
	assert_int_equal(pace_room(&pace, 50000), 10);
	pace_take(&pace, 12);
	assert_int_equal(pace_room(&pace, 59999), 0);
	assert_int_equal(pace_room(&pace, 60000), 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pace__without_a_limit_has_room),
		cmocka_unit_test(pace__the_distance_of_bursts_is_their_time),
		cmocka_unit_test(pace__a_burst_waits_for_its_time),
		cmocka_unit_test(pace__a_late_burst_is_not_caught_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
