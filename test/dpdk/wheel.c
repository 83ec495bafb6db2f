/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timing wheel, with a simulated time. No timer expires before its deadline. A timer expires at
 * most a tick after its deadline, unless the deadline is beyond the wheel's horizon. Timers can be
 * set, changed and removed in every order.
 */

#include "rig.h"

#include <stdlib.h>

#include "datapath/worker/wheel.h"

#define TICK    (UINT64_C(1) << UROCE_WHEEL_SHIFT)
#define HORIZON (TICK * (UROCE_WHEEL_SLOTS - 1))
#define START   UINT64_C(123456789012)

static struct uroce_wheel wheel;
static struct uroce_worker_qp wqp[64];

static int
setup(void **state)
{
	(void)state;
	uroce_wheel_init(&wheel, START);
	for (size_t i = 0; i < sizeof(wqp) / sizeof(wqp[0]); i++)
		uroce_wheel_init_qp(&wqp[i]);
	return 0;
}

/*
 * Get the time at which the timer `which` expires, if the wheel is checked at `from` and after each
 * `step`. The result is UROCE_NEVER if the timer does not expire within two horizons.
 */
static uint64_t
comes_up(const struct uroce_worker_qp *which, uint64_t from, uint64_t step)
{
	for (uint64_t now = from; now < from + 2 * HORIZON; now += step) {
		struct uroce_worker_qp *got = uroce_wheel_take(&wheel, now);

		if (got) {
			assert_ptr_equal(got, which);
			return now;
		}
	}
	return UROCE_NEVER;
}

static void
wheel_take__not_before_the_deadline_and_within_a_tick(void **state)
{
	static const uint64_t delays[] = {
		1, TICK / 2, TICK, TICK + 1, 10 * TICK, 1000 * TICK, HORIZON - 2 * TICK
	};

	(void)state;
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		uint64_t up;

		setup(NULL);
		uroce_wheel_file(&wheel, &wqp[0], START + delays[i]);
		up = comes_up(&wqp[0], START, TICK / 8);
		assert_true(up >= START + delays[i]);
		assert_true(up <= START + delays[i] + TICK + TICK / 8);
		assert_int_equal(wqp[0].timer_tick, UROCE_NEVER);
	}
}

static void
wheel_take__beyond_the_horizon_comes_up_early(void **state)
{
	uint64_t up;

	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], START + 10 * HORIZON);
	up = comes_up(&wqp[0], START, TICK);
	assert_true(up <= START + HORIZON + TICK);
	assert_true(up >= START + HORIZON - 2 * TICK);
}

static void
wheel_take__a_past_deadline_comes_up_at_the_next_tick(void **state)
{
	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], START - 5 * TICK);
	assert_null(uroce_wheel_take(&wheel, START));
	assert_ptr_equal(uroce_wheel_take(&wheel, START + TICK), &wqp[0]);
}

static void
wheel_file__earlier_moves_later_stays(void **state)
{
	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], START + 100 * TICK);
	uroce_wheel_file(&wheel, &wqp[0], START + 200 * TICK);
	assert_true(comes_up(&wqp[0], START, TICK) <= START + 101 * TICK);

	setup(NULL);
	uroce_wheel_file(&wheel, &wqp[0], START + 100 * TICK);
	uroce_wheel_file(&wheel, &wqp[0], START + 50 * TICK);
	assert_true(comes_up(&wqp[0], START, TICK) <= START + 51 * TICK);
	assert_null(uroce_wheel_take(&wheel, START + 300 * TICK));
}

static void
wheel_file__never_is_not_filed(void **state)
{
	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], UROCE_NEVER);
	assert_int_equal(wheel.nb_filed, 0);
	assert_int_equal(uroce_wheel_next_ns(&wheel), UROCE_NEVER);
}

static void
wheel_remove__from_any_place_of_a_slot(void **state)
{
	(void)state;
	for (unsigned gone = 0; gone < 3; gone++) {
		unsigned nb = 0;
		struct uroce_worker_qp *got;

		setup(NULL);
		for (unsigned i = 0; i < 3; i++)
			uroce_wheel_file(&wheel, &wqp[i], START + 10 * TICK);
		uroce_wheel_remove(&wheel, &wqp[gone]);
		uroce_wheel_remove(&wheel, &wqp[gone]);
		while ((got = uroce_wheel_take(&wheel, START + 20 * TICK))) {
			assert_ptr_not_equal(got, &wqp[gone]);
			nb++;
		}
		assert_int_equal(nb, 2);
	}
}

