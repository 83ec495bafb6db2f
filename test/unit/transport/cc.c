/* SPDX-License-Identifier: BSD-3-Clause */

/* Congestion control without a QP: the arithmetic of DCQCN, the pacer, the notification point. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/congestion/cc.h"

#define US    UINT64_C(1000)
#define MBPS  UINT64_C(1000000)
#define GBPS  UINT64_C(1000000000)
#define NEVER UINT64_MAX
#define T0    (UINT64_C(7) * 1000 * US) /* time at the beginning of a test */

static struct uroce_cc_conf conf;
static struct uroce_cc cc;

/* Setup function: DCQCN with the published parameters, at a link of 100 Gb/s. */
static int
begin(void **state)
{
	(void)state;
	uroce_cc_conf_init(&conf);
	assert_true(uroce_cc_find("dcqcn", &conf.ops));
	conf.rate_mbps = 100000;
	conf.reduce_us = 0;
	assert_null(uroce_cc_conf_check(&conf));
	uroce_cc_init(&cc, &conf);
	return 0;
}

/*
 * A CNP arrives; a byte was sent since the previous CNP.
 * @return whether the CNP has an effect
 */
static bool
notify(uint64_t now_ns)
{
	cc.nb_bytes++;
	return uroce_cc_notified(&cc, now_ns);
}

/* Send one frame, which the pacer must allow at this time. */
static void
send(uint32_t len, uint64_t now_ns)
{
	if (cc.is_limited)
		uroce_cc_begin(&cc, now_ns);
	assert_true(uroce_cc_may_send(&cc, now_ns));
	if (cc.is_limited)
		uroce_cc_charge(&cc, len, now_ns);
}

static void
cc_find__names(void **state)
{
	const struct uroce_cc_ops *ops = NULL;

	(void)state;
	assert_true(uroce_cc_find("dcqcn", &ops));
	assert_string_equal(ops->name, "dcqcn");
	assert_true(uroce_cc_find("none", &ops));
	assert_null(ops);
	assert_false(uroce_cc_find("cubic", &ops));
	assert_string_equal(uroce_cc_names(), "none or dcqcn");
}

static void
cc_conf__defaults_are_those_of_the_paper(void **state)
{
	(void)state;
	uroce_cc_conf_init(&conf);
	assert_null(conf.ops);
	assert_int_equal(conf.rate_mbps, 0);
	assert_int_equal(conf.ai_mbps, 40);
	assert_int_equal(conf.gain, 256);
	assert_int_equal(conf.alpha_us, 55);
	assert_int_equal(conf.timer_us, 55);
	assert_int_equal(conf.byte_kb, 10000);
	assert_int_equal(conf.stages, 5);
	assert_int_equal(conf.cnp_us, 50);
	assert_true(conf.reduce_us < conf.cnp_us);
	assert_null(uroce_cc_conf_check(&conf));
}

static void
cc_conf_check__each_parameter_has_a_range(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UROCE_CC_PARAMS; i++) {
		const struct uroce_cc_param *param = &uroce_cc_params[i];
		uint32_t *field = (uint32_t *)(void *)((uint8_t *)&conf + param->offset);

		uroce_cc_conf_init(&conf);
		/* set the other parameters so that the tested one is not restricted by them */
		conf.min_mbps = 1;
		conf.cnp_us = 1;
		conf.alpha_us = 1000000;
		*field = param->max;
		if (field == &conf.min_mbps)
			conf.rate_mbps = param->max;
		if (field != &conf.cnp_us)
			assert_null(uroce_cc_conf_check(&conf));
		*field = param->max + 1;
		assert_non_null(uroce_cc_conf_check(&conf));
		if (!param->min)
			continue;
		*field = param->min - 1;
		assert_non_null(uroce_cc_conf_check(&conf));
	}
}

static void
cc_conf_check__parameters_that_bound_each_other(void **state)
{
	(void)state;
	conf.min_mbps = 100001;
	assert_non_null(strstr(uroce_cc_conf_check(&conf), "cc_min_mbps"));
	conf.min_mbps = 100000;
	assert_null(uroce_cc_conf_check(&conf));
	/* with an unknown rate of the port, a rate of 100 Gb/s is assumed */
	conf.rate_mbps = 0;
	assert_null(uroce_cc_conf_check(&conf));
	conf.min_mbps = 100001;
	assert_non_null(uroce_cc_conf_check(&conf));
	conf.min_mbps = 10;
	conf.alpha_us = conf.cnp_us;
	assert_non_null(strstr(uroce_cc_conf_check(&conf), "cc_alpha_us"));
	conf.alpha_us++;
	assert_null(uroce_cc_conf_check(&conf));
}

