/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_TRANSFER_H
#define PERF_TRANSFER_H

/**
 * @file
 * The transfer of a bandwidth test: one side posts requests and completes them, or responds, until
 * the messages of a batch have arrived. Only the transfer is measured.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_cycles.h>

#include "order.h"
#include "pace.h"
#include "requests.h"
#include "session.h"

/** The value of `goal` of a batch that ends after a given time (--duration). */
#define TRANSFER_UNTIL_DEADLINE UINT64_MAX

/**
 * What a side counts within a transfer that ends after a given time: the measured part of the
 * transfer (--margin), or the time since the last report (--run_infinitely).
 */
struct interval {
	/* TSC value at which the interval begins or ends next; 0 if there is no such time */
	uint64_t next_tsc;
	bool is_begun;
	/* TSC values and numbers of messages at the start and at the end of the interval */
	uint64_t begin_tsc, end_tsc;
	uint64_t begin_sent, end_sent;
	uint64_t begin_received, end_received;
};

/** State of one side of the transfer. */
struct transfer {
	struct session *session;
	struct requests requests;
	struct order order; /* random order of the QPs, for --qp-order=random */
	/* number of messages of this batch for each QP, or TRANSFER_UNTIL_DEADLINE */
	uint64_t goal;
	uint64_t deadline; /* end of the time of --duration, as a TSC value */
	/*
	 * sums over all QPs in this batch: posted send requests, completed send requests, and
	 * received messages
	 */
	uint64_t posted, completed, received;
	/* TSC values at the start of this batch, and when its last send request had completed */
	uint64_t begin_tsc, end_tsc;
	uint64_t recv_begin_tsc, recv_end_tsc;
	struct interval interval;
	struct pace pace;
	uint64_t progress_tsc; /* TSC value when the progress was last printed */
	bool is_failed;
	bool may_have_room; /* a send queue may have room for a request */
	/* this side has sent the step `done`: its requests have completed */
	bool is_done_sent;
	bool is_peer_done;
	/* number of messages that the peer has sent; valid if is_peer_done is set */
	uint64_t peer_sent;
	/*
	 * TSC values of the posts and of the completions, from which the peak rate is computed;
	 * NULL if it is not computed
	 */
	uint64_t *posted_tsc, *completed_tsc;
	uint64_t times_max;
};

/** Execute the transfer of a batch. @return 0, or -1 after a line on stderr */
int transfer_run(struct transfer *transfer);

/** Convert a difference of TSC values to seconds. */
static inline double
transfer_seconds(uint64_t tsc)
{
	return (double)tsc / (double)rte_get_tsc_hz();
}

#endif /* PERF_TRANSFER_H */
