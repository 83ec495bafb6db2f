/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MR_H
#define UROCE_MEM_MR_H

/**
 * @file
 * Memory regions: a table of entries found by key. Windows (mw.h) are entries of it, too.
 *
 * A key is 32 bits: the upper 24 are a keyed permutation of the entry's index, so that look-up is
 * O(1) and keys cannot be guessed from one another; the low 8 are a random tag, so that a key that
 * was deregistered does not come back soon. lkey and rkey of a region are the same number.
 *
 * Concurrency: add, invalidate and free are control calls; their caller serialises them. Resolve may
 * run on any thread at any time without a lock: an entry is published and withdrawn by one atomic
 * word (labels R1/A1 in mr.c). Between invalidate and free the caller waits for a grace period:
 * until no worker is inside a round that began before.
 */

#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct uroce_mr_table;

/** What a region is made of. */
struct uroce_mr_conf {
	void *addr; /* first byte, as this process addresses it; NULL only if `len` is 0 or nothing
			    need be there */
	uint64_t iova; /* the address that work requests and peers use for it */
	uint64_t len;  /* bytes */
	uint32_t pdn;  /* number of its protection domain */
	uint32_t
		access; /* enum ibv_access_flags; with ON_DEMAND `addr` need not be mapped (odp.h) */
	bool is_null;   /* no memory at all, and no key for peers: see uroce_mr_is_null() */
};

/** Bytes for a table of up to `nb_mr` regions (1 .. 2^24). */
size_t uroce_mr_table_memsize(uint32_t nb_mr);

/**
 * Make a table in `mem` (64-byte aligned, uroce_mr_table_memsize() bytes, owned by the caller).
 * @param secret  random bytes that the permutation and the tags are drawn from
 */
struct uroce_mr_table *uroce_mr_table_init(void *mem, uint32_t nb_mr, const uint8_t secret[16]);

/** Number of regions now registered, and of windows. */
uint32_t uroce_mr_table_count(const struct uroce_mr_table *table);

/**
 * Register a region and publish it.
 * @param[out] key  lkey and rkey; never 0
 * @return 0, -ENOMEM when the table is full, -EINVAL when iova + len or addr + len wraps, or
 *	addr is NULL and len is not 0
 */
int uroce_mr_add(struct uroce_mr_table *table, const struct uroce_mr_conf *conf, uint32_t *key);

/**
 * What a key leads to, for control calls.
 * @param[out] conf  of the region; written on success
 * @return 0; -EFAULT nothing is there; -ENOENT something that has another key by now; -EINVAL a window
 *	or an mkey
 */
int uroce_mr_query(const struct uroce_mr_table *table, uint32_t key, struct uroce_mr_conf *conf);

/**
 * Make an invalidated region another one, under the same key, after the grace period and the end of its
 * loans. A control call, of whoever invalidated it.
 * @param conf  one that uroce_mr_add() would take
 */
void uroce_mr_replace(struct uroce_mr_table *table, uint32_t key, const struct uroce_mr_conf *conf);

/**
 * Withdraw a region: from now on it does not resolve.
 * @return 0; -EINVAL: no such key; -EBUSY: windows are bound to it
 */
int uroce_mr_invalidate(struct uroce_mr_table *table, uint32_t key);

/**
 * Give the entry of an invalidated region, or a removed window, back after the grace period. Only
 * for a key that was withdrawn: anything else is an error of the caller's program and asserted.
 */
void uroce_mr_free(struct uroce_mr_table *table, uint32_t key);

/**
 * The memory behind `[va, va + len)` of a region, if every check holds: key valid, same protection
 * domain, range inside the region, all of `access` granted.
 * @param access  enum ibv_access_flags that the operation needs; 0 for local read
 * @return the address, good until the end of the worker's round; NULL when refused. Of an on-demand
 *	region the first UROCE_ODP_MAX bytes behind it are good.
 */
void *uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t va,
		       uint64_t len, uint32_t access);

/**
 * The same for a piece of an element of a scatter list: `len` bytes behind the first `skip`. The element
 * is checked from its first byte on, so that one that runs past the end of the address space is refused.
 */
void *uroce_mr_resolve_sge(const struct uroce_mr_table *table, uint32_t pdn,
			   const struct ibv_sge *sge, uint64_t skip, uint64_t len, uint32_t access);

/**
 * Whether a key is that of a null region of this domain. It resolves to nothing; who reads or writes by
 * a scatter list asks when it did not (sge.h).
 */
bool uroce_mr_is_null(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn);

/** What a key leads to, for many ranges of it. */
struct uroce_mr_view {
	uint32_t key; /* 0: to nothing */
	uint64_t iova;
	uint64_t len;
	uint64_t addr; /* of this process */
};

/**
 * Look a region up once, for ranges that are resolved in the same round of the worker: the checks of
 * uroce_mr_resolve() but for the range.
 * @return whether they hold; if not, nothing is in `view`
 */
bool uroce_mr_get_view(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
		       uint32_t access, struct uroce_mr_view *view);

/** The memory behind `[va, va + len)`; NULL: not all of it is in the region. */
static inline void *
uroce_mr_view_at(const struct uroce_mr_view *view, uint64_t va, uint64_t len)
{
	/* Below the region, `offset` is huge; and as it is within the region afterwards, the
	 * subtraction that checks the end cannot wrap, whatever `len` is. */
	const uint64_t offset = va - view->iova;

	if (offset > view->len || len > view->len - offset)
		return NULL;
	/* Not pointer arithmetic: a region of length 0 may begin at NULL. */
	return (void *)(uintptr_t)(view->addr + offset);
}

/**
 * As uroce_mr_resolve(), for a peer's request, whose key may be a window's (mw.h) too; an lkey never is.
 * @param qpn  the QP that the request came to
 */
void *uroce_rkey_resolve(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn,
			 uint32_t qpn, uint64_t va, uint64_t len, uint32_t access);

/**
 * Lend a piece of a region to a port, which reads it some time after this round. Between invalidate
 * and free the caller waits for the end of all loans, too.
 * @return the loan, to be ended by uroce_mr_put_tx_ref(); NULL: no such region (any more), or one on demand
 */
_Atomic uint32_t *uroce_mr_get_tx_ref(struct uroce_mr_table *table, uint32_t key);

/** The port does not refer to it any more. Any thread. */
static inline void
uroce_mr_put_tx_ref(_Atomic uint32_t *tx_ref)
{
	atomic_fetch_sub_explicit(tx_ref, 1, memory_order_release); /* R5 */
}

/** Loans of a region, one that was invalidated included. */
uint32_t uroce_mr_nb_tx_refs(const struct uroce_mr_table *table, uint32_t key);

/**
 * The whole region of a peer's key, under the same checks; a window has none.
 * @param[out] len  its bytes
 * @return where it begins; NULL when refused
 */
void *uroce_rkey_region(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn,
			uint32_t access, uint64_t *len);

#endif /* UROCE_MEM_MR_H */
