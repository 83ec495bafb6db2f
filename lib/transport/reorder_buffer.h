/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REORDER_BUFFER_H
#define UROCE_TRANSPORT_REORDER_BUFFER_H

/**
 * @file
 * What waits behind holes: a worker's bounded pool of gaps and of received frames.
 *
 * A QP that misses nothing has nothing of it. The first packet that arrives ahead of a hole takes a
 * gap; a packet that may not be executed yet and not be placed either is held: the caller keeps its
 * frame as it is, until it comes back on the death row. The pool never frees a frame and never calls
 * anybody: what is no longer needed is put in the row, and the caller takes it from there after its
 * calls into the transport (uroce_reorder_buffer_reap).
 *
 * Held packets are found by their gap and PSN, in a hash. When the pool has no room, the packet is
 * dropped as if it had been lost: go-back-N is what remains.
 *
 * A pool belongs to one worker, as the contexts do that take from it: no locks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/peer_cache.h"
#include "transport/psn_gap.h"
#include "wire/parse.h"

struct uroce_reorder_buffer;

/** Bytes for a pool of `nb_gaps` gaps and `nb_frames` held frames (1 .. 2^24 each). */
size_t uroce_reorder_buffer_memsize(uint32_t nb_gaps, uint32_t nb_frames);

/** Make a pool over `mem` (64-byte aligned, caller's). */
struct uroce_reorder_buffer *uroce_reorder_buffer_init(void *mem, uint32_t nb_gaps,
						       uint32_t nb_frames);

/** An empty gap. @return NULL: none left */
struct uroce_psn_gap *uroce_reorder_buffer_alloc_gap(struct uroce_reorder_buffer *reorder_buffer);

/** Give a gap back; the frames held behind it go to the death row. `base_psn` is where it begins. */
void uroce_reorder_buffer_free_gap(struct uroce_reorder_buffer *reorder_buffer,
				   struct uroce_psn_gap *gap, uint32_t base_psn);

/**
 * Hold a packet behind a gap that has not marked it yet; it is marked. `pkt->owner` comes back on the
 * death row.
 * @return false: no room
 */
bool uroce_reorder_buffer_insert(struct uroce_reorder_buffer *reorder_buffer,
				 struct uroce_psn_gap *gap, const struct uroce_pkt *pkt);

/**
 * The frame of the packet that was held last has moved: it is now, byte for byte, at `frame`, and
 * `new_owner` comes back on the death row instead of `owner`.
 */
void uroce_reorder_buffer_relocate(struct uroce_reorder_buffer *reorder_buffer, const void *owner,
				   const uint8_t *frame, void *new_owner);

/** The packet held for this PSN; NULL: none (it may be marked because it was placed). */
const struct uroce_pkt *uroce_reorder_buffer_find(const struct uroce_reorder_buffer *reorder_buffer,
						  const struct uroce_psn_gap *gap, uint32_t psn);

/** Clear the mark of a PSN; its frame, if one is held, goes to the death row. */
void uroce_reorder_buffer_drop(struct uroce_reorder_buffer *reorder_buffer,
			       struct uroce_psn_gap *gap, uint32_t psn);

/** The hole of this gap is filled, and more was held behind it than is executed at once; or no more. */
void uroce_reorder_buffer_set_ready(struct uroce_reorder_buffer *reorder_buffer,
				    struct uroce_psn_gap *gap, bool is_ready);

/** Whether frames that are held only wait for their turn: more should not be added to them. */
bool uroce_reorder_buffer_has_ready(const struct uroce_reorder_buffer *reorder_buffer);

/** Take up to `max` owners of frames that are no longer needed. @return how many */
unsigned uroce_reorder_buffer_reap(struct uroce_reorder_buffer *reorder_buffer, void **owners,
				   unsigned max);

/** Frames that are held, the death row not counted. */
uint32_t uroce_reorder_buffer_count(const struct uroce_reorder_buffer *reorder_buffer);

/** What the worker's QPs know of hosts that hold nothing: the other end of the same matter. */
struct uroce_peer_cache *
uroce_reorder_buffer_peer_cache(struct uroce_reorder_buffer *reorder_buffer);

/** Gaps that are taken. */
uint32_t uroce_reorder_buffer_count_gaps(const struct uroce_reorder_buffer *reorder_buffer);

#endif /* UROCE_TRANSPORT_REORDER_BUFFER_H */
