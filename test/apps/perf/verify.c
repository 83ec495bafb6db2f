/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verifier of uroce-perf must detect every wrong byte: --verify relies on it alone.
 */

#include "check.h"
#include "verify.h"

#include <string.h>

#define LEN 100 /* LEN is not a multiple of 8, so the last word is incomplete */

static uint8_t place[LEN + 8];

static void
message__as_filled_is_right(void **state)
{
	struct verify verify = { 0 };

	(void)state;
	for (size_t len = 1; len <= LEN; len++) {
		verify_fill(place, len, 7);
		verify_message(&verify, place, len, 7);
	}
	assert_int_equal(verify.wrong, 0);
	assert_int_equal(verify.messages, LEN);
	assert_int_equal(verify.bytes, LEN * (LEN + 1) / 2);
}

static void
fill__writes_nothing_behind_the_message(void **state)
{
	(void)state;
	memset(place, 0xa5, sizeof(place));
	verify_fill(place, LEN, 1);
	for (size_t i = LEN; i < sizeof(place); i++)
		assert_int_equal(place[i], 0xa5);
}

static void
message__each_flipped_byte_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN; i++) {
		/* more errors than verify_message() prints */
		struct verify verify = { .wrong = 1000 };

		verify_fill(place, LEN, 7);
		place[i] ^= 0x80;
		verify_message(&verify, place, LEN, 7);
		assert_int_equal(verify.wrong, 1001);
	}
}

static void
message__poisoned_is_wrong_in_every_byte(void **state)
{
	struct verify verify = { .wrong = 1000 };

	(void)state;
	verify_poison(place, LEN, 7);
	verify_message(&verify, place, LEN, 7);
	assert_int_equal(verify.wrong, 1000 + LEN);
}

/*
 * A message with another seed is wrong in most bytes. A byte may be right by chance, with a
 * probability of 1/256.
 */
static void
message__another_one_is_wrong(void **state)
{
	struct verify verify = { .wrong = 1000 };

	(void)state;
	verify_fill(place, LEN, 8);
	verify_message(&verify, place, LEN, 7);
	assert_true(verify.wrong > 1000 + LEN * 9 / 10);
}

static void
message__shifted_by_a_word_is_wrong(void **state)
{
	struct verify verify = { .wrong = 1000 };

	(void)state;
	verify_fill(place, LEN, 7);
	memmove(place, place + 8, LEN - 8);
	verify_message(&verify, place, LEN - 8, 7);
	assert_true(verify.wrong > 1000 + (LEN - 8) * 9 / 10);
}

static void
selftest__flips_one_byte_of_the_first_message(void **state)
{
	struct verify verify = { .is_selftest = true };

	(void)state;
	for (uint64_t message = 0; message < 3; message++) {
		verify_fill(place, LEN, message);
		verify_message(&verify, place, LEN, message);
	}
	assert_int_equal(verify.wrong, 1);
	assert_true(verify.is_flipped);
}

static void
lossy__untouched_is_lost(void **state)
{
	struct verify verify = { 0 };

	(void)state;
	verify_poison(place, LEN, 7);
	verify_lossy(&verify, place, LEN, 7);
	assert_int_equal(verify.lost, 1);
	assert_int_equal(verify.messages, 0);
	assert_int_equal(verify.wrong, 0);
}

static void
lossy__touched_in_part_is_lost(void **state)
{
	struct verify verify = { 0 };

	(void)state;
	verify_fill(place, LEN, 7);
	verify_poison(place, 32, 7);
	verify_lossy(&verify, place, LEN, 7);
	assert_int_equal(verify.lost, 1);
	assert_int_equal(verify.wrong, 0);
}

static void
lossy__a_byte_that_is_neither_is_wrong(void **state)
{
	struct verify verify = { .wrong = 1000 };

	(void)state;
	verify_fill(place, LEN, 7);
	place[50] ^= 0x10;
	verify_lossy(&verify, place, LEN, 7);
	assert_int_equal(verify.wrong, 1001);
	assert_int_equal(verify.lost, 0);
}

static void
value__only_the_expected_is_right(void **state)
{
	struct verify verify = { .wrong = 1000 };
	uint64_t value = 41;

	(void)state;
	verify_value(&verify, &value, 41, 0);
	assert_int_equal(verify.wrong, 1000);
	verify_value(&verify, &value, 42, 0);
	assert_int_equal(verify.wrong, 1001);
	assert_int_equal(verify.messages, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message__as_filled_is_right),
		cmocka_unit_test(fill__writes_nothing_behind_the_message),
		cmocka_unit_test(message__each_flipped_byte_is_wrong),
		cmocka_unit_test(message__poisoned_is_wrong_in_every_byte),
		cmocka_unit_test(message__another_one_is_wrong),
		cmocka_unit_test(message__shifted_by_a_word_is_wrong),
		cmocka_unit_test(selftest__flips_one_byte_of_the_first_message),
		cmocka_unit_test(lossy__untouched_is_lost),
		cmocka_unit_test(lossy__touched_in_part_is_lost),
		cmocka_unit_test(lossy__a_byte_that_is_neither_is_wrong),
		cmocka_unit_test(value__only_the_expected_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