/*
 * If the wheel was not checked for a long time, one check must expire all timers that are due. A
 * timer that is set after this check must not expire early.
 */
static void
wheel_take__after_a_long_silence(void **state)
{
	const uint64_t late = START + 5 * HORIZON;
	unsigned nb = 0;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		uroce_wheel_file(&wheel, &wqp[i], START + (i + 1) * (HORIZON / 65));
	while (uroce_wheel_take(&wheel, late))
		nb++;
	assert_int_equal(nb, 64);
	assert_null(uroce_wheel_take(&wheel, late));
	uroce_wheel_file(&wheel, &wqp[0], late + 3 * TICK);
	assert_null(uroce_wheel_take(&wheel, late + 2 * TICK));
	assert_ptr_equal(uroce_wheel_take(&wheel, late + 5 * TICK), &wqp[0]);
}

/*
 * A timer that is set again after it has expired in a check must not expire again in the same
 * check, even if the check is late.
 */
static void
wheel_take__refiled_waits_for_another_tick(void **state)
{
	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], START + TICK);
	assert_ptr_equal(uroce_wheel_take(&wheel, START + 7 * TICK), &wqp[0]);
	uroce_wheel_file(&wheel, &wqp[0], START + 2 * TICK);
	assert_null(uroce_wheel_take(&wheel, START + 7 * TICK));
	assert_ptr_equal(uroce_wheel_take(&wheel, START + 8 * TICK), &wqp[0]);
}

static void
wheel_next_ns__is_when_a_take_succeeds(void **state)
{
	uint64_t next;

	(void)state;
	uroce_wheel_file(&wheel, &wqp[0], START + 1234 * TICK + 5);
	uroce_wheel_file(&wheel, &wqp[1], START + 2345 * TICK);
	next = uroce_wheel_next_ns(&wheel);
	assert_null(uroce_wheel_take(&wheel, next - 1));
	assert_ptr_equal(uroce_wheel_take(&wheel, next), &wqp[0]);
}

/* Random operations are made on the wheel and on a plain array. The results must be the same. */
static void
wheel__random_operations_agree_with_a_list(void **state)
{
	uint64_t deadline[64], now = START;

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 64; i++)
		deadline[i] = UROCE_NEVER;
	for (unsigned n = 0; n < 200000; n++) {
		const unsigned i = (unsigned)rand() % 64;
		struct uroce_worker_qp *got;

		if (rand() % 4 == 0) {
			uroce_wheel_remove(&wheel, &wqp[i]);
			deadline[i] = UROCE_NEVER;
		} else if (deadline[i] == UROCE_NEVER) {
			deadline[i] = now + (uint64_t)rand() % (HORIZON - 2 * TICK);
			uroce_wheel_file(&wheel, &wqp[i], deadline[i]);
		}
		now += (uint64_t)rand() % (2 * TICK);
		while ((got = uroce_wheel_take(&wheel, now))) {
			assert_true(deadline[got - wqp] <= now);
			deadline[got - wqp] = UROCE_NEVER;
		}
		for (unsigned k = 0; k < 64; k++)
			assert_true(deadline[k] == UROCE_NEVER || deadline[k] + TICK >= now);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(wheel_take__not_before_the_deadline_and_within_a_tick,
				       setup),
		cmocka_unit_test_setup(wheel_take__beyond_the_horizon_comes_up_early, setup),
		cmocka_unit_test_setup(wheel_take__a_past_deadline_comes_up_at_the_next_tick,
				       setup),
		cmocka_unit_test_setup(wheel_file__earlier_moves_later_stays, setup),
		cmocka_unit_test_setup(wheel_file__never_is_not_filed, setup),
		cmocka_unit_test_setup(wheel_remove__from_any_place_of_a_slot, setup),
		cmocka_unit_test_setup(wheel_take__after_a_long_silence, setup),
		cmocka_unit_test_setup(wheel_take__refiled_waits_for_another_tick, setup),
		cmocka_unit_test_setup(wheel_next_ns__is_when_a_take_succeeds, setup),
		cmocka_unit_test_setup(wheel__random_operations_agree_with_a_list, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
