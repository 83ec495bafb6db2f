/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion control algorithms, and the notification point and the pacer, which all algorithms
 * share.
 *
 * When a QP is used again after a pause, many periods of the increase timer may have passed. The
 * periods are processed one by one until SKIP_AFTER of them in a row have had the same effect. From
 * then on the difference between target and rate no longer changes, and one multiplication gives
 * the result of all other periods.
 */
#include "transport/congestion/cc.h"

#include <stddef.h>
#include <string.h>

#define NEVER        UINT64_MAX
#define NS_PER_US    UINT64_C(1000)
#define BPS_PER_MBPS UINT64_C(1000000)
/* The rate in Mb/s that is assumed if the rate of the port is not known. */
#define RATE_UNKNOWN 100000
#define SKIP_AFTER   64

/* clang-format off */
#define PARAM(field, low, high, preset, words) \
	{ .name = #field, .offset = offsetof(struct uroce_cc_conf, field), \
	  .min = (low), .max = (high), .value = (preset), .text = words }

const struct uroce_cc_param uroce_cc_params[UROCE_CC_PARAMS] = {
	PARAM(rate_mbps, 0, 1000000, 0, "full rate in Mb/s, 0: that of the port"),
	PARAM(min_mbps, 1, 1000000, 10, "minimum rate in Mb/s"),
	PARAM(ai_mbps, 1, 100000, 40, "additive increase in Mb/s"),
	PARAM(hai_mbps, 1, 100000, 200, "hyper increase in Mb/s"),
	PARAM(gain, 2, 65536, 256, "inverse of the gain g of alpha"),
	PARAM(alpha_us, 1, 1000000, 55, "microseconds without a CNP after which alpha decreases"),
	PARAM(timer_us, 1, 1000000, 55, "microseconds between increases by time"),
	PARAM(byte_kb, 10, 4000000, 10000, "kB sent between increases by volume"),
	PARAM(stages, 1, 1000, 5, "stages of fast recovery"),
	PARAM(cnp_us, 1, 1000000, 50, "minimum microseconds between two CNPs of a QP"),
	PARAM(reduce_us, 0, 1000000, 25, "minimum microseconds between two reductions of a QP's rate"),
	PARAM(cnp_dscp, 0, 63, 48, "DSCP of CNPs"),
	PARAM(burst_kb, 1, 16384, 32, "kB that may be sent at once after a late start"),
};
/* clang-format on */

static uint32_t
get_param(const struct uroce_cc_conf *conf, const struct uroce_cc_param *param)
{
	uint32_t value;

	memcpy(&value, (const uint8_t *)conf + param->offset, sizeof(value));
	return value;
}

void
uroce_cc_conf_set(struct uroce_cc_conf *conf, const struct uroce_cc_param *param, uint32_t value)
{
	memcpy((uint8_t *)conf + param->offset, &value, sizeof(value));
}

void
uroce_cc_conf_init(struct uroce_cc_conf *conf)
{
	*conf = (struct uroce_cc_conf){ .ops = NULL };
	for (unsigned i = 0; i < UROCE_CC_PARAMS; i++)
		uroce_cc_conf_set(conf, &uroce_cc_params[i], uroce_cc_params[i].value);
}

static uint64_t
full_bps(const struct uroce_cc_conf *conf)
{
	return (conf->rate_mbps ? conf->rate_mbps : RATE_UNKNOWN) * BPS_PER_MBPS;
}

const char *
uroce_cc_conf_check(const struct uroce_cc_conf *conf)
{
	for (unsigned i = 0; i < UROCE_CC_PARAMS; i++) {
		const uint32_t value = get_param(conf, &uroce_cc_params[i]);

		if (value < uroce_cc_params[i].min || value > uroce_cc_params[i].max)
			return "a value is out of its range: allowed are the values of the table "
			       "of parameters";
	}
	if (conf->min_mbps * BPS_PER_MBPS > full_bps(conf))
		return "cc_min_mbps is above the full rate: allowed is at most cc_rate_mbps";
	if (conf->alpha_us <= conf->cnp_us)
		return "cc_alpha_us is not above cc_cnp_us, so alpha would decrease between two "
		       "CNPs: allowed is more";
	return NULL;
}