static void
cc__none_does_nothing(void **state)
{
	(void)state;
	conf.ops = NULL;
	uroce_cc_init(&cc, &conf);
	assert_false(uroce_cc_is_reacting(&cc));
	assert_false(notify(T0));
	uroce_cc_marked(&cc, T0);
	assert_false(cc.has_cnp);
	assert_false(cc.is_limited);
	assert_true(uroce_cc_may_send(&cc, T0));
	uroce_cc_init(&cc, NULL);
	assert_false(uroce_cc_is_reacting(&cc));
}

static void
dcqcn__full_rate_until_a_cnp_comes(void **state)
{
	(void)state;
	assert_true(uroce_cc_is_reacting(&cc));
	for (unsigned i = 0; i < 1000; i++)
		send(4096, T0);
	assert_false(cc.is_limited);
	assert_int_equal(cc.pace_deadline, NEVER);
}

static void
dcqcn_notified__rate_is_halved_and_alpha_stays_one(void **state)
{
	(void)state;
	assert_true(notify(T0));
	assert_true(cc.is_limited);
	assert_int_equal(cc.target_bps, 100 * GBPS);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	assert_int_equal(cc.alpha, UROCE_CC_ALPHA_ONE);
	notify(T0 + 50 * US);
	assert_int_equal(cc.target_bps, 50 * GBPS);
	assert_int_equal(cc.rate_bps, 25 * GBPS);
}

static void
dcqcn_notified__never_below_the_least_rate(void **state)
{
	(void)state;
	conf.min_mbps = 300;
	for (unsigned i = 0; i < 100; i++)
		notify(T0 + i * 50 * US);
	assert_int_equal(cc.rate_bps, 300 * MBPS);
}

/*
 * CNPs may arrive a little closer together than the peer sent them. A CNP that arrives less than
 * reduce_us after the last effective one is ignored.
 */
static void
dcqcn_notified__many_at_once_count_as_one(void **state)
{
	(void)state;
	conf.reduce_us = 25;
	for (unsigned i = 0; i < 14; i++)
		assert_int_equal(notify(T0 + i), i == 0);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	assert_false(notify(T0 + 25 * US - 1));
	assert_true(notify(T0 + 25 * US));
	assert_int_equal(cc.rate_bps, 25 * GBPS);
	/* a CNP that is ignored does not delay the effect of the next one */
	assert_false(notify(T0 + 49 * US));
	assert_true(notify(T0 + 50 * US));
}

static void
dcqcn_notified__nothing_was_sent_since_the_last(void **state)
{
	(void)state;
	assert_true(uroce_cc_notified(&cc, T0));
	for (unsigned i = 1; i < 1000; i++)
		assert_false(uroce_cc_notified(&cc, T0 + i * 50 * US));
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	send(1, T0 + 50000 * US);
	assert_true(uroce_cc_notified(&cc, T0 + 50000 * US));
	assert_false(uroce_cc_notified(&cc, T0 + 50050 * US));
}

/*
 * At the full rate bytes are not counted, so the first CNP always has an effect, also if nothing
 * was sent.
 */
static void
dcqcn_notified__at_full_rate_the_first_is_heeded(void **state)
{
	(void)state;
	assert_true(uroce_cc_notified(&cc, T0));
	uroce_cc_begin(&cc, T0 + 1000000 * US);
	assert_false(cc.is_limited);
	assert_true(uroce_cc_notified(&cc, T0 + 1000000 * US));
	assert_false(uroce_cc_notified(&cc, T0 + 1000050 * US));
}

static void
dcqcn_alpha__sinks_without_cnps_and_makes_cuts_smaller(void **state)
{
	const uint64_t quiet_ns = 256 * 55 * US;

	(void)state;
	notify(T0);
	/*
	 * after 256 periods without a CNP alpha is (255/256)^256, which is 0.367; then the CNP
	 * raises alpha
	 */
	notify(T0 + quiet_ns);
	assert_in_range(cc.alpha, UROCE_CC_ALPHA_ONE * 368 / 1000, UROCE_CC_ALPHA_ONE * 371 / 1000);
	/* the CNP has cut the rate by half of the alpha before the CNP */
	assert_in_range(cc.rate_bps * 1000 / cc.target_bps, 815, 818);
	/* the next CNP comes before the next period ends, so only the CNP changes alpha */
	const uint32_t alpha = cc.alpha;

	notify(T0 + quiet_ns + 55 * US - 1);
	assert_int_equal(cc.alpha, alpha + (UROCE_CC_ALPHA_ONE - alpha) / 256);
}

