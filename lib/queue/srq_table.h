/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_SRQ_TABLE_H
#define UROCE_QUEUE_SRQ_TABLE_H

/**
 * @file
 * Table that finds an XRC shared receive queue by its number [IBA A14]. Each request of a peer
 * names the number of a queue.
 *
 * Adding and removing a queue are control calls, which the caller serialises.
 * uroce_srq_table_find() may run on any thread at any time. After a queue was removed, the caller
 * waits for a grace period, until no worker may still use it, before it frees the queue.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/srq.h"

struct uroce_srq_table {
	uint32_t nb_slots;
	/*
	 * index at which uroce_srq_table_add() begins to search for a free number. The index
	 * follows that of the queue that was added last, so that a number is reused late.
	 */
	uint32_t next;
	_Atomic(struct uroce_srq *) slot[];
};

/**
 * Number of bytes that a table of up to `nb_srq` XRC shared receive queues (1 .. 2^24 - 1) takes.
 */
size_t uroce_srq_table_memsize(uint32_t nb_srq);

struct uroce_srq_table *uroce_srq_table_init(void *mem, uint32_t nb_srq);

/**
 * Add an XRC shared receive queue to the table, set its `srqn` (1 .. nb_srq), and publish it.
 * @return 0; -ENOMEM: the table is full
 */
int uroce_srq_table_add(struct uroce_srq_table *table, struct uroce_srq *srq);

/** Remove an XRC shared receive queue from the table. */
void uroce_srq_table_remove(struct uroce_srq_table *table, const struct uroce_srq *srq);

/**
 * Find the XRC shared receive queue with the number `srqn`.
 * @return the queue, valid until the calling worker ends its current round (one pass of its loop);
 *	NULL: no queue has this number
 */
static inline struct uroce_srq *
uroce_srq_table_find(const struct uroce_srq_table *table, uint32_t srqn)
{
	if (srqn - 1 >= table->nb_slots)
		return NULL;
	/*
	 * Acquire X1 pairs with release X1 in srq_table.c, so the fields of the queue are
	 * visible.
	 */
	return atomic_load_explicit(&table->slot[srqn - 1], memory_order_acquire);
}

#endif /* UROCE_QUEUE_SRQ_TABLE_H */
