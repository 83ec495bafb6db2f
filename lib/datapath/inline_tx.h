/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_INLINE_TX_H
#define UROCE_DATAPATH_INLINE_TX_H

/**
 * @file
 * A post that goes straight to the port.
 *
 * A doorbell and the round that takes it are for posts that come in numbers, or from threads that do not
 * drive: what was posted leaves together. A program that posts once, then polls, gains nothing by that: the
 * round that its poll makes looks for frames, calls and doorbells first, and sends that one request in the end.
 * So where a program has posted once at most between its last rounds, its thread sends in the post itself,
 * under the worker's lock. The round is not missed: it would have sent the same burst, later.
 *
 * It is tried, never waited for: who finds the worker driven by another thread, or frames or doorbells that
 * wait already, rings as ever. A second post before the next round ends the habit, for then a round would have
 * sent both together. An acknowledgement that was left to the program's answer (delayed_ack.h) leaves with
 * the round behind it, for nobody is as eager for it as for the answer; unless the peer is known to wait for it.
 *
 * By the thread that holds the worker's lock.
 */

#include <stdbool.h>

struct uroce_worker;

/** What a worker knows of its program's posts. */
struct uroce_inline_tx {
	unsigned nb_single; /* rounds in a row that found one post */
	unsigned nb_posts;  /* that took the shortcut since the last round */
};

/** A round of the application found doorbells of `nb_rung` posts (0, 1, at least 2). */
void uroce_inline_tx_polled(struct uroce_worker *worker, unsigned nb_rung);

#endif /* UROCE_DATAPATH_INLINE_TX_H */
