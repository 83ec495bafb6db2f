/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_STAGE_H
#define UROCE_DATAPATH_STAGE_H

/**
 * @file
 * The stage clock: where a thread's cycles go, of those that drive a worker, post and poll.
 *
 * It is a lap clock. A mark stands behind a stage and says what the time since the thread's last mark
 * was spent on, and on how many packets (requests, completions):
 *
 *	nb = rte_eth_rx_burst(...);
 *	uroce_stage_lap(nb ? UROCE_STAGE_RX_BURST : UROCE_STAGE_RX_EMPTY, nb);
 *
 * so every cycle is counted once, under one name, and what is between two calls into the library is
 * the application's. Each thread has a clock of its own. A lap costs some 20 cycles itself, which are
 * measured when the first clock starts, and taken off what is told.
 *
 * All this is there with meson's -Dstages=true only. Without it a mark is nothing at all.
 */

#include <stdint.h>

/** In the order of a round, then the calls. Their names are in stage.c. */
enum uroce_stage {
	UROCE_STAGE_ROUND,    /* begin and end of a round: lock, clock, counters */
	UROCE_STAGE_RX_BURST, /* the port's receive, when it had frames */
	UROCE_STAGE_RX_EMPTY, /* when it had none */
	UROCE_STAGE_PARSE,    /* and whether the address is ours */
	UROCE_STAGE_VERIFY,   /* ICRC */
	UROCE_STAGE_LOOK_UP,  /* QP */
	UROCE_STAGE_ACT,  /* uroce_qpc_recv(), with the copy of the payload and what follows up */
	UROCE_STAGE_FREE, /* received mbufs */
	UROCE_STAGE_DOORBELLS, /* calls and doorbells taken */
	UROCE_STAGE_HEADERS,   /* uroce_qpc_send() */
	UROCE_STAGE_GATHER,    /* payload; above 128 bytes with its ICRC, in one pass */
	UROCE_STAGE_ICRC,      /* of what is smaller */
	UROCE_STAGE_BUILD,     /* the rest of building: turns, mbufs, uroce_qpc_sent() */
	UROCE_STAGE_TX_BURST,  /* the port's transmit */
	UROCE_STAGE_TIMERS,    /* the wheel, and QPs whose time has come */
	UROCE_STAGE_LINK,      /* frames held and let go, the port's link */
	UROCE_STAGE_POLL_CQ,   /* uroce_poll_cq() itself */
	UROCE_STAGE_POST_SEND, /* uroce_post_send() */
	UROCE_STAGE_POST_RECV, /* uroce_post_recv() */
	UROCE_STAGE_APP,       /* between the calls: the application's */
	UROCE_STAGE_NB
};

/** What was spent on a stage. */
struct uroce_stage_sum {
	uint64_t cycles;
	uint64_t laps;  /* how often it was gone through */
	uint64_t items; /* packets, requests or completions that it dealt with */
};

#ifdef UROCE_STAGES

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

/** A thread's clock: written by it, read by anyone as hints. */
struct uroce_stage_clock {
	_Alignas(64) uint64_t last_tsc; /* when the last lap ended */
	struct uroce_stage_sum sum[UROCE_STAGE_NB];
};

/** The calling thread's; NULL: it has made no lap so far. */
extern _Thread_local struct uroce_stage_clock *uroce_stage_own;

/** Give the calling thread its clock. */
void uroce_stage_start(void);

/** The time since the thread's last lap was `stage`'s, and it dealt with `nb` items. */
static inline void
uroce_stage_lap(enum uroce_stage stage, unsigned nb)
{
	struct uroce_stage_clock *clock = uroce_stage_own;
	uint64_t now;

	if (unlikely(!clock)) {
		uroce_stage_start();
		return;
	}
	now = rte_rdtsc();
	clock->sum[stage].cycles += now - clock->last_tsc;
	clock->sum[stage].laps++;
	clock->sum[stage].items += nb;
	clock->last_tsc = now;
}

/** The time since the thread's last lap was nobody's: it slept. */
static inline void
uroce_stage_skip(void)
{
	if (uroce_stage_own)
		uroce_stage_own->last_tsc = rte_rdtsc();
}

/**
 * What all threads have spent on a stage so far, without the clock's own cost. Any thread.
 * @param[out] name  for people; the library's, for good
 */
struct uroce_stage_sum uroce_stage_read(enum uroce_stage stage, const char **name);

/** Whether the clock is there. */
#define UROCE_STAGE_IS_ON 1

#else

static inline void
uroce_stage_lap(enum uroce_stage stage, unsigned nb)
{
	(void)stage;
	(void)nb;
}

static inline void
uroce_stage_skip(void)
{
}

#define UROCE_STAGE_IS_ON 0

#endif

#endif /* UROCE_DATAPATH_STAGE_H */
