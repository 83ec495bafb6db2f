/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_QPN_H
#define UROCE_DATAPATH_QPN_H

/**
 * @file
 * From a QP number to its QP: a table of 2^k pointers, indexed by the low bits of the number.
 *
 * Numbers are drawn at random [design.md 6], again when their slot is taken, so a slot has one
 * owner and a look-up is one load and one comparison of the whole number. The table has twice as
 * many slots as QPs, so two draws suffice on average.
 *
 * Look-ups run on any worker without a lock; everything else is serialised by the caller.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "datapath/worker.h"

/** QPNs 0 and 1 are management's, 2^24 - 1 is multicast's [IBA 9.2.1]. */
#define UROCE_QPN_MIN 2u
#define UROCE_QPN_MAX 0xfffffeu

/** Numbers given back last, to whose QPs frames may still be under way. */
#define UROCE_QPN_QUARANTINE 64

struct uroce_qpn_table {
	uint32_t mask;                              /* number of slots - 1 */
	uint32_t max_qp;                            /* numbers that may be taken at a time */
	uint32_t nb_qp;                             /* numbers taken */
	uint32_t *taken;                            /* by slot: the number that owns it; 0: free */
	uint32_t nb_freed;                          /* numbers given back, modulo 2^32 */
	uint32_t quarantined[UROCE_QPN_QUARANTINE]; /* the last ones; 0: none yet */
	_Atomic(struct uroce_worker_qp *) slot[];
};

/** Slots of a table of up to `max_qp` QPs: a power of two. */
uint32_t uroce_qpn_table_slots(uint32_t max_qp);

/** Bytes for a table of up to `max_qp` QPs (1 .. 2^22). */
size_t uroce_qpn_table_memsize(uint32_t max_qp);

/** Make an empty table in zeroed `mem` (64-byte aligned). */
struct uroce_qpn_table *uroce_qpn_table_init(void *mem, uint32_t max_qp);

/** Draw a number and keep its slot. @return 0, or -ENOMEM: max_qp numbers are taken */
int uroce_qpn_alloc(struct uroce_qpn_table *table, uint32_t *qpn);

/**
 * The same, of numbers in blocks: block b has those from b * block_len on. Blocks have few numbers, so that one
 * would soon come again: those that rest are left out as long as there is luck with others.
 * @param is_thorough  each number is looked at; else there is some luck in it, which fails where most are taken
 * @return 0, -ENOMEM, or -ENOSPC: all that can be had of these blocks are taken, or most
 */
int uroce_qpn_alloc_of(struct uroce_qpn_table *table, const uint32_t *block, uint32_t nb_blocks,
		       uint32_t block_len, bool is_thorough, uint32_t *qpn);

/** Give a number back whose QP is not published. */
void uroce_qpn_free(struct uroce_qpn_table *table, uint32_t qpn);

/** Publish a QP under its number (Q1): from now on look-ups find it. */
void uroce_qpn_publish(struct uroce_qpn_table *table, struct uroce_worker_qp *wqp);

/** Withdraw it: look-ups that begin now miss it. Its memory lives until a grace period is over. */
void uroce_qpn_withdraw(struct uroce_qpn_table *table, uint32_t qpn);

/** A look-up comes soon: a hint. */
static inline void
uroce_qpn_fetch(const struct uroce_qpn_table *table, uint32_t qpn)
{
	__builtin_prefetch(&table->slot[qpn & table->mask]);
}

/** Who owns the slot of that number, be it of another; NULL: nobody. For a hint. */
static inline struct uroce_worker_qp *
uroce_qpn_peek(const struct uroce_qpn_table *table, uint32_t qpn)
{
	return atomic_load_explicit(&table->slot[qpn & table->mask], memory_order_acquire); /* B1 */
}

/** The QP of that number, good until the end of the round; NULL: none. */
static inline struct uroce_worker_qp *
uroce_qpn_lookup(const struct uroce_qpn_table *table, uint32_t qpn)
{
	/* B1: pairs with Q1, the context is complete */
	struct uroce_worker_qp *wqp = uroce_qpn_peek(table, qpn);

	return wqp && wqp->qpc.qpn == qpn ? wqp : NULL;
}

#endif /* UROCE_DATAPATH_QPN_H */
