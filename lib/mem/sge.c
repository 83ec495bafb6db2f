/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One walk serves both directions: it turns a range of the list into pieces of memory, and the
 * caller touches them only when all are known to be good. Elements of length zero are stepped over
 * unchecked, wherever they point: no memory of theirs is touched.
 */

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "mem/copy.h"
#include "mem/sge.h"

uint64_t
uroce_sge_len(const struct ibv_sge *sge, unsigned nb_sge)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < nb_sge; i++)
		len += sge[i].length;
	return len;
}

/* What a null region reads as. No packet has more payload. */
static const uint8_t zeros[4096];

/*
 * An element that does not resolve: of a null region it is read as zeros, and written nowhere, which an
 * address of NULL says.
 */
static __attribute__((noinline)) bool
is_null_piece(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
	      uint32_t len, uint32_t access, struct uroce_slice *slice)
{
	const bool is_read = !(access & IBV_ACCESS_LOCAL_WRITE);

	if (!uroce_mr_is_null(mrs, sge->lkey, pdn) || (is_read && len > sizeof(zeros)))
		return false;
	*slice = (struct uroce_slice){ .addr = is_read ? zeros : NULL, .len = len };
	return true;
}

/* The pieces of [offset, offset + len), len > 0. Returns their number, or -EFAULT, -EMSGSIZE. */
static int
walk(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge, unsigned nb_sge,
     uint64_t offset, uint32_t len, uint32_t access, struct uroce_slice *slice)
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

		slice[nb] = (struct uroce_slice){ .addr = addr, .len = n, .key = sge[i].lkey };
		if (addr == NULL && !is_null_piece(mrs, pdn, &sge[i], n, access, &slice[nb]))
			return -EFAULT;
		nb++;
		offset = 0;
		len -= n;
	}
	return len == 0 ? nb : -EMSGSIZE;
}

int
uroce_sge_gather(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		 unsigned nb_sge, uint64_t offset, uint32_t len, struct uroce_slice *slice)
{
	if (len == 0)
		return 0;
	/* Most requests have one element. */
	if (nb_sge == 1 && offset < sge->length && len <= sge->length - offset) {
		const void *addr = uroce_mr_resolve_sge(mrs, pdn, sge, offset, len, 0);

		if (addr == NULL)
			return is_null_piece(mrs, pdn, sge, len, 0, slice) ? 1 : -EFAULT;
		*slice = (struct uroce_slice){ .addr = addr, .len = len, .key = sge->lkey };
		return 1;
	}
	const int nb = walk(mrs, pdn, sge, nb_sge, offset, len, 0, slice);

	return nb >= 0 ? nb : -EFAULT;
}

int
uroce_sge_scatter(const struct uroce_mr_table *mrs, uint32_t pdn, const struct ibv_sge *sge,
		  unsigned nb_sge, uint64_t offset, const void *src, uint32_t len)
{
	const uint32_t access = IBV_ACCESS_LOCAL_WRITE;
	const uint8_t *from = src;

	if (len == 0)
		return 0;
	if (nb_sge == 1 && offset < sge->length && len <= sge->length - offset) {
		void *to = uroce_mr_resolve_sge(mrs, pdn, sge, offset, len, access);

		if (to == NULL)
			return uroce_mr_is_null(mrs, sge->lkey, pdn) ? 0 : -EFAULT;
		uroce_copy(to, src, len);
		return 0;
	}
	struct uroce_slice slice[UROCE_SGE_MAX];
	const int nb = walk(mrs, pdn, sge, nb_sge, offset, len, access, slice);

	if (nb < 0)
		return nb;
	for (int i = 0; i < nb; i++) {
		if (slice[i].addr != NULL)
			uroce_copy((void *)slice[i].addr, from, slice[i].len);
		from += slice[i].len;
	}
	return 0;
}
