/* SPDX-License-Identifier: BSD-3-Clause */

/* The estimator of the round-trip time, and the timeouts that are derived from it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "transport/recovery/rtt.h"

#define T 65536

static void
sample(struct uroce_rtt *rtt, uint64_t ns, bool is_doubtful)
{
	uroce_rtt_begin(rtt, 7, 1000);
	rtt->is_ambiguous = is_doubtful;
	uroce_rtt_update(rtt, ns);
	assert_int_equal(rtt->sample_ns, 0);
}

static void
rtt_update__first_sample_is_the_mean(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	sample(&rtt, 8000, false);
	assert_int_equal(rtt.srtt_ns, 8000);
	assert_int_equal(rtt.rttvar_ns, 4000);
	assert_int_equal(rtt.min_rtt_ns, 8000);
	sample(&rtt, 16000, false);
	assert_int_equal(rtt.srtt_ns, 9000);
	assert_int_equal(rtt.min_rtt_ns, 8000);
}

static void
rtt_update__doubtful_sample_is_a_bound_until_there_is_a_better_one(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	sample(&rtt, 8000, false);
	sample(&rtt, 80000, true);
	assert_int_equal(rtt.srtt_ns, 8000);
	assert_int_equal(uroce_rtt_pto_ns(&rtt), 100000);
	sample(&rtt, 8000, false);
	assert_true(uroce_rtt_pto_ns(&rtt) < 32000);
}

/*
 * The shortest round trip is 8000 ns. A sample that is longer by more than half of it means
 * queueing.
 */
static void
rtt_update__long_samples_say_that_packets_stand_in_line(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	sample(&rtt, 8000, false);
	assert_false(rtt.is_queueing);
	sample(&rtt, 80000, true); /* an ambiguous sample, which is ignored */
	assert_false(rtt.is_queueing);
	sample(&rtt, 12000, false);
	assert_false(rtt.is_queueing);
	sample(&rtt, 12003, false);
	assert_true(rtt.is_queueing);
	sample(&rtt, 8000, false);
	assert_false(rtt.is_queueing);
}

static void
rtt_update__what_comes_too_soon_after_it_was_sent_again_says_nothing(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	sample(&rtt, 8000, false);
	uroce_rtt_begin(&rtt, 7, 1000);
	rtt.is_retransmit = true;
	uroce_rtt_update(&rtt, 7999);
	assert_int_equal(rtt.sample_ns, 0);
	assert_int_equal(rtt.min_rtt_ns, 8000);
	assert_int_equal(rtt.srtt_ns, 8000);
	uroce_rtt_begin(&rtt, 7, 1000);
	rtt.is_retransmit = true;
	uroce_rtt_update(&rtt, 16000);
	assert_int_equal(rtt.srtt_ns, 9000);
	/* a shorter sample of a new packet: the path has become shorter */
	sample(&rtt, 4000, false);
	assert_int_equal(rtt.min_rtt_ns, 4000);
}

/*
 * Add a sample of a new packet or of a retransmission.
 * @return the shortest round trip after the sample
 */
static unsigned
shortest_after(struct uroce_rtt *rtt, uint64_t ns, bool is_retransmit)
{
	rtt->is_retransmit = is_retransmit;
	rtt->is_ambiguous = false;
	(void)uroce_rtt_update(rtt, ns);
	return rtt->min_rtt_ns;
}

static void
rtt_update__the_shortest_is_guessed_from_what_is_sent_again(void **state)
{
	struct uroce_rtt rtt = { .srtt_ns = 7000, .rttvar_ns = 100 };

	(void)state;
	/*
	 * min_rtt_ns from retransmissions is a guess, which decreases with shorter samples; a
	 * sample of less than half belongs to the original packet
	 */
	assert_int_equal(shortest_after(&rtt, 1000, true), 1000);
	assert_int_equal(shortest_after(&rtt, 600, true), 600);
	assert_int_equal(shortest_after(&rtt, 299, true), 600);
	/*
	 * after a sample of a new packet min_rtt_ns counts as measured, so shorter samples of
	 * retransmissions are ignored
	 */
	assert_int_equal(shortest_after(&rtt, 1200, false), 600);
	assert_int_equal(shortest_after(&rtt, 599, true), 600);
	assert_int_equal(shortest_after(&rtt, 500, false), 500);
	rtt.min_rtt_ns = 0;
	assert_int_equal(shortest_after(&rtt, 10, true), 10);
	assert_int_equal(shortest_after(&rtt, 500, false), 500);
}

static void
rtt_timeout__is_what_the_attribute_says_or_up_to_four_times_that(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	sample(&rtt, 2000, false);
	assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 0), T);
	rtt = (struct uroce_rtt){ 0 };
	sample(&rtt, T / 2, false);
	assert_true(uroce_rtt_timeout_ns(&rtt, T, 0) > 2 * T);
	assert_true(uroce_rtt_timeout_ns(&rtt, T, 0) < 4 * T);
	sample(&rtt, 100 * T, true);
	assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 0), 4 * T);
}

static void
rtt_timeout__doubles_in_a_row(void **state)
{
	struct uroce_rtt rtt = { 0 };

	(void)state;
	for (int is_known = 0; is_known <= 1; is_known++) {
		assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 0), T);
		assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 1), 2 * T);
		assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 2), 4 * T);
		assert_int_equal(uroce_rtt_timeout_ns(&rtt, T, 7), 4 * T);
		sample(&rtt, 2000, false);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rtt_update__first_sample_is_the_mean),
		cmocka_unit_test(
			rtt_update__doubtful_sample_is_a_bound_until_there_is_a_better_one),
		cmocka_unit_test(rtt_update__long_samples_say_that_packets_stand_in_line),
		cmocka_unit_test(
			rtt_update__what_comes_too_soon_after_it_was_sent_again_says_nothing),
		cmocka_unit_test(rtt_update__the_shortest_is_guessed_from_what_is_sent_again),
		cmocka_unit_test(rtt_timeout__is_what_the_attribute_says_or_up_to_four_times_that),
		cmocka_unit_test(rtt_timeout__doubles_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
