/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * QP numbers. `taken` is the book of the control path, `slot` what workers read: a number is taken
 * from the draw until its QP is gone, and published only in between.
 */

#include "datapath/qpn.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>
#include <rte_common.h>

static uint32_t
nb_slots(uint32_t max_qp)
{
	return rte_align32pow2(max_qp * 2);
}

size_t
uroce_qpn_table_memsize(uint32_t max_qp)
{
	const struct uroce_qpn_table *table = NULL;

	return sizeof(*table) +
	       nb_slots(max_qp) * (sizeof(table->slot[0]) + sizeof(table->taken[0]));
}

struct uroce_qpn_table *
uroce_qpn_table_init(void *mem, uint32_t max_qp)
{
	struct uroce_qpn_table *table = mem;

	table->mask = nb_slots(max_qp) - 1;
	table->max_qp = max_qp;
	table->nb_qp = 0;
	table->taken = (uint32_t *)&table->slot[nb_slots(max_qp)];
	return table;
}

int
uroce_qpn_alloc(struct uroce_qpn_table *table, uint32_t *qpn)
{
	uint32_t draw;

	if (table->nb_qp >= table->max_qp)
		return -ENOMEM;
	do {
		if (getrandom(&draw, sizeof(draw), 0) != sizeof(draw))
			return -ENOMEM;
		draw &= 0xffffff;
	} while (draw < UROCE_QPN_MIN || draw > UROCE_QPN_MAX || table->taken[draw & table->mask]);
	table->taken[draw & table->mask] = draw;
	table->nb_qp++;
	*qpn = draw;
	return 0;
}

void
uroce_qpn_free(struct uroce_qpn_table *table, uint32_t qpn)
{
	uint32_t *taken = &table->taken[qpn & table->mask];

	assert(*taken == qpn);
	*taken = 0;
	table->nb_qp--;
}

void
uroce_qpn_publish(struct uroce_qpn_table *table, struct uroce_qpr *qpr)
{
	const uint32_t qpn = qpr->qpc.qpn;

	assert(table->taken[qpn & table->mask] == qpn);
	atomic_store_explicit(&table->slot[qpn & table->mask], qpr, memory_order_release); /* Q1 */
}

void
uroce_qpn_withdraw(struct uroce_qpn_table *table, uint32_t qpn)
{
	assert(table->taken[qpn & table->mask] == qpn);
	atomic_store_explicit(&table->slot[qpn & table->mask], NULL, memory_order_release);
}