/* --- dcqcn: the reaction point --- */

/* Compute alpha after `n` periods without a CNP: alpha * (1 - 1/gain)^n, by repeated squaring. */
static uint32_t
decay_alpha(uint32_t alpha, uint32_t gain, uint64_t n)
{
	const uint64_t one = UINT64_C(1) << 30;
	uint64_t factor = one - one / gain, product = one;

	for (; n && product; n >>= 1) {
		if (n & 1)
			product = product * factor >> 30;
		factor = factor * factor >> 30;
	}
	return (uint32_t)(alpha * product >> 30);
}

static void
advance_alpha(struct uroce_cc *cc, uint64_t now_ns)
{
	const uint64_t period_ns = cc->conf->alpha_us * NS_PER_US;
	const uint64_t nb = now_ns > cc->alpha_ns ? (now_ns - cc->alpha_ns) / period_ns : 0;

	cc->alpha = decay_alpha(cc->alpha, cc->conf->gain, nb);
	cc->alpha_ns += nb * period_ns;
}

/*
 * Raise the target rate by `step_bps`, and move the rate half of the way to the target. The result
 * is rounded up, so that the rate reaches the target.
 */
static void
approach_target(struct uroce_cc *cc, uint64_t step_bps)
{
	const uint64_t full = full_bps(cc->conf);

	cc->target_bps = cc->target_bps + step_bps < full ? cc->target_bps + step_bps : full;
	cc->rate_bps = (cc->target_bps + cc->rate_bps + 1) / 2;
	if (cc->rate_bps >= full) {
		cc->rate_bps = full;
		cc->is_limited = false;
	}
}

/*
 * Raise the rate after an event of the timer or of the byte counter. The caller has counted the
 * event.
 * @return the increase of the target rate
 */
static uint64_t
count_increase(struct uroce_cc *cc)
{
	const struct uroce_cc_conf *conf = cc->conf;
	const uint32_t most = cc->nb_timer > cc->nb_bytes ? cc->nb_timer : cc->nb_bytes;
	const uint32_t least = cc->nb_timer < cc->nb_bytes ? cc->nb_timer : cc->nb_bytes;
	uint64_t step_bps = conf->ai_mbps * BPS_PER_MBPS;

	if (most < conf->stages)
		step_bps = 0;
	else if (least > conf->stages)
		step_bps = (least - conf->stages) * (conf->hai_mbps * BPS_PER_MBPS);
	approach_target(cc, step_bps);
	return step_bps;
}

/*
 * Apply up to `nb` steps at once, each of which raises the target rate and the rate by `step_bps`.
 * @return the number of steps that were applied without passing the full rate
 */
static uint64_t
skip_steps(struct uroce_cc *cc, uint64_t step_bps, uint64_t nb)
{
	const uint64_t room = (full_bps(cc->conf) - cc->target_bps) / step_bps;
	const uint64_t nb_skipped = nb < room ? nb : room;

	cc->target_bps += nb_skipped * step_bps;
	cc->rate_bps += nb_skipped * step_bps;
	return nb_skipped;
}

static void
dcqcn_advance(struct uroce_cc *cc, uint64_t now_ns)
{
	const uint64_t period_ns = cc->conf->timer_us * NS_PER_US;
	uint64_t nb = now_ns > cc->timer_ns ? (now_ns - cc->timer_ns) / period_ns : 0;
	uint64_t last_bps = 0;
	unsigned nb_same = 0;

	cc->timer_ns += nb * period_ns;
	for (; nb && cc->is_limited; nb--) {
		cc->nb_timer += cc->nb_timer < UINT16_MAX;
		const uint64_t step_bps = count_increase(cc);

		nb_same = step_bps == last_bps ? nb_same + 1 : 0;
		last_bps = step_bps;
		if (nb_same == SKIP_AFTER && cc->nb_timer > cc->conf->stages)
			nb -= skip_steps(cc, step_bps, nb - 1);
		else if (nb_same == SKIP_AFTER)
			nb_same = 0;
	}
}

