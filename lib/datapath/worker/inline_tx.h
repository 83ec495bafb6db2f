/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_INLINE_TX_H
#define UROCE_DATAPATH_INLINE_TX_H

/**
 * @file
 * Inline transmit: a post that transmits in the calling thread, without a doorbell.
 *
 * Doorbells are for several posts at a time, or for posts of threads that do not drive the worker.
 * The round that takes the doorbells transmits all posts together. A program that posts once and
 * then polls gains nothing by a doorbell: the round of its poll would first look for frames,
 * commands and doorbells, and then send the one request. So if a program has made at most one post
 * between its latest rounds, the post itself transmits the request, under the worker's lock. This
 * is the burst that the round would have sent, only earlier.
 *
 * A post never waits for inline transmit. It rings the doorbell if another thread drives the
 * worker, or if frames or doorbells are pending. A second post before the next round ends inline
 * transmit, because a round would have sent both posts together. A delayed ACK (delayed_ack.h) is
 * sent by the round behind the post, because the peer needs the reply first. But if the peer is
 * known to wait for the ACK, the ACK is sent with the post.
 *
 * The caller holds the worker's lock.
 */

#include <stdbool.h>

struct uroce_worker;

/** The inline transmit state of a worker. */
struct uroce_inline_tx {
	unsigned nb_single; /* number of consecutive rounds of the application with one post each */
	unsigned nb_posts;  /* number of posts transmitted inline since the latest round */
};

/**
 * Record how many doorbells were taken by a round that the application drove.
 * @param nb_rung  number of posts that rang a doorbell: 0, 1, or at least 2
 */
void uroce_inline_tx_polled(struct uroce_worker *worker, unsigned nb_rung);

#endif /* UROCE_DATAPATH_INLINE_TX_H */
