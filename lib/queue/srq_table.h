/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_SRQ_TABLE_H
#define UROCE_QUEUE_SRQ_TABLE_H

/**
 * @file
 * XRC shared receive queues by number [IBA A14]: each request of a peer names the number of a
 * queue.
 *
 * Add and remove are control calls, serialised by their caller. Find may run on any thread at any
 * time. Between remove and freeing the queue the caller waits for a grace period.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/srq.h"

struct uroce_srq_table {
	uint32_t nb_slots;
	/* where uroce_srq_table_add() begins to search: behind the last queue that was added, so
	 * that a number is reused late */
	uint32_t next;
	_Atomic(struct uroce_srq *) slot[];
};

/** Bytes for a table of up to `nb_srq` queues (1 .. 2^24 - 1). */
size_t uroce_srq_table_memsize(uint32_t nb_srq);

struct uroce_srq_table *uroce_srq_table_init(void *mem, uint32_t nb_srq);

/**
 * Publish a queue and set its `srqn`, 1 .. nb_srq.
 * @return 0; -ENOMEM: the table is full
 */
int uroce_srq_table_add(struct uroce_srq_table *table, struct uroce_srq *srq);

/** Withdraw a queue. */
void uroce_srq_table_remove(struct uroce_srq_table *table, const struct uroce_srq *srq);

/**
 * Find the queue with a number.
 * @return NULL: no such queue; otherwise valid until the end of the worker's round
 */
static inline struct uroce_srq *
uroce_srq_table_find(const struct uroce_srq_table *table, uint32_t srqn)
{
	if (srqn - 1 >= table->nb_slots)
		return NULL;
	/* X1: sees the fields of the queue that were written before it was added */
	return atomic_load_explicit(&table->slot[srqn - 1], memory_order_acquire);
}

#endif /* UROCE_QUEUE_SRQ_TABLE_H */
