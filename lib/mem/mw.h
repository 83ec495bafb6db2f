/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MW_H
#define UROCE_MEM_MW_H

/**
 * @file
 * Memory windows [IBA 10.6.7]: keys for a part of a region. A program validates the key by a work
 * request (bind). Another work request, or the peer's SEND with invalidate, makes the key invalid
 * again.
 *
 * Windows are entries of the table of regions, and the keys of both come from the same space. The
 * upper 24 bits of a window's key never change. The program chooses new low 8 bits for each bind.
 *
 *	type 1	belongs to a PD: any QP of the PD may bind and use the window. The window may be
 *		bound again at any time. A bind with length 0 unbinds the window.
 *	type 2	is bound through a QP and used through that QP alone. The window must be
 *		invalidated before it is bound again. 2A is checked by the QP's number, 2B by the
 *		number and the PD.
 *
 * Concurrency: add and remove are control calls, as those of mr.h. Any worker may bind and
 * invalidate at any time, since a window's state changes by compare-and-swap. An access that runs
 * while another worker invalidates the window may still succeed, as if it had come before the
 * invalidation.
 */

#include <stdint.h>

#include "mem/mr.h"

enum uroce_mw_kind {
	UROCE_MW_1 = 1,
	UROCE_MW_2A,
	UROCE_MW_2B,
};

/** Parameters of a bind of a memory window. */
struct uroce_mw_bind {
	uint32_t rkey;   /* new key of the window; its upper 24 bits identify the window */
	uint32_t mr_key; /* key of the region to which the window is bound */
	uint64_t addr;   /* first address of the window, in the address range of the region */
	uint64_t len;    /* length of the window in bytes; 0 unbinds a window of type 1 */
	/*
	 * access rights of the window, IBV_ACCESS_REMOTE_*; with IBV_ACCESS_ZERO_BASED the peer's
	 * addresses begin at 0
	 */
	uint32_t access;
	uint32_t pdn; /* number of the protection domain of the QP that binds the window */
	uint32_t qpn;
};

/**
 * Access rights that a memory window may grant. A bind may also have IBV_ACCESS_LOCAL_WRITE,
 * because NICs allow this flag. It grants nothing.
 */
#define UROCE_MW_RIGHTS                                                                            \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 IBV_ACCESS_ZERO_BASED)

/**
 * Create a memory window that is not bound.
 * @param[out] rkey  key of the window, which is refused until the window is bound
 * @return 0 or -ENOMEM
 */
int uroce_mw_add(struct uroce_mr_table *table, enum uroce_mw_kind kind, uint32_t pdn,
		 uint32_t *rkey);

/**
 * Remove a window, bound or not, so that its key is refused. The caller waits for a grace period
 * (see the head of mr.h), and then calls uroce_mr_free() for `*last_rkey`.
 * @param rkey  any key that the window has had
 * @return 0; -EINVAL: there is no such window; -EBUSY: a bind of the window is in progress
 */
int uroce_mw_remove(struct uroce_mr_table *table, uint32_t rkey, uint32_t *last_rkey);

/**
 * Bind a window. A bind that fails changes nothing.
 * @return 0; -EINVAL: there is no such window or region, the PDs differ, a window of type 2 is
 *	bound already or would get length 0, the range is not in the region, or a flag is unknown;
 *	-EACCES: the region does not allow the bind
 */
int uroce_mw_bind(struct uroce_mr_table *table, const struct uroce_mw_bind *bind);

/**
 * Invalidate a bound type 2 window, for the QP through which the window is bound, or for that QP's
 * peer.
 * @return 0; -EINVAL: the QP `qpn` may not invalidate the key `rkey`
 */
int uroce_mw_invalidate(struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn, uint32_t qpn);

#endif /* UROCE_MEM_MW_H */
