/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The stage clocks of the threads, and the cost of a call of uroce_stage_lap(). Clocks come from a
 * fixed set and are never returned: when a thread ends, its times remain. If there are more threads
 * than clocks, the surplus threads share the last clock. The sums of that clock are hints at best.
 */

#include "datapath/stage.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <rte_common.h>

#define NB_CLOCKS 64

static struct uroce_stage_clock stage_clocks[NB_CLOCKS];
static _Atomic unsigned nb_clocks;
static uint64_t lap_cost_milli; /* cost of a call of uroce_stage_lap(), in thousandths of a cycle */

_Thread_local struct uroce_stage_clock *uroce_stage_own;

static const char *const stage_names[] = {
	[UROCE_STAGE_ROUND] = "round",
	[UROCE_STAGE_RX_BURST] = "rx burst",
	[UROCE_STAGE_RX_EMPTY] = "empty rx",
	[UROCE_STAGE_PARSE] = "parse",
	[UROCE_STAGE_VERIFY] = "verify ICRC",
	[UROCE_STAGE_LOOK_UP] = "look up QP",
	[UROCE_STAGE_ACT] = "act",
	[UROCE_STAGE_FREE] = "free mbufs",
	[UROCE_STAGE_DOORBELLS] = "calls, doorbells",
	[UROCE_STAGE_HEADERS] = "headers",
	[UROCE_STAGE_GATHER] = "gather",
	[UROCE_STAGE_ICRC] = "ICRC",
	[UROCE_STAGE_BUILD] = "build, rest",
	[UROCE_STAGE_TX_BURST] = "tx burst",
	[UROCE_STAGE_TIMERS] = "timers",
	[UROCE_STAGE_LINK] = "link",
	[UROCE_STAGE_POLL_CQ] = "poll_cq",
	[UROCE_STAGE_POST_SEND] = "post_send",
	[UROCE_STAGE_POST_RECV] = "post_recv",
	[UROCE_STAGE_APP] = "application",
};
static_assert(RTE_DIM(stage_names) == UROCE_STAGE_NB, "each stage has a name");

/*
 * Measure the cost of a call of uroce_stage_lap(): the minimum of several runs, because
 * interruptions only add to the time of a run.
 */
static void
measure_cost(void)
{
	struct uroce_stage_clock *const own = uroce_stage_own;
	struct uroce_stage_clock scratch = { 0 };
	const unsigned nb = 1000;
	uint64_t least = UINT64_MAX;

	uroce_stage_own = &scratch;
	for (unsigned run = 0; run < 50; run++) {
		const uint64_t begin = rte_rdtsc();

		for (unsigned i = 0; i < nb; i++)
			uroce_stage_lap(UROCE_STAGE_APP, 0);
		least = RTE_MIN(least, rte_rdtsc() - begin);
	}
	lap_cost_milli = least * 1000 / nb;
	uroce_stage_own = own;
}

void
uroce_stage_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned idx = atomic_fetch_add(&nb_clocks, 1);

	pthread_once(&once, measure_cost);
	uroce_stage_own = &stage_clocks[RTE_MIN(idx, NB_CLOCKS - 1u)];
	uroce_stage_own->last_tsc = rte_rdtsc();
}

struct uroce_stage_sum
uroce_stage_read(enum uroce_stage stage, const char **name)
{
	const unsigned nb = RTE_MIN(atomic_load(&nb_clocks), (unsigned)NB_CLOCKS);
	struct uroce_stage_sum all = { 0 };
	uint64_t cost;

	for (unsigned i = 0; i < nb; i++) {
		const struct uroce_stage_sum *one = &stage_clocks[i].sum[stage];

		all.cycles += one->cycles;
		all.laps += one->laps;
		all.items += one->items;
	}
	cost = all.laps * lap_cost_milli / 1000;
	all.cycles -= RTE_MIN(cost, all.cycles);
	*name = stage_names[stage];
	return all;
}
