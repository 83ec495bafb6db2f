/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_LINK_H
#define TEST_UNIT_TRANSPORT_LINK_H

/**
 * @file
 * The wire between the two QPs of a pair: builds frames from descriptors, applies faults, and
 * delivers parsed packets. Used by pair.c.
 */

#include "pair.h"

/**
 * Build the frame of a descriptor and record it in the trace. If `is_wired`, put the frame on the
 * wire.
 */
void link_send(struct pair *pair, enum pair_side from, const struct uroce_txd *txd, bool is_wired);

/**
 * Build the frame of a descriptor.
 * @return the length of the frame, at most 8192
 */
uint32_t link_build(const struct uroce_txd *txd, uint8_t *frame);

/**
 * Build a frame with the fields of `pkt`, as if the peer of side `to` had sent it.
 * @return the frame, which the caller frees
 */
struct pair_flight link_forge(const struct pair *pair, enum pair_side to,
			      const struct pair_pkt *pkt);

/** Deliver every frame whose arrival time is not later than now. */
void link_deliver(struct pair *pair);

/** Arrival time of the next frame; UROCE_NEVER: no frame is in flight. */
uint64_t link_next_ns(const struct pair *pair);

/** A pseudo-random number, which is never 0. */
uint64_t link_random(uint64_t *seed);

/** Free the frames that the host's reorder buffer has released. */
void link_reap(struct pair_host *host);

void link_free(struct pair *pair);

#endif /* TEST_UNIT_TRANSPORT_LINK_H */