static void
dcqcn_alpha__is_nothing_after_a_long_time(void **state)
{
	(void)state;
	notify(T0);
	notify(T0 + 3600 * GBPS);
	assert_int_equal(cc.target_bps, 100 * GBPS);
	assert_int_equal(cc.rate_bps, 100 * GBPS);
	assert_int_equal(cc.alpha, UROCE_CC_ALPHA_ONE / 256);
}

static void
dcqcn_timer__fast_recovery_then_additive_increase(void **state)
{
	/*
	 * rates after the first four events: each goes half the way to the target; the fifth event
	 * raises the target
	 */
	static const uint64_t rates_mbps[] = { 75000, 87500, 93750, 96875 };

	(void)state;
	notify(T0);
	notify(T0);
	cc.target_bps = 100 * GBPS;
	cc.rate_bps = 50 * GBPS;
	conf.rate_mbps = 200000;
	for (unsigned i = 0; i < 4; i++) {
		uroce_cc_begin(&cc, T0 + (i + 1) * 55 * US - 1);
		assert_int_equal(cc.nb_timer, i);
		uroce_cc_begin(&cc, T0 + (i + 1) * 55 * US);
		assert_int_equal(cc.rate_bps, rates_mbps[i] * MBPS);
		assert_int_equal(cc.target_bps, 100 * GBPS);
	}
	uroce_cc_begin(&cc, T0 + 5 * 55 * US);
	assert_int_equal(cc.target_bps, 100040 * MBPS);
	assert_int_equal(cc.rate_bps, (100040 + 96875) * MBPS / 2);
	uroce_cc_begin(&cc, T0 + 6 * 55 * US);
	assert_int_equal(cc.target_bps, 100080 * MBPS);
}

static void
dcqcn_timer__begins_again_with_each_cnp(void **state)
{
	(void)state;
	notify(T0);
	uroce_cc_begin(&cc, T0 + 300 * US);
	assert_int_equal(cc.nb_timer, 5);
	notify(T0 + 300 * US);
	assert_int_equal(cc.nb_timer, 0);
	uroce_cc_begin(&cc, T0 + 354 * US);
	assert_int_equal(cc.nb_timer, 0);
	uroce_cc_begin(&cc, T0 + 355 * US);
	assert_int_equal(cc.nb_timer, 1);
}

static void
dcqcn_bytes__count_like_the_timer(void **state)
{
	(void)state;
	conf.byte_kb = 10;
	notify(T0);
	uroce_cc_charge(&cc, 9999, T0);
	assert_int_equal(cc.nb_bytes, 0);
	uroce_cc_charge(&cc, 1, T0);
	assert_int_equal(cc.nb_bytes, 1);
	assert_int_equal(cc.rate_bps, 75 * GBPS);
	/* bytes beyond an event of the byte counter count for the next event */
	uroce_cc_charge(&cc, 4000, T0);
	uroce_cc_charge(&cc, 4000, T0);
	uroce_cc_charge(&cc, 4000, T0);
	assert_int_equal(cc.nb_bytes, 2);
	uroce_cc_charge(&cc, 8000, T0);
	assert_int_equal(cc.nb_bytes, 3);
}

static void
dcqcn__hyper_increase_when_time_and_volume_agree(void **state)
{
	(void)state;
	conf.byte_kb = 10;
	conf.rate_mbps = 400000;
	conf.ai_mbps = 10;
	conf.hai_mbps = 100;
	notify(T0);
	cc.target_bps = 100 * GBPS;
	cc.rate_bps = 100 * GBPS;
	for (unsigned i = 0; i < 6; i++)
		uroce_cc_charge(&cc, 10000, T0);
	/*
	 * events 5 and 6 of the byte counter were additive increases, because the timer has had no
	 * event
	 */
	assert_int_equal(cc.target_bps, 100020 * MBPS);
	uroce_cc_begin(&cc, T0 + 5 * 55 * US);
	assert_int_equal(cc.target_bps, 100070 * MBPS);
	/*
	 * both counters exceed 5 now: each event raises the target by 100 Mb/s times the smaller
	 * excess, which is 1, 1, 2
	 */
	uroce_cc_begin(&cc, T0 + 6 * 55 * US);
	assert_int_equal(cc.target_bps, 100170 * MBPS);
	uroce_cc_charge(&cc, 10000, T0);
	assert_int_equal(cc.target_bps, 100270 * MBPS);
	uroce_cc_begin(&cc, T0 + 7 * 55 * US);
	assert_int_equal(cc.target_bps, 100470 * MBPS);
}

