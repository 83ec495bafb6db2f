/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_STAGE_H
#define UROCE_DATAPATH_STAGE_H

/**
 * @file
 * The stage clock: measures on which stages a thread spends its cycles, when it drives a worker,
 * posts or polls.
 *
 * The stage clock is a lap clock. A mark follows a stage. The mark attributes the time since the
 * thread's previous mark to that stage, with a number of packets, requests or completions:
 *
 *	nb = rte_eth_rx_burst(...);
 *	uroce_stage_lap(nb ? UROCE_STAGE_RX_BURST : UROCE_STAGE_RX_EMPTY, nb);
 *
 * So each cycle is counted once, for one stage. The time between two calls into the library is
 * counted for the stage of the application. Each thread has its own clock. A lap costs about 20
 * cycles. This cost is measured when the first clock starts, and is subtracted from the results.
 *
 * The stage clock exists only with meson's -Dstages=true. Otherwise a mark compiles to nothing.
 */

#include <stdint.h>

/**
 * The stages of a round, which is one pass through the work of a worker, in their order. The calls
 * of the application follow. The names of the stages are in stage.c.
 */
enum uroce_stage {
	/*
	 * begin and end of a round: take the worker's lock, read the clock, count, publish
	 * completions
	 */
	UROCE_STAGE_ROUND,
	UROCE_STAGE_RX_BURST,  /* time of those receive bursts that returned frames */
	UROCE_STAGE_RX_EMPTY,  /* time of those receive bursts that returned no frames */
	UROCE_STAGE_PARSE,     /* parse received frames, and check their destination address */
	UROCE_STAGE_VERIFY,    /* verify the ICRCs of received frames */
	UROCE_STAGE_LOOK_UP,   /* look up the QPs of received frames */
	UROCE_STAGE_ACT,       /* uroce_qpc_recv(): copy the payload, update and schedule the QP */
	UROCE_STAGE_FREE,      /* free received mbufs */
	UROCE_STAGE_DOORBELLS, /* handle the doorbells that posts have rung */
	UROCE_STAGE_HEADERS,   /* uroce_qpc_send(): write the headers of frames */
	/* Gather the payload; above 128 bytes the ICRC is computed in the same pass. */
	UROCE_STAGE_GATHER,
	UROCE_STAGE_ICRC, /* compute the ICRCs of payload up to 128 bytes */
	/*
	 * Build frames, apart from the stages HEADERS, GATHER and ICRC: select QPs, allocate mbufs,
	 * call uroce_qpc_sent().
	 */
	UROCE_STAGE_BUILD,
	UROCE_STAGE_TX_BURST, /* time of transmit bursts */
	/*
	 * Publish completions, run the calls that other threads have requested, and process the
	 * timers that expired.
	 */
	UROCE_STAGE_TIMERS,
	UROCE_STAGE_LINK,      /* free frames of the reorder buffer, check the port's link */
	UROCE_STAGE_POLL_CQ,   /* time inside uroce_poll_cq(), without other stages */
	UROCE_STAGE_POST_SEND, /* time inside uroce_post_send(), without other stages */
	UROCE_STAGE_POST_RECV, /* time inside uroce_post_recv(), without other stages */
	UROCE_STAGE_APP,       /* time of the application, between its calls into the library */
	UROCE_STAGE_NB
};

/** The sum of the time that was spent on a stage. */
struct uroce_stage_sum {
	uint64_t cycles;
	uint64_t laps;  /* number of passes through the stage */
	uint64_t items; /* number of packets, requests or completions that the stage processed */
};

#ifdef UROCE_STAGES

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

/** The stage clock of a thread. Only the thread writes it; other threads read it as a hint. */
struct uroce_stage_clock {
	/* time stamp counter at the end of the thread's latest stage */
	_Alignas(64) uint64_t last_tsc;
	struct uroce_stage_sum sum[UROCE_STAGE_NB];
};

/** The stage clock of the calling thread; NULL: the thread has not ended a stage yet. */
extern _Thread_local struct uroce_stage_clock *uroce_stage_own;

/** Assign a stage clock to the calling thread. */
void uroce_stage_start(void);

/**
 * Attribute the time since the end of the thread's latest stage to `stage`, which ends now and has
 * processed `nb` items.
 */
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

/** Discard the time since the end of the thread's latest stage, in which the thread slept. */
static inline void
uroce_stage_skip(void)
{
	if (uroce_stage_own)
		uroce_stage_own->last_tsc = rte_rdtsc();
}

/**
 * Get the time that all threads have spent on a stage so far, without the cost of the clock itself.
 * Any thread may call this function.
 * @param[out] name  display name of the stage; a constant string
 */
struct uroce_stage_sum uroce_stage_read(enum uroce_stage stage, const char **name);

/** UROCE_STAGE_IS_ON is 1 if the library has a stage clock, otherwise 0. */
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
