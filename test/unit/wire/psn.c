/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Serial number arithmetic of PSNs [IBA 9.7.2]. Each case is also tested where PSNs wrap at 2^24.
 */

#include "wire/psn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HALF 0x800000u

static const uint32_t places[] = { 0, 1, 0x123456, HALF - 1, HALF, HALF + 1, 0xfffffe, 0xffffff };
#define NB_PLACES (sizeof(places) / sizeof(places[0]))

static void
psn_add__wraps_at_2_to_the_24(void **state)
{
	(void)state;
	assert_int_equal(uroce_psn_add(0xffffff, 1), 0);
	assert_int_equal(uroce_psn_add(0xfffffe, 1), 0xffffff);
	assert_int_equal(uroce_psn_add(0xffffff, 0), 0xffffff);
	assert_int_equal(uroce_psn_add(5, 0xffffff), 4);
	assert_int_equal(uroce_psn_add(0xfffff0, 0x20), 0x10);
}

static void
psn_dist__counts_steps_forward(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_PLACES; i++) {
		for (size_t nb = 0; nb < NB_PLACES; nb++) {
			const uint32_t to = uroce_psn_add(places[i], places[nb]);

			assert_int_equal(uroce_psn_dist(places[i], to), places[nb]);
		}
	}
	assert_int_equal(uroce_psn_dist(1, 0), 0xffffff);
}

static void
psn_diff__takes_the_shorter_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_PLACES; i++) {
		const uint32_t at = places[i];

		assert_int_equal(uroce_psn_diff(at, at), 0);
		assert_int_equal(uroce_psn_diff(uroce_psn_add(at, 1), at), 1);
		assert_int_equal(uroce_psn_diff(at, uroce_psn_add(at, 1)), -1);
		assert_int_equal(uroce_psn_diff(uroce_psn_add(at, HALF - 1), at), 0x7fffff);
		assert_int_equal(uroce_psn_diff(uroce_psn_add(at, HALF), at), -0x800000);
		assert_int_equal(uroce_psn_diff(at, uroce_psn_add(at, HALF - 1)), -0x7fffff);
	}
}

static void
psn_before__is_half_the_circle_behind(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_PLACES; i++) {
		const uint32_t at = places[i];

		assert_false(uroce_psn_before(at, at));
		assert_true(uroce_psn_before(at, uroce_psn_add(at, 1)));
		assert_true(uroce_psn_before(at, uroce_psn_add(at, HALF - 1)));
		assert_false(uroce_psn_before(uroce_psn_add(at, 1), at));
		assert_false(uroce_psn_before(uroce_psn_add(at, HALF - 1), at));
	}
}

static void
psn_in__is_half_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_PLACES; i++) {
		const uint32_t first = places[i];

		assert_false(uroce_psn_in(first, first, 0));
		assert_true(uroce_psn_in(first, first, 1));
		assert_true(uroce_psn_in(uroce_psn_add(first, 3), first, 4));
		assert_false(uroce_psn_in(uroce_psn_add(first, 4), first, 4));
		assert_false(uroce_psn_in(uroce_psn_add(first, 0xffffff), first, 4));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_add__wraps_at_2_to_the_24),
		cmocka_unit_test(psn_dist__counts_steps_forward),
		cmocka_unit_test(psn_diff__takes_the_shorter_way),
		cmocka_unit_test(psn_before__is_half_the_circle_behind),
		cmocka_unit_test(psn_in__is_half_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