/*
 * Whether a CNP is plausible: it comes at least reduce_us after the last CNP, and a limited QP has
 * sent something since the last CNP. The time of the last CNP is alpha_ns, because only a CNP
 * updates alpha.
 */
static bool
dcqcn_may_react(const struct uroce_cc *cc, uint64_t now_ns)
{
	const struct uroce_cc_conf *conf = cc->conf;

	if (cc->is_begun && now_ns < cc->alpha_ns + conf->reduce_us * NS_PER_US)
		return false;
	return !cc->is_limited || cc->nb_bytes || cc->bytes_left != conf->byte_kb * 1000;
}

static void
dcqcn_notified(struct uroce_cc *cc, uint64_t now_ns)
{
	const struct uroce_cc_conf *conf = cc->conf;
	const uint64_t min_bps = conf->min_mbps * BPS_PER_MBPS;

	if (!cc->is_limited) {
		cc->rate_bps = full_bps(conf);
		cc->next_ns = now_ns;
	} else {
		dcqcn_advance(cc, now_ns);
	}
	if (!cc->is_begun) {
		cc->is_begun = true;
		cc->alpha = UROCE_CC_ALPHA_ONE;
		cc->alpha_ns = now_ns;
	}
	advance_alpha(cc, now_ns);
	cc->is_limited = true;
	cc->target_bps = cc->rate_bps;
	cc->rate_bps -= cc->rate_bps * cc->alpha / (2 * UROCE_CC_ALPHA_ONE);
	if (cc->rate_bps < min_bps)
		cc->rate_bps = min_bps;
	cc->alpha += (UROCE_CC_ALPHA_ONE - cc->alpha) / conf->gain;
	cc->alpha_ns = now_ns;
	cc->timer_ns = now_ns;
	cc->nb_timer = 0;
	cc->nb_bytes = 0;
	cc->bytes_left = conf->byte_kb * 1000;
}

static void
dcqcn_sent(struct uroce_cc *cc, uint32_t len)
{
	if (len < cc->bytes_left) {
		cc->bytes_left -= len;
		return;
	}
	cc->bytes_left += cc->conf->byte_kb * 1000 - len;
	cc->nb_bytes += cc->nb_bytes < UINT16_MAX;
	count_increase(cc);
}

static const struct uroce_cc_ops dcqcn = {
	.name = "dcqcn",
	.may_react = dcqcn_may_react,
	.notified = dcqcn_notified,
	.advance = dcqcn_advance,
	.sent = dcqcn_sent,
};

static const struct uroce_cc_ops *const table[] = { &dcqcn };

bool
uroce_cc_find(const char *name, const struct uroce_cc_ops **ops)
{
	if (!strcmp(name, "none")) {
		*ops = NULL;
		return true;
	}
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(name, table[i]->name)) {
			*ops = table[i];
			return true;
		}
	}
	return false;
}

const char *
uroce_cc_names(void)
{
	return "none or dcqcn";
}

/* --- common to all algorithms --- */

void
uroce_cc_init(struct uroce_cc *cc, const struct uroce_cc_conf *conf)
{
	*cc = (struct uroce_cc){
		.conf = conf && conf->ops ? conf : NULL,
		.pace_deadline = NEVER,
		.cnp_deadline = NEVER,
	};
	if (cc->conf)
		cc->rate_bps = full_bps(conf);
}

void
uroce_cc_stop(struct uroce_cc *cc)
{
	uroce_cc_init(cc, cc->conf);
}

