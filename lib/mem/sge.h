/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_SGE_H
#define UROCE_MEM_SGE_H

/**
 * @file
 * Scatter/gather lists: conversion of (list, offset, length) to slices of registered memory.
 *
 * Each call checks the key, range and rights of every element that it accesses, since a region may
 * be deregistered between two packets of one message. Elements of a null region read as zeros, and
 * data written to them is discarded. An element of an mkey (mkey.h) has no plain memory. Data read
 * from it is generated in the frame; data written to it passes through the mkey's conversion.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"

/** A contiguous piece of memory from which a part of a packet's payload is gathered. */
struct uroce_slice {
	const void *addr;
	uint32_t len; /* length of the slice in bytes */
	/* key of the slice's region, for a TX reference (mr.h); 0 if the slice must be copied */
	uint32_t key;
};

/** Maximum number of scatter/gather elements of a work request. */
#define UROCE_SGE_MAX 32

/**
 * Memory in a frame for the payload of a packet. Data that is read through an mkey is written into
 * it.
 */
struct uroce_sge_room {
	/*
	 * first byte of the memory, which has room for the whole payload that the caller requests
	 */
	uint8_t *at;
	/* the packet is a retransmission, so signatures in memory are not checked again */
	bool is_retransmit;
	bool is_bad; /* output: set if a signature of an mkey that ends in this payload is bad */
};

/** Compute the sum of the lengths of the elements of a scatter/gather list. */
uint64_t uroce_sge_len(const struct ibv_sge *sge, unsigned nb_sge);

/**
 * Whether received data must be written to a scatter/gather list in PSN order, because an element
 * has the key of an mkey.
 */
bool uroce_sge_is_ordered(const struct uroce_mr_table *mrs, const struct ibv_sge *sge,
			  unsigned nb_sge);

/**
 * Find the memory of the range `[offset, offset + len)` of a scatter/gather list whose elements are
 * concatenated, as slices for reading.
 * @param room  memory for the payload in the frame; if NULL, elements of an mkey are refused. A
 *	slice may point into this memory.
 * @param[out] slice  array of UROCE_SGE_MAX slices
 * @return number of slices (0 when len is 0); -EFAULT: an element was refused, or the list is
 *	shorter than offset + len
 */
int uroce_sge_gather(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		     unsigned nb_sge, uint64_t offset, uint32_t len, struct uroce_sge_room *room,
		     struct uroce_slice *slice);

/**
 * Find the memory of a whole scatter/gather list of `len` bytes, as uroce_sge_gather() does. The
 * function is fast for a sequence of lists whose elements mostly are in one region.
 * @param view  cache of the last region that was looked up in this round (pass of the worker's
 *	loop); initially empty
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
 * Copy `len` bytes to the range `[offset, offset + len)` of a scatter/gather list whose elements
 * are concatenated. All elements in the range are checked for IBV_ACCESS_LOCAL_WRITE before the
 * first byte is written. For an element of an mkey, the mkey's own access rights are checked, and
 * the regions of its layout when they are written.
 * @param is_bad  set if an mkey found a bad signature in the data; may be NULL
 * @return 0; -EFAULT: an element was refused; -EMSGSIZE: the list is shorter than offset + len
 */
int uroce_sge_scatter(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		      unsigned nb_sge, uint64_t offset, const void *src, uint32_t len,
		      bool *is_bad);

#endif /* UROCE_MEM_SGE_H */
