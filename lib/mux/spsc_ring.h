/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_SPSC_RING_H
#define UROCE_MUX_SPSC_RING_H

/**
 * @file
 * Lanes: rings of descriptors in memory that a client shares with uroced, one producer and one consumer
 * each [doc/design/multiplexer.md]. The frames lie beside them in the same area, at the offsets that the
 * slots name.
 *
 *	up    the client produces: a slot names a frame
 *	down  the client fills slots with the offsets of empty buffers before it gives them, by `tail`, to
 *	      uroced, which writes the frame there and its length into the slot
 *
 * Indexes count up for ever, modulo 2^32; [tail, head) is full. An end believes its own index, in memory of
 * its own, and nothing that the other one wrote: what the other index says is judged, and so is each slot,
 * loaded once.
 *
 *	A1 pairs with R1: up to `head`, slots and the bytes that they name are visible
 *	A2 pairs with R2: before `tail`, both may be used again
 *	W1 pairs with W2: who goes to sleep sees the frame, or who has put it there sees the sleeper
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Slots of a lane: a power of two in these bounds. */
#define UROCE_SPSC_SLOTS_MIN 64u
#define UROCE_SPSC_SLOTS_MAX 16384u

/**
 * Offset in a slot of a lane up that names no frame (its length is 0): a barrier. uroced passes it when it has taken what
 * other clients had in their lanes when it met the barrier, and has found the wire empty. What was passed on then is in the
 * client's lanes down. A client that has more in its lanes than its turns allow is waited for during some rounds only.
 */
#define UROCE_SPSC_BARRIER UINT32_MAX

/** In the area, at a multiple of 64. Zero when it is new. */
struct uroce_spsc_ring {
	_Alignas(64) _Atomic uint32_t head; /* written by the producer */
	_Alignas(64) _Atomic uint32_t tail; /* written by the consumer */
	_Atomic uint32_t sleeps;            /* the consumer wants to be woken: 1 */
	_Alignas(64) _Atomic uint64_t slot[];
};

/** Bytes of a lane. */
static inline uint64_t
uroce_spsc_size(uint32_t nb_slots)
{
	return sizeof(struct uroce_spsc_ring) + nb_slots * sizeof(uint64_t);
}

/** What a slot says. */
struct uroce_spsc_desc {
	uint32_t offset; /* from the area's beginning */
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

/** One end of a lane; one thread. */
struct uroce_spsc_end {
	struct uroce_spsc_ring *ring;
	uint32_t nb_slots;
	uint32_t mine; /* this end's index, as it was published */
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

/** Slots that the producer may fill. @return -1: the other end's index cannot be */
static inline int32_t
uroce_spsc_room(const struct uroce_spsc_end *producer)
{
	/* R2 */
	const uint32_t tail = atomic_load_explicit(&producer->ring->tail, memory_order_acquire);
	const uint32_t nb_full = producer->mine - tail;

	return nb_full <= producer->nb_slots ? (int32_t)(producer->nb_slots - nb_full) : -1;
}

/** Slots that are full. @return -1: the other end's index cannot be */
static inline int32_t
uroce_spsc_ready(const struct uroce_spsc_end *consumer)
{
	/* R1 */
	const uint32_t head = atomic_load_explicit(&consumer->ring->head, memory_order_acquire);
	const uint32_t nb_full = head - consumer->mine;

	return nb_full <= consumer->nb_slots ? (int32_t)nb_full : -1;
}

/** The producer has filled the next `nb` slots. */
static inline void
uroce_spsc_push(struct uroce_spsc_end *producer, uint32_t nb)
{
	producer->mine += nb;
	atomic_store_explicit(&producer->ring->head, producer->mine, memory_order_release); /* A1 */
}

/** The consumer is done with the next `nb` slots. */
static inline void
uroce_spsc_pop(struct uroce_spsc_end *consumer, uint32_t nb)
{
	consumer->mine += nb;
	atomic_store_explicit(&consumer->ring->tail, consumer->mine, memory_order_release); /* A2 */
}

/** The producer, after a push: whether the consumer sleeps and has to be woken; once a sleep. */
static inline bool
uroce_spsc_must_wake(struct uroce_spsc_end *producer)
{
	atomic_thread_fence(memory_order_seq_cst); /* W1 */
	if (atomic_load_explicit(&producer->ring->sleeps, memory_order_relaxed) == 0)
		return false;
	atomic_store_explicit(&producer->ring->sleeps, 0, memory_order_relaxed);
	return true;
}

/** The consumer is about to sleep. @return whether it may: else there is something in the lane */
static inline bool
uroce_spsc_may_sleep(struct uroce_spsc_end *consumer)
{
	atomic_store_explicit(&consumer->ring->sleeps, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* W2 */
	return uroce_spsc_ready(consumer) == 0;
}

/** And is awake: the producer need not care. */
static inline void
uroce_spsc_awake(struct uroce_spsc_end *consumer)
{
	atomic_store_explicit(&consumer->ring->sleeps, 0, memory_order_relaxed);
}

#endif /* UROCE_MUX_SPSC_RING_H */
