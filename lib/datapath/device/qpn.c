/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Allocation of QPNs. In the table of QPNs the control path uses the array `taken`; workers read
 * the array `slot`. A QPN is in `taken` from its allocation until its QP has been destroyed. The QP
 * is in `slot` only for a part of that time.
 */

#include "datapath/device/qpn.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/random.h>
#include <rte_common.h>

/* number of random draws of a QPN from leased blocks, in which most QPNs may be taken */
#define DRAWS 16

uint32_t
uroce_qpn_table_slots(uint32_t max_qp)
{
	return rte_align32pow2(max_qp * 2);
}

size_t
uroce_qpn_table_memsize(uint32_t max_qp)
{
	const struct uroce_qpn_table *table = NULL;

	return sizeof(*table) +
	       uroce_qpn_table_slots(max_qp) * (sizeof(table->slot[0]) + sizeof(table->taken[0]));
}

struct uroce_qpn_table *
uroce_qpn_table_init(void *mem, uint32_t max_qp)
{
	struct uroce_qpn_table *table = mem;

	table->mask = uroce_qpn_table_slots(max_qp) - 1;
	table->max_qp = max_qp;
	table->nb_qp = 0;
	table->taken = (uint32_t *)&table->slot[uroce_qpn_table_slots(max_qp)];
	table->taken[UROCE_QPN_GSI & table->mask] = UROCE_QPN_GSI;
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

/*
 * Mark a QPN as allocated, if it is valid and free.
 * @return whether the QPN is allocated now
 */
static bool
take_qpn(struct uroce_qpn_table *table, uint32_t qpn)
{
	uint32_t *taken = &table->taken[qpn & table->mask];

	if (qpn < UROCE_QPN_MIN || qpn > UROCE_QPN_MAX || *taken)
		return false;
	*taken = qpn;
	table->nb_qp++;
	return true;
}

/*
 * Whether a QPN was freed recently. A frame to its former QP may still be in the network. If the
 * frame's PSN fits by chance, a new QP with this QPN would accept it.
 */
static bool
is_quarantined(const struct uroce_qpn_table *table, uint32_t qpn)
{
	for (unsigned i = 0; i < UROCE_QPN_QUARANTINE; i++) {
		if (table->quarantined[i] == qpn)
			return true;
	}
	return false;
}

int
uroce_qpn_alloc_of(struct uroce_qpn_table *table, const uint32_t *block, uint32_t nb_blocks,
		   uint32_t block_len, bool is_exhaustive, uint32_t *qpn)
{
	const uint32_t nb = nb_blocks * block_len;
	uint32_t draw[DRAWS];

	if (table->nb_qp >= table->max_qp)
		return -ENOMEM;
	if (nb == 0)
		return -ENOSPC;
	if (getrandom(draw, sizeof(draw), 0) != sizeof(draw))
		return -ENOMEM;
	/*
	 * First try random QPNs of the given blocks, then all QPNs of the blocks in cyclic order.
	 */
	for (uint32_t i = 0; i < DRAWS + (is_exhaustive ? nb : 0); i++) {
		const uint32_t at = (i < DRAWS ? draw[i] : draw[DRAWS - 1] + i) % nb;
		const uint32_t one = block[at / block_len] * block_len + at % block_len;

		if (i < DRAWS && is_quarantined(table, one))
			continue;
		if (take_qpn(table, one)) {
			*qpn = one;
			return 0;
		}
	}
	return -ENOSPC;
}

int
uroce_qpn_alloc_gsi(struct uroce_qpn_table *table)
{
	if (table->has_gsi)
		return -EBUSY;
	table->has_gsi = true;
	return 0;
}

void
uroce_qpn_free(struct uroce_qpn_table *table, uint32_t qpn)
{
	uint32_t *taken = &table->taken[qpn & table->mask];

	assert(*taken == qpn);
	if (qpn == UROCE_QPN_GSI) {
		/*
		 * the slot of QPN 1 stays reserved after QPN 1 is freed, so `taken` does not change
		 */
		table->has_gsi = false;
		return;
	}
	*taken = 0;
	table->nb_qp--;
	table->quarantined[table->nb_freed++ % UROCE_QPN_QUARANTINE] = qpn;
}

void
uroce_qpn_publish(struct uroce_qpn_table *table, struct uroce_worker_qp *wqp)
{
	const uint32_t qpn = wqp->qpc.qpn;

	assert(table->taken[qpn & table->mask] == qpn);
	/*
	 * Publish the QP. Release Q1 pairs with acquire B1 in uroce_qpn_peek(): a thread that finds
	 * the QP sees the fields of its context.
	 */
	atomic_store_explicit(&table->slot[qpn & table->mask], wqp, memory_order_release);
}

void
uroce_qpn_withdraw(struct uroce_qpn_table *table, uint32_t qpn)
{
	assert(table->taken[qpn & table->mask] == qpn);
	atomic_store_explicit(&table->slot[qpn & table->mask], NULL, memory_order_release);
}
