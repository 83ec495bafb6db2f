/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Scatter/gather lists. One function, walk_sges(), serves both directions: it converts a range of a
 * list to pieces of memory. The caller accesses the pieces only after all of them have passed the
 * checks. Elements of length zero are skipped without a check, since no memory is accessed for
 * them.
 */

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "base/copy.h"
#include "mem/mkey.h"
#include "mem/sge.h"

uint64_t
uroce_sge_len(const struct ibv_sge *sge, unsigned nb_sge)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < nb_sge; i++)
		len += sge[i].length;
	return len;
}

/* Contents that a null region has when it is read. No packet has more payload than this array. */
static const uint8_t zeros[4096];

/* A part of the memory of one scatter/gather element. */
struct piece {
	/*
	 * first byte of the piece; NULL if the piece is of an mkey, or for a write to a null region
	 */
	const void *addr;
	uint64_t va; /* first address of the piece as requests use it, if the piece is of an mkey */
	uint32_t len;
	uint32_t key;
	bool is_mkey;
};

/*
 * Find the piece of memory for an element whose key uroce_mr_resolve_sge() refused: an element of
 * an mkey or of a null region. A null region reads as zeros. Data that is written to it is
 * discarded.
 */
static __attribute__((noinline)) bool
find_uncommon(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
	      uint32_t skip, uint32_t access, struct piece *piece)
{
	const bool is_read = !(access & IBV_ACCESS_LOCAL_WRITE);

	if (uroce_mr_is_null(mrs, sge->lkey, pdn)) {
		piece->addr = is_read ? zeros : NULL;
		piece->key = 0;
		return !is_read || piece->len <= sizeof(zeros);
	}
	piece->va = sge->addr + skip;
	piece->is_mkey = piece->va >= sge->addr &&
			 uroce_mkey_may(mrs, sge->lkey, pdn, piece->va, piece->len, access);
	return piece->is_mkey;
}

/*
 * Convert the range `[offset, offset + len)` of a scatter/gather list to pieces of memory. `len`
 * must be above 0.
 * @return number of pieces; -EFAULT: access is refused; -EMSGSIZE: the list is too short
 */
static int
walk_sges(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
	  unsigned nb_sge, uint64_t offset, uint32_t len, uint32_t access, struct piece *piece)
{
	int nb = 0;

	assert(nb_sge <= UROCE_SGE_MAX);
	for (unsigned i = 0; i < nb_sge && len > 0; i++) {
		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		const uint32_t skip = (uint32_t)offset;
		const uint32_t rest = sge[i].length - skip;
		const uint32_t n = len < rest ? len : rest;
		const void *addr = uroce_mr_resolve_sge(mrs, pdn, &sge[i], skip, n, access);

		piece[nb] = (struct piece){ .addr = addr, .len = n, .key = sge[i].lkey };
		if (addr == NULL && !find_uncommon(mrs, pdn, &sge[i], skip, access, &piece[nb]))
			return -EFAULT;
		nb++;
		offset = 0;
		len -= n;
	}
	return len == 0 ? nb : -EMSGSIZE;
}

bool
uroce_sge_is_ordered(const struct uroce_mr_table *mrs, const struct ibv_sge *sge, unsigned nb_sge)
{
	for (unsigned i = 0; i < nb_sge; i++)
		if (uroce_mkey_is(mrs, sge[i].lkey))
			return true;
	return false;
}

/* Read a piece of an mkey's data into the memory `room` of a frame, at offset `at`. */
static bool
read_mkey(const struct uroce_mr_table *mrs, uint32_t pdn, const struct piece *piece, uint32_t at,
	  struct uroce_sge_room *room, struct uroce_slice *slice)
{
	if (room == NULL)
		return false;
	*slice = (struct uroce_slice){ .addr = room->at + at, .len = piece->len };
	return uroce_mkey_read(mrs, piece->key, pdn, piece->va, piece->len, 0, room->at + at,
			       room->is_retransmit ? NULL : &room->is_bad) == 0;
}

int
uroce_sge_gather(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		 unsigned nb_sge, uint64_t offset, uint32_t len, struct uroce_sge_room *room,
		 struct uroce_slice *slice)
{
	if (len == 0)
		return 0;
	/*
	 * Fast path for a range within the only element of a list, since most requests have one
	 * element.
	 */
	if (nb_sge == 1 && offset < sge->length && len <= sge->length - offset) {
		const void *addr = uroce_mr_resolve_sge(mrs, pdn, sge, offset, len, 0);

		if (addr != NULL) {
			*slice = (struct uroce_slice){ .addr = addr, .len = len, .key = sge->lkey };
			return 1;
		}
	}
	struct piece piece[UROCE_SGE_MAX];
	const int nb = walk_sges(mrs, pdn, sge, nb_sge, offset, len, 0, piece);
	uint32_t at = 0;

	for (int i = 0; i < nb; i++) {
		slice[i] = (struct uroce_slice){ piece[i].addr, piece[i].len, piece[i].key };
		if (piece[i].is_mkey && !read_mkey(mrs, pdn, &piece[i], at, room, &slice[i]))
			return -EFAULT;
		at += piece[i].len;
	}
	return nb >= 0 ? nb : -EFAULT;
}

int
uroce_sge_scatter(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		  unsigned nb_sge, uint64_t offset, const void *src, uint32_t len, bool *is_bad)
{
	const uint32_t access = IBV_ACCESS_LOCAL_WRITE;
	const uint8_t *from = src;

	if (len == 0)
		return 0;
	if (nb_sge == 1 && offset < sge->length && len <= sge->length - offset) {
		void *to = uroce_mr_resolve_sge(mrs, pdn, sge, offset, len, access);

		if (to != NULL) {
			uroce_copy(to, src, len);
			return 0;
		}
	}
	struct piece piece[UROCE_SGE_MAX];
	const int nb = walk_sges(mrs, pdn, sge, nb_sge, offset, len, access, piece);

	if (nb < 0)
		return nb;
	for (int i = 0; i < nb; from += piece[i++].len) {
		if (piece[i].addr != NULL)
			uroce_copy((void *)piece[i].addr, from, piece[i].len);
		else if (piece[i].is_mkey &&
			 uroce_mkey_write(mrs, piece[i].key, pdn, piece[i].va, from, piece[i].len,
					  access, is_bad) != 0)
			return -EFAULT;
	}
	return 0;
}
