/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_LINK_H
#define TEST_UNIT_TRANSPORT_LINK_H

/**
 * @file
 * The wire of a pair: from descriptors to frames, through faults, to parsed packets. Used by pair.c.
 */

#include "pair.h"

/** Build the frame of a descriptor, note it in the trace, and put it on the wire, or not. */
void link_send(struct pair *pair, enum pair_side from, const struct uroce_txd *txd, bool is_wired);

/** Build the frame of a descriptor. @return its length, at most 8192 */
uint32_t link_build(const struct uroce_txd *txd, uint8_t *frame);

/** Build a frame as the other side might have made it; the caller frees it. */
struct pair_flight link_forge(const struct pair *pair, enum pair_side to,
			      const struct pair_pkt *pkt);

/** Hand over every frame that has arrived by now. */
void link_deliver(struct pair *pair);

/** When the next frame arrives; UROCE_NEVER: none is under way. */
uint64_t link_next_ns(const struct pair *pair);

/** A number that looks like chance; never 0. */
uint64_t link_random(uint64_t *seed);

/** Free the frames that the host no longer holds. */
void link_reap(struct pair_host *host);

void link_free(struct pair *pair);

#endif /* TEST_UNIT_TRANSPORT_LINK_H */