static void
dcqcn__at_full_rate_it_is_not_limited_any_more(void **state)
{
	uint64_t now_ns = T0;

	(void)state;
	notify(now_ns);
	for (unsigned i = 0; i < 100 && cc.is_limited; i++) {
		const uint64_t before_bps = cc.rate_bps;

		now_ns += 55 * US;
		uroce_cc_begin(&cc, now_ns);
		assert_true(cc.rate_bps > before_bps);
	}
	assert_false(cc.is_limited);
	assert_int_equal(cc.rate_bps, 100 * GBPS);
	/* alpha has decreased since the last cut, so the next cut is less than half */
	notify(now_ns);
	assert_in_range(cc.rate_bps, 50 * GBPS + 1, 60 * GBPS);
}

/* One call after a long time has the same result as a call after each period. */
static void
dcqcn_advance__leaps_are_steps(void **state)
{
	static const struct {
		uint32_t ai_mbps, stages, nb_bytes, periods;
	} rows[] = {
		{ 40, 5, 0, 1 },    { 40, 5, 0, 64 },    { 40, 5, 0, 70 },   { 40, 5, 0, 71 },
		{ 40, 5, 0, 500 },  { 1, 5, 0, 9000 },   { 40, 90, 0, 400 }, { 7, 5, 9, 300 },
		{ 7, 90, 80, 300 }, { 7, 90, 100, 300 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_cc slow;

		conf.ai_mbps = rows[i].ai_mbps;
		conf.hai_mbps = 1;
		conf.stages = rows[i].stages;
		uroce_cc_init(&cc, &conf);
		for (unsigned k = 0; k < 8; k++)
			notify(T0);
		cc.nb_bytes = (uint16_t)rows[i].nb_bytes;
		slow = cc;
		for (uint32_t k = 1; k <= rows[i].periods && slow.is_limited; k++)
			uroce_cc_begin(&slow, T0 + k * 55 * US);
		uroce_cc_begin(&cc, T0 + rows[i].periods * 55 * US);
		assert_int_equal(cc.rate_bps, slow.rate_bps);
		assert_int_equal(cc.target_bps, slow.target_bps);
		assert_int_equal(cc.is_limited, slow.is_limited);
	}
}

static void
dcqcn_advance__a_clock_that_is_behind_changes_nothing(void **state)
{
	(void)state;
	notify(T0);
	uroce_cc_begin(&cc, T0 - 1);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
	assert_false(notify(T0 - 1));
	assert_int_equal(cc.rate_bps, 50 * GBPS);
}

static void
pacer__packets_leave_at_the_rate(void **state)
{
	(void)state;
	notify(T0);
	/* at 50 Gb/s, 5000 bytes take 800 ns */
	send(5000, T0);
	assert_false(uroce_cc_may_send(&cc, T0 + 799));
	assert_true(uroce_cc_may_send(&cc, T0 + 800));
	send(5000, T0 + 800);
	assert_false(uroce_cc_may_send(&cc, T0 + 1599));
	/* next_ns is rounded up: at 50 Gb/s, 1 byte takes 0.16 ns */
	send(1, T0 + 1600);
	assert_int_equal(cc.next_ns, T0 + 1601);
}

static void
pacer__what_was_late_is_caught_up_with_up_to_the_burst(void **state)
{
	uint32_t sent = 0;

	(void)state;
	conf.burst_kb = 20;
	conf.timer_us = 1000000;
	notify(T0);
	/*
	 * in a millisecond without traffic 6.25 MB might be sent, but only the burst of 20 kB is
	 * credited
	 */
	uroce_cc_begin(&cc, T0 + 1000 * US);
	while (uroce_cc_may_send(&cc, T0 + 1000 * US)) {
		uroce_cc_charge(&cc, 1000, T0 + 1000 * US);
		sent += 1000;
	}
	assert_int_equal(sent, 21000);
}

static void
pacer__a_rising_rate_does_not_raise_what_was_late(void **state)
{
	(void)state;
	notify(T0);
	cc.rate_bps = 10 * GBPS;
	cc.target_bps = 30 * GBPS;
	/*
	 * the credit is 12.5 kB: 10 us at 10 Gb/s, but 5 us at 20 Gb/s, to which the next event
	 * raises the rate
	 */
	cc.next_ns = T0 + 45 * US;
	uroce_cc_begin(&cc, T0 + 55 * US);
	assert_int_equal(cc.rate_bps, 20 * GBPS);
	assert_int_equal(cc.next_ns, T0 + 50 * US);
}

static void
pacer__a_rising_rate_shortens_the_wait(void **state)
{
	(void)state;
	notify(T0);
	cc.rate_bps = 10 * MBPS;
	cc.target_bps = 30 * MBPS;
	/*
	 * at 10 Mb/s, 1250 bytes take a millisecond; the timer is set to the earlier time of the
	 * next rate increase
	 */
	send(1250, T0);
	assert_int_equal(cc.next_ns, T0 + 1000 * US);
	uroce_cc_wait(&cc);
	assert_int_equal(cc.pace_deadline, T0 + 55 * US);
	uroce_cc_begin(&cc, T0 + 55 * US);
	assert_int_equal(cc.rate_bps, 20 * MBPS);
	/* the rate has doubled, so half of the remaining 945 us is left */
	assert_int_equal(cc.next_ns, T0 + 55 * US + 472500);
	/*
	 * if the next packet may be sent before the next rate increase, the timer is set to the
	 * time of the packet
	 */
	cc.next_ns = T0 + 60 * US;
	uroce_cc_wait(&cc);
	assert_int_equal(cc.pace_deadline, T0 + 60 * US);
}

static void
pacer__a_cut_makes_the_wait_longer(void **state)
{
	(void)state;
	notify(T0);
	/* 6250 bytes take 1 us at 50 Gb/s, and 2 us after the CNP halves the rate */
	send(6250, T0);
	assert_int_equal(cc.next_ns, T0 + 1000);
	notify(T0);
	assert_int_equal(cc.rate_bps, 25 * GBPS);
	assert_int_equal(cc.next_ns, T0 + 2000);
}

/*
 * When the rate falls, a credit of the same number of bytes becomes a longer time, which is
 * subtracted from the present time. Shortly after the clock has begun at 0, the difference must not
 * underflow.
 */
static void
pacer__a_clock_that_has_just_begun_loses_nothing(void **state)
{
	(void)state;
	notify(2 * US);
	for (uint64_t now_ns = 4 * US; now_ns < 400 * US; now_ns += 2 * US) {
		notify(now_ns);
		assert_true(cc.next_ns <= now_ns);
	}
	assert_int_equal(cc.rate_bps, conf.min_mbps * MBPS);
	send(1000, 500 * US);
}

static void
pacer__a_full_second_of_frames_is_a_second_of_the_rate(void **state)
{
	uint64_t now_ns = T0, bytes = 0;

	(void)state;
	conf.timer_us = 1000000;
	conf.byte_kb = 1000000;
	notify(T0);
	cc.rate_bps = GBPS;
	/* poll the pacer every 10 us only, as a worker with much other work does */
	for (unsigned i = 0; i < 100000 - 1; i++, now_ns += 10 * US) {
		uroce_cc_begin(&cc, now_ns);
		while (uroce_cc_may_send(&cc, now_ns)) {
			uroce_cc_charge(&cc, 1024, now_ns);
			bytes += 1024;
		}
	}
	assert_in_range(bytes, 124900000, 125000000 + 1024);
}

static void
notification__at_once_then_not_before_its_time(void **state)
{
	(void)state;
	uroce_cc_marked(&cc, T0);
	assert_true(cc.has_cnp);
	uroce_cc_cnp_sent(&cc, T0);
	assert_false(cc.has_cnp);
	assert_int_equal(cc.cnp_deadline, NEVER);
	/*
	 * after a second mark the CNP is sent as soon as the interval has passed, without a further
	 * mark
	 */
	uroce_cc_marked(&cc, T0 + 1);
	assert_false(cc.has_cnp);
	assert_int_equal(cc.cnp_deadline, T0 + 50 * US);
	uroce_cc_marked(&cc, T0 + 2);
	uroce_cc_expire(&cc, T0 + 50 * US - 1);
	assert_false(cc.has_cnp);
	uroce_cc_expire(&cc, T0 + 50 * US);
	assert_true(cc.has_cnp);
	assert_int_equal(cc.cnp_deadline, NEVER);
	uroce_cc_cnp_sent(&cc, T0 + 60 * US);
	/* no mark has arrived since the last CNP, so no CNP is sent */
	uroce_cc_expire(&cc, T0 + 500 * US);
	assert_false(cc.has_cnp);
	uroce_cc_marked(&cc, T0 + 110 * US - 1);
	assert_false(cc.has_cnp);
	uroce_cc_expire(&cc, T0 + 110 * US);
	assert_true(cc.has_cnp);
}

static void
cc_stop__nothing_is_left(void **state)
{
	(void)state;
	notify(T0);
	uroce_cc_marked(&cc, T0);
	cc.pace_deadline = T0;
	uroce_cc_stop(&cc);
	assert_false(cc.is_limited);
	assert_false(cc.has_cnp);
	assert_int_equal(cc.pace_deadline, NEVER);
	assert_int_equal(cc.cnp_deadline, NEVER);
	assert_true(uroce_cc_is_reacting(&cc));
	/* after uroce_cc_stop() the next CNP acts like the first CNP of a QP */
	notify(T0 + 1);
	assert_int_equal(cc.rate_bps, 50 * GBPS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cc_find__names),
		cmocka_unit_test(cc_conf__defaults_are_those_of_the_paper),
		cmocka_unit_test(cc_conf_check__each_parameter_has_a_range),
		cmocka_unit_test_setup(cc_conf_check__parameters_that_bound_each_other, begin),
		cmocka_unit_test_setup(cc__none_does_nothing, begin),
		cmocka_unit_test_setup(dcqcn__full_rate_until_a_cnp_comes, begin),
		cmocka_unit_test_setup(dcqcn_notified__rate_is_halved_and_alpha_stays_one, begin),
		cmocka_unit_test_setup(dcqcn_notified__never_below_the_least_rate, begin),
		cmocka_unit_test_setup(dcqcn_notified__many_at_once_count_as_one, begin),
		cmocka_unit_test_setup(dcqcn_notified__nothing_was_sent_since_the_last, begin),
		cmocka_unit_test_setup(dcqcn_notified__at_full_rate_the_first_is_heeded, begin),
		cmocka_unit_test_setup(dcqcn_alpha__sinks_without_cnps_and_makes_cuts_smaller,
				       begin),
		cmocka_unit_test_setup(dcqcn_alpha__is_nothing_after_a_long_time, begin),
		cmocka_unit_test_setup(dcqcn_timer__fast_recovery_then_additive_increase, begin),
		cmocka_unit_test_setup(dcqcn_timer__begins_again_with_each_cnp, begin),
		cmocka_unit_test_setup(dcqcn_bytes__count_like_the_timer, begin),
		cmocka_unit_test_setup(dcqcn__hyper_increase_when_time_and_volume_agree, begin),
		cmocka_unit_test_setup(dcqcn__at_full_rate_it_is_not_limited_any_more, begin),
		cmocka_unit_test_setup(dcqcn_advance__leaps_are_steps, begin),
		cmocka_unit_test_setup(dcqcn_advance__a_clock_that_is_behind_changes_nothing,
				       begin),
		cmocka_unit_test_setup(pacer__packets_leave_at_the_rate, begin),
		cmocka_unit_test_setup(pacer__what_was_late_is_caught_up_with_up_to_the_burst,
				       begin),
		cmocka_unit_test_setup(pacer__a_rising_rate_does_not_raise_what_was_late, begin),
		cmocka_unit_test_setup(pacer__a_rising_rate_shortens_the_wait, begin),
		cmocka_unit_test_setup(pacer__a_cut_makes_the_wait_longer, begin),
		cmocka_unit_test_setup(pacer__a_clock_that_has_just_begun_loses_nothing, begin),
		cmocka_unit_test_setup(pacer__a_full_second_of_frames_is_a_second_of_the_rate,
				       begin),
		cmocka_unit_test_setup(notification__at_once_then_not_before_its_time, begin),
		cmocka_unit_test_setup(cc_stop__nothing_is_left, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
