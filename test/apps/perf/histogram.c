/* SPDX-License-Identifier: BSD-3-Clause */
/* The histogram of uroce-perf: each value belongs to one bucket, and buckets are narrow. */

#include "check.h"
#include "histogram.h"

static void
bucket__begins_are_in_their_bucket(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		const uint64_t begin = histogram_begin(i);

		assert_int_equal(histogram_bucket(begin), i);
		assert_int_equal(histogram_bucket(histogram_begin(i + 1) - 1),
				 i + 1 < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1);
	}
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void
bucket__is_at_most_a_sixteenth_wider(void **state)
{
	(void)state;
	for (unsigned i = 1; i + 1 < HISTOGRAM_BUCKETS; i++) {
		const uint64_t begin = histogram_begin(i), width = histogram_begin(i + 1) - begin;

		assert_true(width == 1 || width <= begin / 16);
	}
}

static void
range__has_the_buckets_that_counted(void **state)
{
	static struct histogram histogram;
	unsigned first, end;

	(void)state;
	histogram_range(&histogram, &first, &end);
	assert_int_equal(end, 0);
	histogram_add(&histogram, 1000);
	histogram_add(&histogram, 1001);
	histogram_add(&histogram, 70000);
	histogram_range(&histogram, &first, &end);
	assert_int_equal(first, histogram_bucket(1000));
	assert_int_equal(end, histogram_bucket(70000) + 1);
	assert_int_equal(histogram.nb, 3);
	assert_int_equal(histogram.count[first], 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket__begins_are_in_their_bucket),
		cmocka_unit_test(bucket__is_at_most_a_sixteenth_wider),
		cmocka_unit_test(range__has_the_buckets_that_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
