/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_RING_H
#define UROCE_QUEUE_RING_H

/**
 * @file
 * A ring of fixed-size slots with one producer and one consumer at a time.
 *
 * Indices run freely modulo 2^32; a slot is index & mask. The producer fills slots and publishes
 * them (R1); the consumer sees the index (A1) and with it the slots' content. The consumer gives
 * slots back (R2); the producer sees that (A2) and may overwrite them. Each side's index has a
 * cache line of its own, if the ring is aligned to one; what never changes is in the producer's, which
 * the consumer has to look at anyway.
 *
 * The ring has a power of two of slots, the limit is exact: a queue of 100 refuses the 101st.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uroce_ring {
	/* read-only after init */
	uint8_t *slots;
	uint32_t mask;   /* number of slots - 1 */
	uint32_t stride; /* bytes of a slot */
	uint32_t limit;  /* most entries at a time, <= mask + 1 */
	/* the producer's */
	_Atomic uint32_t head; /* next index to fill */
	uint32_t tail_seen;    /* tail as the producer last saw it */
	uint8_t resv[36];      /* the rest of a line */
	/* the consumer's: who has a ring says what else is in that line */
	_Atomic uint32_t tail; /* oldest index not given back */
};
static_assert(offsetof(struct uroce_ring, tail) == 64, "each side's index has its line");

/** Number of slots for `limit` entries: the next power of two. limit is 1 .. 2^31. */
uint32_t uroce_ring_slots(uint32_t limit);

/** Bytes of slot memory for `limit` entries of `stride` bytes. */
size_t uroce_ring_memsize(uint32_t limit, uint32_t stride);

/** Make an empty ring over `mem` (64-byte aligned, uroce_ring_memsize() bytes, caller's). */
void uroce_ring_init(struct uroce_ring *ring, void *mem, uint32_t limit, uint32_t stride);

/** Forget all entries. Neither side may be active. */
void uroce_ring_reset(struct uroce_ring *ring);

static inline void *
uroce_ring_at(const struct uroce_ring *ring, uint32_t idx)
{
	return ring->slots + (size_t)(idx & ring->mask) * ring->stride;
}

/** Producer: how many entries may be added now. */
static inline uint32_t
uroce_ring_room(struct uroce_ring *ring)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head - ring->tail_seen >= ring->limit)
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire); /* A2 */
	return ring->limit - (head - ring->tail_seen);
}

/**
 * Producer: whether the `n`-th free slot exists, counted from 0; the consumer's index is looked at
 * only when the one last seen says no. For filling slot by slot before one push.
 */
static inline bool
uroce_ring_has_room(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head - ring->tail_seen + n < ring->limit)
		return true;
	ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire); /* A2 */
	return head - ring->tail_seen + n < ring->limit;
}

/** Producer: the `n`-th free slot, n < uroce_ring_room(). */
static inline void *
uroce_ring_free_slot(const struct uroce_ring *ring, uint32_t n)
{
	return uroce_ring_at(ring, atomic_load_explicit(&ring->head, memory_order_relaxed) + n);
}

/** Producer: publish the `n` slots that were filled. */
static inline void
uroce_ring_push(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	atomic_store_explicit(&ring->head, head + n, memory_order_release); /* R1 */
}

/** Consumer: index one past the newest published entry. */
static inline uint32_t
uroce_ring_head(const struct uroce_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire); /* A1 */
}

/**
 * Producer: as uroce_ring_push(), and in the one order that all threads agree on with other
 * seq_cst operations: what a side published, then asked of the other, is not missed by both (S1).
 */
static inline void
uroce_ring_push_ordered(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	atomic_store_explicit(&ring->head, head + n, memory_order_seq_cst); /* R1, S1 */
}

/** Consumer: as uroce_ring_head(), in the one order of uroce_ring_push_ordered(). */
static inline uint32_t
uroce_ring_head_ordered(const struct uroce_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_seq_cst); /* A1, S2 */
}

/** Consumer: index of the oldest entry. */
static inline uint32_t
uroce_ring_tail(const struct uroce_ring *ring)
{
	return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

/** Consumer: give the `n` oldest entries back. */
static inline void
uroce_ring_pop(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&ring->tail, tail + n, memory_order_release); /* R2 */
}

#endif /* UROCE_QUEUE_RING_H */
