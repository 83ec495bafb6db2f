/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REORDER_BUFFER_H
#define UROCE_TRANSPORT_REORDER_BUFFER_H

/**
 * @file
 * The reorder buffer: a worker's bounded pool of records of PSN gaps (struct uroce_psn_gap, "gap"
 * for short), and of received frames that wait behind such gaps.
 *
 * A QP without missing packets uses nothing of the pool. The first packet that arrives behind a gap
 * makes the QP allocate such a record. A packet that can be neither executed nor placed yet is
 * buffered. The frame of the packet stays in use until the pool returns it on the list of released
 * frames. The pool frees no frames and has no callbacks: the caller takes the released frames after
 * its calls into the transport (uroce_reorder_buffer_reap()).
 *
 * Buffered packets are found by gap and PSN in a hash table. When the pool is full, a packet is
 * dropped as if it had been lost, and the QP falls back to go-back-N.
 *
 * A pool belongs to one worker, like the QP contexts that use the pool, so it needs no locks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/recovery/peer_cache.h"
#include "transport/recovery/psn_gap.h"
#include "wire/parse.h"

struct uroce_reorder_buffer;

/**
 * Get the memory size in bytes of a reorder buffer for `nb_gaps` PSN gaps and `nb_frames` frames (1
 * .. 2^24 each).
 */
size_t uroce_reorder_buffer_memsize(uint32_t nb_gaps, uint32_t nb_frames);

/**
 * Initialise a reorder buffer in `mem`. The memory must be 64-byte aligned; the caller frees it.
 */
struct uroce_reorder_buffer *uroce_reorder_buffer_init(void *mem, uint32_t nb_gaps,
						       uint32_t nb_frames);

/**
 * Allocate an empty record of a PSN gap from the reorder buffer.
 * @return NULL: all records are in use
 */
struct uroce_psn_gap *uroce_reorder_buffer_alloc_gap(struct uroce_reorder_buffer *reorder_buffer);

/**
 * Free the record of a PSN gap, and release the frames that are buffered behind the gap. `base_psn`
 * is the first PSN of the gap's window.
 */
void uroce_reorder_buffer_free_gap(struct uroce_reorder_buffer *reorder_buffer,
				   struct uroce_psn_gap *gap, uint32_t base_psn);

/**
 * Buffer a packet behind a gap, and mark its PSN in the bit map of the gap. The PSN must not be
 * marked yet. uroce_reorder_buffer_reap() returns `pkt->owner` when the frame is released.
 * @return false: the pool is full
 */
bool uroce_reorder_buffer_insert(struct uroce_reorder_buffer *reorder_buffer,
				 struct uroce_psn_gap *gap, const struct uroce_pkt *pkt);

/**
 * Record that the frame of the packet which was buffered last has moved to `frame`, byte for byte.
 * When the frame is released, uroce_reorder_buffer_reap() returns `new_owner` instead of `owner`.
 */
void uroce_reorder_buffer_relocate(struct uroce_reorder_buffer *reorder_buffer, const void *owner,
				   const uint8_t *frame, void *new_owner);

/**
 * Find the packet that is buffered for a PSN behind a gap.
 * @return NULL: no packet is buffered for the PSN; it may have been placed in memory
 */
const struct uroce_pkt *uroce_reorder_buffer_find(const struct uroce_reorder_buffer *reorder_buffer,
						  const struct uroce_psn_gap *gap, uint32_t psn);

/**
 * Clear the mark of a PSN in a gap (struct uroce_psn_gap), and release the frame if one is buffered
 * for the PSN.
 */
void uroce_reorder_buffer_drop(struct uroce_reorder_buffer *reorder_buffer,
			       struct uroce_psn_gap *gap, uint32_t psn);

/**
 * Add `nb`, which may be negative, to the number of filled gaps with packets that wait for
 * execution.
 */
void uroce_reorder_buffer_add_ready(struct uroce_reorder_buffer *reorder_buffer, int nb);

/**
 * Whether some buffered frames could be executed now. While this is true, the worker should not
 * receive more frames.
 */
bool uroce_reorder_buffer_has_ready(const struct uroce_reorder_buffer *reorder_buffer);

/**
 * Remove up to `max` frames that the pool does not need any more, so that the caller can free them.
 * @param[out] owners  the member `owner` of the packet of each frame, by which the caller knows it
 * @return the number of frames
 */
unsigned uroce_reorder_buffer_reap(struct uroce_reorder_buffer *reorder_buffer, void **owners,
				   unsigned max);

/** Get the number of frames that are buffered. Released frames do not count. */
uint32_t uroce_reorder_buffer_count(const struct uroce_reorder_buffer *reorder_buffer);

/**
 * Get the peer cache of the worker's QPs: the metrics of hosts that drop packets behind a PSN gap.
 */
struct uroce_peer_cache *
uroce_reorder_buffer_peer_cache(struct uroce_reorder_buffer *reorder_buffer);

/** Get the number of records of PSN gaps that are in use. */
uint32_t uroce_reorder_buffer_count_gaps(const struct uroce_reorder_buffer *reorder_buffer);

#endif /* UROCE_TRANSPORT_REORDER_BUFFER_H */
