/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_SPSC_RING_H
#define UROCE_MUX_SPSC_RING_H

/**
 * @file
 * SPSC rings: rings of descriptors in the memory that a client shares with uroced (the daemon that
 * owns the port), each with one producer and one consumer [doc/design/multiplexer.md]. The frames
 * are in the same shared memory. A descriptor has the offset of its frame.
 *
 *	up    the client is the producer: a descriptor names a frame
 *	down  the client writes descriptors of empty buffers into the slots, then advances
 *	      `tail` to pass the slots to uroced. uroced writes a frame to the buffer, and its
 *	      length into the slot.
 *
 * Indices grow without bound, modulo 2^32; the slots [tail, head) are full. Each side keeps its own
 * index in private memory and does not trust what the other side wrote: it checks the other side's
 * index, and each descriptor, which it loads once.
 *
 *	release A1 pairs with acquire R1: the descriptors before `head`, and their frames,
 *	are visible
 *	release A2 pairs with acquire R2: the slots before `tail`, and their buffers, may be used
 *	again
 *	fence W1 pairs with fence W2: the sleeping consumer sees the frame, or the producer sees the
 *	sleeping consumer
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Minimum and maximum number of slots of an SPSC ring. The number is a power of two. */
#define UROCE_SPSC_SLOTS_MIN 64u
#define UROCE_SPSC_SLOTS_MAX 16384u

/**
 * Offset in a descriptor that is a barrier: it names no frame, and its length is 0. A client puts
 * barriers into its rings up (to uroced). uroced passes the barrier under two conditions: it has
 * taken all frames that other clients had in their rings up when it reached the barrier, and it has
 * found no more frames on the wire. So when uroced passes the barrier, all earlier frames to the
 * client are in the client's rings down (from uroced). Another client may have more frames in its
 * rings than uroced takes from it in its turns. uroced waits only some rounds for such a client.
 */
#define UROCE_SPSC_BARRIER UINT32_MAX

/**
 * The part of an SPSC ring that is in shared memory, at an offset that is a multiple of 64. At
 * first all its bytes are zero.
 */
struct uroce_spsc_ring {
	/* index of the slot that the producer fills next; only the producer writes it */
	_Alignas(64) _Atomic uint32_t head;
	/* index of the slot that the consumer reads next; only the consumer writes it */
	_Alignas(64) _Atomic uint32_t tail;
	_Atomic uint32_t sleeps; /* 1 if the consumer sleeps and requests a wake-up */
	_Alignas(64) _Atomic uint64_t slot[];
};

/** Compute the number of bytes of an SPSC ring with `nb_slots` slots. */
static inline uint64_t
uroce_spsc_size(uint32_t nb_slots)
{
	return sizeof(struct uroce_spsc_ring) + nb_slots * sizeof(uint64_t);
}

/**
 * A descriptor of a frame or of an empty buffer, which is the contents of a slot of an SPSC ring.
 */
struct uroce_spsc_desc {
	uint32_t offset; /* offset in bytes of the frame or buffer in the shared memory */
	uint16_t len;
};

static inline uint64_t
uroce_spsc_pack(struct uroce_spsc_desc frame)
{
	return (uint64_t)frame.len << 32 | frame.offset;
}

static inline struct uroce_spsc_desc
uroce_spsc_unpack(uint64_t slot)
{
	return (struct uroce_spsc_desc){ (uint32_t)slot, (uint16_t)(slot >> 32) };
}

/** One end of an SPSC ring: producer or consumer. One thread uses it. */
struct uroce_spsc_end {
	struct uroce_spsc_ring *ring;
	uint32_t nb_slots;
	/* index of this end; the shared memory has a copy, which the other end reads */
	uint32_t mine;
};

static inline struct uroce_spsc_desc
uroce_spsc_get(const struct uroce_spsc_end *end, uint32_t i)
{
	const uint32_t at = (end->mine + i) & (end->nb_slots - 1);

	return uroce_spsc_unpack(atomic_load_explicit(&end->ring->slot[at], memory_order_relaxed));
}

