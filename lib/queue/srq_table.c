/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Table of XRC shared receive queues: an array. The number of a queue is its index plus one, so
 * that no queue has the number 0.
 */

#include "queue/srq_table.h"

#include <assert.h>
#include <errno.h>

size_t
uroce_srq_table_memsize(uint32_t nb_srq)
{
	return sizeof(struct uroce_srq_table) + nb_srq * sizeof(_Atomic(struct uroce_srq *));
}

struct uroce_srq_table *
uroce_srq_table_init(void *mem, uint32_t nb_srq)
{
	struct uroce_srq_table *table = mem;

	assert(nb_srq >= 1 && nb_srq < 1u << 24);
	table->nb_slots = nb_srq;
	table->next = 0;
	for (uint32_t i = 0; i < nb_srq; i++)
		atomic_init(&table->slot[i], NULL);
	return table;
}

int
uroce_srq_table_add(struct uroce_srq_table *table, struct uroce_srq *srq)
{
	for (uint32_t i = 0; i < table->nb_slots; i++) {
		const uint32_t idx = (table->next + i) % table->nb_slots;

		if (atomic_load_explicit(&table->slot[idx], memory_order_relaxed))
			continue;
		srq->srqn = idx + 1;
		table->next = idx + 1;
		/*
		 * Release X1: a thread that finds the queue (acquire X1 in uroce_srq_table_find())
		 * sees its fields.
		 */
		atomic_store_explicit(&table->slot[idx], srq, memory_order_release);
		return 0;
	}
	return -ENOMEM;
}

void
uroce_srq_table_remove(struct uroce_srq_table *table, const struct uroce_srq *srq)
{
	assert(uroce_srq_table_find(table, srq->srqn) == srq);
	atomic_store_explicit(&table->slot[srq->srqn - 1], NULL, memory_order_relaxed);
}
