/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_LINK_H
#define TEST_UNIT_TRANSPORT_LINK_H

/**
 * @file
 * The wire of a pair: builds frames from descriptors, applies faults, and delivers parsed packets.
 * Used by pair.c.
 */

#include "pair.h"

/** Build the frame of a descriptor and add it to the trace. Put it on the wire if `is_wired`. */
void link_send(struct pair *pair, enum pair_side from, const struct uroce_txd *txd, bool is_wired);

/**
 * Build the frame of a descriptor.
 * @return its length, at most 8192
 */
uint32_t link_build(const struct uroce_txd *txd, uint8_t *frame);

/** Build a frame of the fields in `pkt`, as if the other side had sent it. The caller frees it. */
struct pair_flight link_forge(const struct pair *pair, enum pair_side to,
			      const struct pair_pkt *pkt);

/** Deliver every frame that has arrived by now. */
void link_deliver(struct pair *pair);

/** Arrival time of the next frame; UROCE_NEVER: no frame is in flight. */
uint64_t link_next_ns(const struct pair *pair);

/** A pseudo-random number; never 0. */
uint64_t link_random(uint64_t *seed);

/** Free the frames that the host's reorder buffer has released. */
void link_reap(struct pair_host *host);

void link_free(struct pair *pair);

#endif /* TEST_UNIT_TRANSPORT_LINK_H */
