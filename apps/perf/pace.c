/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst of messages begins when its time has come, and ends when all of its messages have been
 * posted. If the queues have no room for all messages in time, the next burst begins late, but is
 * not longer.
 */

#include "pace.h"

/* Get the number of messages in a second that the option --rate_limit allows. */
static double
messages_per_s(const struct options *opt, uint64_t size)
{
	switch ((enum perf_rate_unit)opt->rate_unit) {
	case PERF_RATE_MESSAGES:
		return opt->rate_limit;
	case PERF_RATE_MIB:
		return opt->rate_limit * (1 << 20) / (double)size;
	case PERF_RATE_GBIT:
		break;
	}
	return opt->rate_limit * 1e9 / 8 / (double)size;
}

void
pace_init(struct pace *pace, const struct options *opt, uint64_t size, uint64_t hz)
{
	*pace = (struct pace){ 0 };
	if (opt->rate_limit == 0)
		return;
	pace->burst = opt->burst_size != 0 ? opt->burst_size : opt->tx_depth;
	pace->gap = (uint64_t)((double)pace->burst * (double)hz / messages_per_s(opt, size));
}

uint64_t
pace_room(struct pace *pace, uint64_t now)
{
	if (pace->burst == 0)
		return UINT64_MAX;
	if (pace->left == 0 && now >= pace->next) {
		pace->left = pace->burst;
		pace->next = now + pace->gap;
	}
	return pace->left;
}

void
pace_take(struct pace *pace, uint64_t nb)
{
	pace->left = nb < pace->left ? pace->left - nb : 0;
}