static inline void
uroce_spsc_put(const struct uroce_spsc_end *end, uint32_t i, struct uroce_spsc_desc frame)
{
	const uint32_t at = (end->mine + i) & (end->nb_slots - 1);

	atomic_store_explicit(&end->ring->slot[at], uroce_spsc_pack(frame), memory_order_relaxed);
}

/**
 * Producer: get the number of slots of the SPSC ring that may be filled.
 * @return the number; -1: the index that the consumer published is invalid
 */
static inline int32_t
uroce_spsc_room(const struct uroce_spsc_end *producer)
{
	/*
	 * Acquire R2 pairs with release A2 in uroce_spsc_pop(), so slots before `tail`
	 * may be used.
	 */
	const uint32_t tail = atomic_load_explicit(&producer->ring->tail, memory_order_acquire);
	const uint32_t nb_full = producer->mine - tail;

	return nb_full <= producer->nb_slots ? (int32_t)(producer->nb_slots - nb_full) : -1;
}

/**
 * Consumer: get the number of full slots of the SPSC ring.
 * @return the number; -1: the index that the producer published is invalid
 */
static inline int32_t
uroce_spsc_ready(const struct uroce_spsc_end *consumer)
{
	/*
	 * Acquire R1 pairs with release A1 in uroce_spsc_push(), so slots before `head`
	 * are visible.
	 */
	const uint32_t head = atomic_load_explicit(&consumer->ring->head, memory_order_acquire);
	const uint32_t nb_full = head - consumer->mine;

	return nb_full <= consumer->nb_slots ? (int32_t)nb_full : -1;
}

/** Producer: publish the next `nb` slots of the SPSC ring, which have been filled. */
static inline void
uroce_spsc_push(struct uroce_spsc_end *producer, uint32_t nb)
{
	producer->mine += nb;
	/*
	 * Release A1 publishes the contents of the slots and their frames (acquire R1 in
	 * uroce_spsc_ready()).
	 */
	atomic_store_explicit(&producer->ring->head, producer->mine, memory_order_release);
}

/** Consumer: release the next `nb` slots of the SPSC ring, so that the producer may fill them. */
static inline void
uroce_spsc_pop(struct uroce_spsc_end *consumer, uint32_t nb)
{
	consumer->mine += nb;
	/*
	 * Release A2 comes after the consumer's last access to the slots (acquire R2 in
	 * uroce_spsc_room()).
	 */
	atomic_store_explicit(&consumer->ring->tail, consumer->mine, memory_order_release);
}

/**
 * Producer, after a push: whether the consumer sleeps and must be woken. The result is true once
 * for each sleep.
 */
static inline bool
uroce_spsc_must_wake(struct uroce_spsc_end *producer)
{
	/*
	 * Fence W1, with fence W2 in uroce_spsc_may_sleep(), orders the store of `head` before the
	 * load of `sleeps`.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&producer->ring->sleeps, memory_order_relaxed) == 0)
		return false;
	atomic_store_explicit(&producer->ring->sleeps, 0, memory_order_relaxed);
	return true;
}

/**
 * Consumer: announce to the producer that this consumer is going to sleep.
 * @return whether the consumer may sleep; false: the ring has entries
 */
static inline bool
uroce_spsc_may_sleep(struct uroce_spsc_end *consumer)
{
	atomic_store_explicit(&consumer->ring->sleeps, 1, memory_order_relaxed);
	/*
	 * Fence W2, with fence W1 in uroce_spsc_must_wake(), orders the store of `sleeps` before
	 * the load of `head`.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return uroce_spsc_ready(consumer) == 0;
}

/** Consumer: withdraw the announcement of a sleep, so that the producer sends no wake-up. */
static inline void
uroce_spsc_awake(struct uroce_spsc_end *consumer)
{
	atomic_store_explicit(&consumer->ring->sleeps, 0, memory_order_relaxed);
}

#endif /* UROCE_MUX_SPSC_RING_H */
