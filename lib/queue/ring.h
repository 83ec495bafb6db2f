/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_RING_H
#define UROCE_QUEUE_RING_H

/**
 * @file
 * A ring of fixed-size slots with one producer and one consumer at a time.
 *
 * Indices run freely modulo 2^32; the slot number is index & mask. The producer fills slots and
 * publishes them (R1). The consumer reads the producer's index (A1) and then sees the contents of
 * the slots. The consumer releases slots (R2). The producer reads the consumer's index (A2) and
 * may then overwrite the slots.
 *
 * The index of each side has a cache line of its own, if the ring is aligned to one. Fields that
 * never change are in the producer's line, which the consumer reads anyway.
 *
 * The number of slots is a power of two. The limit is exact: a queue of 100 refuses the 101st
 * entry.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uroce_ring {
	/* The fields from `slots` to `limit` are read-only after init. */
	uint8_t *slots;
	uint32_t mask;   /* mask that converts an index to a slot: number of slots - 1 */
	uint32_t stride; /* distance in bytes between two slots */
	uint32_t limit;  /* maximum number of entries in the ring at a time, at most mask + 1 */
	/* The producer writes `head` and `tail_seen`. */
	_Atomic uint32_t head; /* index of the slot that is filled next */
	uint32_t tail_seen;    /* the last value of `tail` that the producer has read */
	uint8_t resv[36];      /* padding to the end of the cache line */
	/* The consumer writes `tail`. The structure that contains the ring may put other fields
	 * into the rest of this cache line. */
	_Atomic uint32_t tail; /* index of the oldest entry that is not released */
};
static_assert(offsetof(struct uroce_ring, tail) == 64, "each side's index has its line");

/** Compute the number of slots of a ring for `limit` entries (1 .. 2^31): the next power of two. */
uint32_t uroce_ring_slots(uint32_t limit);

/** Compute the number of bytes of the slots of a ring for `limit` entries of `stride` bytes. */
size_t uroce_ring_memsize(uint32_t limit, uint32_t stride);

/**
 * Initialise an empty ring over `mem` (64-byte aligned, uroce_ring_memsize() bytes, owned by the
 * caller).
 */
void uroce_ring_init(struct uroce_ring *ring, void *mem, uint32_t limit, uint32_t stride);

/**
 * Remove all entries of the ring. Neither the producer nor the consumer may use the ring during the
 * call.
 */
void uroce_ring_reset(struct uroce_ring *ring);

static inline void *
uroce_ring_at(const struct uroce_ring *ring, uint32_t idx)
{
	return ring->slots + (size_t)(idx & ring->mask) * ring->stride;
}

/**
 * Producer: get a number of entries that may be added to the ring at once. The number may be less
 * than the number of free slots, but is 0 only if the ring is full.
 */
static inline uint32_t
uroce_ring_room(struct uroce_ring *ring)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	/*
	 * Acquire A2 pairs with release R2 in uroce_ring_pop(), so slots before `tail` may be
	 * reused.
	 */
	if (head - ring->tail_seen >= ring->limit)
		ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
	return ring->limit - (head - ring->tail_seen);
}

/**
 * Producer: whether the ring has more than `n` free slots. With this check a producer fills several
 * slots before one push. The consumer's index is read only if the value that was read last does not
 * show enough free slots.
 */
static inline bool
uroce_ring_has_room(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head - ring->tail_seen + n < ring->limit)
		return true;
	/*
	 * Acquire A2 pairs with release R2 in uroce_ring_pop(), so slots before `tail` may be
	 * reused.
	 */
	ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
	return head - ring->tail_seen + n < ring->limit;
}

/**
 * Producer: get the free slot with number `n`, counted from 0 in the order in which slots are
 * filled; `n` must be below uroce_ring_room().
 */
static inline void *
uroce_ring_free_slot(const struct uroce_ring *ring, uint32_t n)
{
	return uroce_ring_at(ring, atomic_load_explicit(&ring->head, memory_order_relaxed) + n);
}

/** Producer: publish the `n` slots that were filled, so that the consumer sees them. */
static inline void
uroce_ring_push(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	/*
	 * Release R1: a consumer that loads this index (acquire A1 in uroce_ring_head()) sees the
	 * contents of the slots.
	 */
	atomic_store_explicit(&ring->head, head + n, memory_order_release);
}

/** Consumer: get the index that follows the newest published entry. */
static inline uint32_t
uroce_ring_head(const struct uroce_ring *ring)
{
	/*
	 * Acquire A1 pairs with release R1 in uroce_ring_push(): slots before `head` are visible.
	 */
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/**
 * Producer: publish `n` filled slots, as uroce_ring_push() does. The store S1 is in the total order
 * of seq_cst operations. Thus if producer and consumer each publish something and then read what
 * the other published, at least one of them sees it.
 */
static inline void
uroce_ring_push_ordered(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	/*
	 * This store (S1) is also a release (R1): a consumer that loads the index in
	 * uroce_ring_head_ordered() sees the contents of the slots. The store is seq_cst, so that
	 * of two sides that each publish and then read, at least one sees what the other published.
	 */
	atomic_store_explicit(&ring->head, head + n, memory_order_seq_cst);
}

/**
 * Consumer: get the index that follows the newest published entry, as uroce_ring_head() does. The
 * load is in the total order of seq_cst operations, to which uroce_ring_push_ordered() belongs.
 */
static inline uint32_t
uroce_ring_head_ordered(const struct uroce_ring *ring)
{
	/*
	 * This load (S2) is also an acquire (A1). It pairs with the store S1 in
	 * uroce_ring_push_ordered(), so the slots before `head` are visible.
	 */
	return atomic_load_explicit(&ring->head, memory_order_seq_cst);
}

/** Consumer: get the index of the oldest entry of the ring. */
static inline uint32_t
uroce_ring_tail(const struct uroce_ring *ring)
{
	return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

/**
 * Consumer: release the `n` oldest entries of the ring, so that their slots can be filled again.
 */
static inline void
uroce_ring_pop(struct uroce_ring *ring, uint32_t n)
{
	const uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	/*
	 * Release R2: a producer that loads this index (acquire A2 in uroce_ring_room()) may
	 * overwrite the slots, because the consumer has read them.
	 */
	atomic_store_explicit(&ring->tail, tail + n, memory_order_release);
}

#endif /* UROCE_QUEUE_RING_H */
