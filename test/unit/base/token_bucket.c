/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The token bucket: a burst of as many events as the bucket has tokens, then one event for each
 * interval.
 */

#include "base/token_bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define DEPTH    5u
#define INTERVAL UINT64_C(1000)
#define START    UINT64_C(123456789)

/* Take tokens until the bucket is empty. @return number of tokens */
static unsigned
take_all(struct uroce_token_bucket *bucket, uint64_t now_ns)
{
	unsigned nb = 0;

	while (nb <= 2 * DEPTH && uroce_token_bucket_take(bucket, DEPTH, INTERVAL, now_ns))
		nb++;
	return nb;
}

static void
token_bucket_take__a_new_bucket_is_full(void **state)
{
	struct uroce_token_bucket bucket = { 0 }, at_zero = { 0 };

	(void)state;
	assert_int_equal(take_all(&bucket, START), DEPTH);
	assert_int_equal(take_all(&bucket, START), 0);
	assert_int_equal(take_all(&at_zero, 0), DEPTH);
}

static void
token_bucket_take__a_token_is_added_after_each_interval(void **state)
{
	struct uroce_token_bucket bucket = { 0 };
	uint64_t now_ns = START;

	(void)state;
	(void)take_all(&bucket, now_ns);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(take_all(&bucket, now_ns + INTERVAL - 1), 0);
		now_ns += INTERVAL;
		assert_int_equal(take_all(&bucket, now_ns), 1);
	}
	assert_int_equal(take_all(&bucket, now_ns + 3 * INTERVAL), 3);
}

/* Tokens that are added to a full bucket must be lost. */
static void
token_bucket_take__a_bucket_does_not_overflow(void **state)
{
	struct uroce_token_bucket bucket = { 0 };

	(void)state;
	assert_true(uroce_token_bucket_take(&bucket, DEPTH, INTERVAL, START));
	assert_int_equal(take_all(&bucket, START + 1000 * INTERVAL), DEPTH);
}

/* An event that exceeds the limit must not delay later events. */
static void
token_bucket_take__refused_events_take_nothing(void **state)
{
	struct uroce_token_bucket bucket = { 0 };

	(void)state;
	(void)take_all(&bucket, START);
	for (unsigned i = 0; i < 100; i++)
		assert_false(uroce_token_bucket_take(&bucket, DEPTH, INTERVAL, START + i));
	assert_int_equal(take_all(&bucket, START + INTERVAL), 1);
}

static void
token_bucket_take__one_token(void **state)
{
	struct uroce_token_bucket bucket = { 0 };

	(void)state;
	assert_true(uroce_token_bucket_take(&bucket, 1, INTERVAL, START));
	assert_false(uroce_token_bucket_take(&bucket, 1, INTERVAL, START + INTERVAL - 1));
	assert_true(uroce_token_bucket_take(&bucket, 1, INTERVAL, START + INTERVAL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_bucket_take__a_new_bucket_is_full),
		cmocka_unit_test(token_bucket_take__a_token_is_added_after_each_interval),
		cmocka_unit_test(token_bucket_take__a_bucket_does_not_overflow),
		cmocka_unit_test(token_bucket_take__refused_events_take_nothing),
		cmocka_unit_test(token_bucket_take__one_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
