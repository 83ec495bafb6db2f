/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_SGE_H
#define UROCE_MEM_SGE_H

/**
 * @file
 * Scatter/gather lists: from (list, offset, length) to slices of registered memory.
 *
 * Each call checks the key, range and right of every element it touches: a region may be
 * deregistered between two packets of one message. Elements of a null region read as zeros; what is
 * written to them is forgotten.
 */

#include <errno.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"

/** A piece of memory that a packet's payload is gathered from. */
struct uroce_slice {
	const void *addr;
	uint32_t len; /* bytes */
	uint32_t
		key; /* of its region, which may be asked for a loan (mr.h); 0: it is to be copied */
};

/** Most elements that a work request may have. */
#define UROCE_SGE_MAX 32

/** Sum of the elements' lengths. */
uint64_t uroce_sge_len(const struct ibv_sge *sge, unsigned nb_sge);

/**
 * Slices of `[offset, offset + len)` of the concatenated list, for reading.
 * @param[out] slice  room for UROCE_SGE_MAX
 * @return number of slices (0 when len is 0), or -EFAULT: an element was refused, or the list is
 *	shorter than offset + len
 */
int uroce_sge_gather(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		     unsigned nb_sge, uint64_t offset, uint32_t len, struct uroce_slice *slice);

/**
 * The same for a whole list of `len` bytes, one of several that mostly point into the same region.
 * @param view  where the last element led to in this round; at first empty
 */
static inline int
uroce_sge_gather_all(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		     unsigned nb_sge, uint32_t len, struct uroce_mr_view *view,
		     struct uroce_slice *slice)
{
	if (nb_sge != 1 || len == 0)
		return uroce_sge_gather(mrs, pdn, sge, nb_sge, 0, len, slice);
	if (sge->lkey != view->key && !uroce_mr_look(mrs, sge->lkey, pdn, 0, view))
		return uroce_sge_gather(mrs, pdn, sge, 1, 0, len, slice);
	const void *addr = uroce_mr_view_at(view, sge->addr, len);

	if (addr == NULL)
		return -EFAULT;
	*slice = (struct uroce_slice){ .addr = addr, .len = len };
	return 1;
}

/**
 * Copy `len` bytes to `[offset, offset + len)` of the concatenated list. All elements touched are
 * checked for IBV_ACCESS_LOCAL_WRITE before the first byte is written.
 * @return 0, -EFAULT: an element was refused, -EMSGSIZE: the list is shorter than offset + len
 */
int uroce_sge_scatter(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		      unsigned nb_sge, uint64_t offset, const void *src, uint32_t len);

#endif /* UROCE_MEM_SGE_H */
