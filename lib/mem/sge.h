/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_SGE_H
#define UROCE_MEM_SGE_H

/**
 * @file
 * Scatter/gather lists: from (list, offset, length) to slices of registered memory.
 *
 * Each call checks the key, range and right of every element it touches: a region may be
 * deregistered between two packets of one message. Elements of a null region read as zeros; what is
 * written to them is forgotten. Elements of an mkey (mkey.h) are no memory as it is: what is read through
 * one is put where the frame is built, and what is written goes through it.
 */

#include <errno.h>
#include <stdbool.h>
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

/** Where a payload will be in its frame, for what has to be made there. */
struct uroce_sge_room {
	uint8_t *at;        /* as many bytes as are asked for */
	bool is_retransmit; /* it was sent before: signatures in memory are not checked once more */
	bool is_bad;        /* out: set if a signature is bad that ends in this payload */
};

/** Sum of the elements' lengths. */
uint64_t uroce_sge_len(const struct ibv_sge *sge, unsigned nb_sge);

/**
 * Whether what is scattered over a list has to come in order: there is an mkey in it.
 */
bool uroce_sge_is_ordered(const struct uroce_mr_table *mrs, const struct ibv_sge *sge,
			  unsigned nb_sge);

/**
 * Slices of `[offset, offset + len)` of the concatenated list, for reading.
 * @param room  NULL: elements of an mkey are refused. A slice may point into it, to where the payload
 *	will have it
 * @param[out] slice  room for UROCE_SGE_MAX
 * @return number of slices (0 when len is 0), or -EFAULT: an element was refused, or the list is
 *	shorter than offset + len
 */
int uroce_sge_gather(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		     unsigned nb_sge, uint64_t offset, uint32_t len, struct uroce_sge_room *room,
		     struct uroce_slice *slice);

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
		return uroce_sge_gather(mrs, pdn, sge, nb_sge, 0, len, NULL, slice);
	if (sge->lkey != view->key && !uroce_mr_get_view(mrs, sge->lkey, pdn, 0, view))
		return uroce_sge_gather(mrs, pdn, sge, 1, 0, len, NULL, slice);
	const void *addr = uroce_mr_view_at(view, sge->addr, len);

	if (addr == NULL)
		return -EFAULT;
	*slice = (struct uroce_slice){ .addr = addr, .len = len };
	return 1;
}

/**
 * Copy `len` bytes to `[offset, offset + len)` of the concatenated list. All elements touched are
 * checked for IBV_ACCESS_LOCAL_WRITE before the first byte is written; of an mkey, what it says itself.
 * @param is_bad  set if a signature is bad that an mkey found in it; may be NULL
 * @return 0, -EFAULT: an element was refused, -EMSGSIZE: the list is shorter than offset + len
 */
int uroce_sge_scatter(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		      unsigned nb_sge, uint64_t offset, const void *src, uint32_t len,
		      bool *is_bad);

#endif /* UROCE_MEM_SGE_H */
