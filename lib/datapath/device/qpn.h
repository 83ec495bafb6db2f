/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_QPN_H
#define UROCE_DATAPATH_QPN_H

/**
 * @file
 * The table of QPs by QPN: 2^k pointers, indexed by the low bits of the QPN.
 *
 * QPNs are drawn at random [design.md 6]. If a QPN's slot is taken, another QPN is drawn. So each
 * slot has one owner, and a lookup is one load and one comparison of the whole QPN. The table has
 * twice as many slots as QPs, so two draws are enough on average.
 *
 * QPN 1 belongs to the QP of management (GSI, general services interface) [IBA 13.5.1]. The slot of
 * QPN 1 is reserved: no other QPN takes the slot. The GSI QP is not one of the `max_qp` QPs of the
 * table.
 *
 * Any worker may look up a QPN without a lock. The caller serializes all other calls.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "datapath/worker/worker.h"

/** QPNs 0 and 1 are for management, 2^24 - 1 is for multicast [IBA 9.2.1]. */
#define UROCE_QPN_GSI 1u
#define UROCE_QPN_MIN 2u
#define UROCE_QPN_MAX 0xfffffeu

/**
 * Number of the most recently freed QPNs that are in quarantine: uroce_qpn_alloc_of() avoids them,
 * because frames to their former QPs may still be in the network.
 */
#define UROCE_QPN_QUARANTINE 64

struct uroce_qpn_table {
	/* mask of those bits of a QPN that are the index of its slot: number of slots - 1 */
	uint32_t mask;
	uint32_t max_qp;   /* maximum number of QPNs that may be allocated at a time */
	uint32_t nb_qp;    /* number of allocated QPNs, without QPN 1 */
	bool has_gsi;      /* QPN 1 is allocated */
	uint32_t *taken;   /* QPN that owns each slot; 0: the slot is free */
	uint32_t nb_freed; /* number of QPNs freed so far, modulo 2^32 */
	/* QPNs that were freed most recently; 0: unused entry. */
	uint32_t quarantined[UROCE_QPN_QUARANTINE];
	_Atomic(struct uroce_worker_qp *) slot[];
};

/** Get the number of slots of a table of QPNs for up to `max_qp` QPs: a power of two. */
uint32_t uroce_qpn_table_slots(uint32_t max_qp);

/** Get the length in bytes of a table of QPNs for up to `max_qp` QPs (1 .. 2^22). */
size_t uroce_qpn_table_memsize(uint32_t max_qp);

/** Initialize an empty table of QPNs in zeroed memory `mem` (64-byte aligned). */
struct uroce_qpn_table *uroce_qpn_table_init(void *mem, uint32_t max_qp);

/**
 * Draw a random QPN and take its slot.
 * @return 0, or -ENOMEM: max_qp QPNs are allocated
 */
int uroce_qpn_alloc(struct uroce_qpn_table *table, uint32_t *qpn);

/**
 * Draw a random QPN of given blocks and take its slot. Block b has `block_len` QPNs, from b *
 * block_len on.
 *
 * Blocks have few QPNs, so that a freed QPN would soon be drawn again. Therefore QPNs in quarantine
 * are skipped while random draws find others.
 * @param is_exhaustive  after the random draws all QPNs are tried; otherwise the call may fail when
 *   most QPNs are allocated
 * @return 0; -ENOMEM: max_qp QPNs are allocated; -ENOSPC: no free QPN was found in these blocks
 */
int uroce_qpn_alloc_of(struct uroce_qpn_table *table, const uint32_t *block, uint32_t nb_blocks,
		       uint32_t block_len, bool is_exhaustive, uint32_t *qpn);

/** Allocate QPN 1. @return 0, or -EBUSY: QPN 1 is already allocated */
int uroce_qpn_alloc_gsi(struct uroce_qpn_table *table);

/** Free a QPN whose QP is not published. */
void uroce_qpn_free(struct uroce_qpn_table *table, uint32_t qpn);

/** Publish a QP under its QPN. From now on lookups of the QPN find the QP. */
void uroce_qpn_publish(struct uroce_qpn_table *table, struct uroce_worker_qp *wqp);

/**
 * Withdraw a QP from the table of QPNs. Lookups that begin now do not find the QP. Its memory must
 * stay until a grace period is over.
 */
void uroce_qpn_withdraw(struct uroce_qpn_table *table, uint32_t qpn);

/** Hint: prefetch the slot of a QPN that will be looked up soon. */
static inline void
uroce_qpn_fetch(const struct uroce_qpn_table *table, uint32_t qpn)
{
	__builtin_prefetch(&table->slot[qpn & table->mask]);
}

/**
 * Hint: get the QP that owns the slot of this QPN, even if the QP has another QPN; NULL: the slot
 * is free.
 */
static inline struct uroce_worker_qp *
uroce_qpn_peek(const struct uroce_qpn_table *table, uint32_t qpn)
{
	/* Acquire B1 pairs with release Q1 in qpn.c: the fields of the QP context are visible. */
	return atomic_load_explicit(&table->slot[qpn & table->mask], memory_order_acquire);
}

/**
 * Look up the QP of a QPN. The QP is valid until the end of the calling worker's round. NULL: no QP
 * has this QPN.
 */
static inline struct uroce_worker_qp *
uroce_qpn_lookup(const struct uroce_qpn_table *table, uint32_t qpn)
{
	/* Acquire B1 in uroce_qpn_peek() makes the fields of the QP context visible. */
	struct uroce_worker_qp *wqp = uroce_qpn_peek(table, qpn);

	return wqp && wqp->qpc.qpn == qpn ? wqp : NULL;
}

#endif /* UROCE_DATAPATH_QPN_H */