/*
 * Adapt the distance between the clock and next_ns, the time of the pacer's next packet, to the
 * present rate, after the rate has changed. The distance is the time that some volume of data
 * takes, and this volume does not change.
 */
static void
rescale_next(struct uroce_cc *cc, uint64_t before_bps, uint64_t now_ns)
{
	if (cc->next_ns < now_ns) {
		const uint64_t lag_ns = (now_ns - cc->next_ns) * before_bps / cc->rate_bps;

		/* lag_ns may exceed now_ns if the clock began at 0 less than lag_ns ago */
		cc->next_ns = lag_ns < now_ns ? now_ns - lag_ns : 0;
	} else {
		cc->next_ns = now_ns + ((cc->next_ns - now_ns) * before_bps + cc->rate_bps - 1) /
					       cc->rate_bps;
	}
}

/*
 * Limit the time by which next_ns, the time of the pacer's next packet, is behind the clock to the
 * time that a burst of `burst_kb` takes.
 */
static void
forget_lag(struct uroce_cc *cc, uint64_t now_ns)
{
	const uint64_t burst_ns =
		cc->conf->burst_kb * UINT64_C(8000) * UINT64_C(1000000000) / cc->rate_bps;

	if (cc->next_ns + burst_ns < now_ns)
		cc->next_ns = now_ns - burst_ns;
}

bool
uroce_cc_notified(struct uroce_cc *cc, uint64_t now_ns)
{
	const bool was_limited = cc->is_limited;
	const uint64_t before_bps = cc->rate_bps;

	if (!cc->conf || !cc->conf->ops->may_react(cc, now_ns))
		return false;
	if (was_limited)
		forget_lag(cc, now_ns);
	cc->conf->ops->notified(cc, now_ns);
	if (was_limited)
		rescale_next(cc, before_bps, now_ns);
	return true;
}

void
uroce_cc_marked(struct uroce_cc *cc, uint64_t now_ns)
{
	if (!cc->conf || cc->has_cnp)
		return;
	if (now_ns >= cc->cnp_ns)
		cc->has_cnp = true;
	else
		cc->cnp_deadline = cc->cnp_ns;
}

void
uroce_cc_cnp_sent(struct uroce_cc *cc, uint64_t now_ns)
{
	cc->has_cnp = false;
	cc->cnp_deadline = NEVER;
	cc->cnp_ns = now_ns + cc->conf->cnp_us * NS_PER_US;
}

void
uroce_cc_wait(struct uroce_cc *cc)
{
	const uint64_t event_ns = cc->timer_ns + cc->conf->timer_us * NS_PER_US;

	cc->pace_deadline = cc->next_ns < event_ns ? cc->next_ns : event_ns;
}

void
uroce_cc_expire(struct uroce_cc *cc, uint64_t now_ns)
{
	if (now_ns >= cc->cnp_deadline) {
		cc->cnp_deadline = NEVER;
		cc->has_cnp = true;
	}
	if (now_ns >= cc->pace_deadline)
		cc->pace_deadline = NEVER;
}

void
uroce_cc_begin(struct uroce_cc *cc, uint64_t now_ns)
{
	const uint64_t before_bps = cc->rate_bps;

	cc->pace_deadline = NEVER;
	forget_lag(cc, now_ns);
	cc->conf->ops->advance(cc, now_ns);
	if (cc->rate_bps != before_bps)
		rescale_next(cc, before_bps, now_ns);
}

void
uroce_cc_charge(struct uroce_cc *cc, uint32_t len, uint64_t now_ns)
{
	const uint64_t before_bps = cc->rate_bps;

	/* the time that the frame takes is rounded up, so that the rate is never exceeded */
	cc->next_ns += (len * UINT64_C(8000000000) + before_bps - 1) / before_bps;
	cc->conf->ops->sent(cc, len);
	if (cc->rate_bps != before_bps)
		rescale_next(cc, before_bps, now_ns);
}
