/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MW_H
#define UROCE_MEM_MW_H

/**
 * @file
 * Memory windows [IBA 10.6.7]: keys that a program makes valid for a part of a region by posting a
 * request, and invalid again by another, or by its peer's SEND with invalidate.
 *
 * Windows are entries of the same table as regions, and their keys are of the same space. The upper
 * 24 bits of a window's key are its own for life; the low 8 are new with every bind, and the
 * program's choice.
 *
 *	type 1	of a PD: any QP of it may bind and use it; bound again as often as one likes, and
 *		unbound by binding a length of 0
 *	type 2	bound through a QP and used through that QP alone; it must be invalidated before it
 *		is bound again. 2A is checked by the QP's number, 2B by its PD too.
 *
 * Concurrency: add and remove are control calls, as those of mr.h. Bind and invalidate are made by
 * any worker at any time: an entry changes hands by compare-and-swap. Access through a window that
 * another worker takes away at the same moment may still end as if it had come before.
 */

#include <stdint.h>

#include "mem/mr.h"

enum uroce_mw_kind {
	UROCE_MW_1 = 1,
	UROCE_MW_2A,
	UROCE_MW_2B,
};

/** What a window is bound to. */
struct uroce_mw_bind {
	uint32_t rkey;   /* the new key; its upper 24 bits say which window */
	uint32_t mr_key; /* region */
	uint64_t addr;   /* first byte, in the region's addresses */
	uint64_t len;    /* bytes; 0 unbinds (type 1) */
	uint32_t access; /* IBV_ACCESS_REMOTE_* and IBV_ACCESS_ZERO_BASED: the peer counts from 0 */
	uint32_t pdn;    /* of the QP that binds */
	uint32_t qpn;
};

/** Rights that a window may give. IBV_ACCESS_LOCAL_WRITE may stand beside them, as NICs let it: it gives none. */
#define UROCE_MW_RIGHTS                                                                            \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED)

/**
 * Make a window that is not bound.
 * @param[out] rkey  leads to it, but to no memory yet
 * @return 0 or -ENOMEM
 */
int uroce_mw_add(struct uroce_mr_table *table, enum uroce_mw_kind kind, uint32_t pdn,
		 uint32_t *rkey);

/**
 * Withdraw a window, bound or not. After the grace period, uroce_mr_free(*last_rkey).
 * @param rkey  any key that it had
 * @return 0; -EINVAL: no such window; -EBUSY: it is being bound at this moment
 */
int uroce_mw_remove(struct uroce_mr_table *table, uint32_t rkey, uint32_t *last_rkey);

/**
 * Bind. A failed bind changes nothing.
 * @return 0; -EINVAL: no such window or region, of another PD, not in the state that its type wants,
 *	range outside the region, flags unknown; -EACCES: the region does not allow it
 */
int uroce_mw_bind(struct uroce_mr_table *table, const struct uroce_mw_bind *bind);

/**
 * Invalidate a bound type 2 window, as the QP that it is bound through or as that QP's peer.
 * @return 0, or -EINVAL: nothing that this QP may invalidate has this key
 */
int uroce_mw_invalidate(struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn, uint32_t qpn);

#endif /* UROCE_MEM_MW_H */
