/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MR_H
#define UROCE_MEM_MR_H

/**
 * @file
 * Memory regions: a table of entries that are found by their key. Memory windows (mw.h) and mkeys
 * (mkey.h) are entries of this table, too.
 *
 * A key has 32 bits. The upper 24 bits are a keyed permutation of the entry's index, so that
 * look-up is O(1) and one key does not reveal another. The low 8 bits are a random tag, so that a
 * deregistered key is not reused soon. lkey and rkey of a region are the same number.
 *
 * Concurrency: add, invalidate and free are control calls; their caller serialises them. Resolve
 * may run on any thread at any time without a lock: one atomic word publishes and withdraws an
 * entry (labels R1/A1 in mr.c). Between invalidate and free the caller waits for a grace period. A
 * round is one pass of a worker's loop. The grace period ends when no worker is inside a round that
 * began before the invalidate.
 */

#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct uroce_mr_table;

/** Properties of a memory region. */
struct uroce_mr_conf {
	/*
	 * address of the region's first byte in this process; NULL only if `len` is 0, `is_null` is
	 * set, or `access` has IBV_ACCESS_ON_DEMAND
	 */
	void *addr;
	uint64_t iova; /* first address of the region, as work requests and peers use it */
	uint64_t len;  /* length of the region in bytes */
	uint32_t pdn;  /* number of the region's protection domain */
	/*
	 * access rights of the region (enum ibv_access_flags); with IBV_ACCESS_ON_DEMAND, the
	 * memory at `addr` need not be mapped (odp.h)
	 */
	uint32_t access;
	/*
	 * the region is a null region: it has no memory and no key for peers, see
	 * uroce_mr_is_null()
	 */
	bool is_null;
};

/** Number of bytes that a table of up to `nb_mr` memory regions (1 .. 2^24) takes. */
size_t uroce_mr_table_memsize(uint32_t nb_mr);

/**
 * Initialise a table of memory regions in `mem` (64-byte aligned, uroce_mr_table_memsize() bytes,
 * owned by the caller).
 * @param secret  random bytes from which the permutation and the tags are derived
 */
struct uroce_mr_table *uroce_mr_table_init(void *mem, uint32_t nb_mr, const uint8_t secret[16]);

/** Get the number of regions, windows and mkeys in the table of memory regions. */
uint32_t uroce_mr_table_count(const struct uroce_mr_table *table);

/**
 * Register a memory region and publish it, so that its key is valid from then on.
 * @param[out] key  lkey and rkey; never 0
 * @return 0; -ENOMEM: the table is full; -EINVAL: iova + len or addr + len wraps, or addr is NULL
 *	though the region needs memory
 */
int uroce_mr_add(struct uroce_mr_table *table, const struct uroce_mr_conf *conf, uint32_t *key);

/**
 * Read the properties of the memory region whose key is `key`. Only control calls (such as register
 * and deregister), which are serialised, may call this function.
 * @param[out] conf  properties of the region; written on success
 * @return 0; -EFAULT: the key's entry is not in use; -ENOENT: the entry has another key; -EINVAL:
 *	the entry is a window or an mkey
 */
int uroce_mr_query(const struct uroce_mr_table *table, uint32_t key, struct uroce_mr_conf *conf);

/**
 * Publish an invalidated region again, with other properties and the same key. Before this call,
 * the thread that invalidated the region waits for a grace period (see the head of mr.h), and until
 * all TX references of the region are released.
 * @param conf  properties that uroce_mr_add() accepts
 */
void uroce_mr_replace(struct uroce_mr_table *table, uint32_t key, const struct uroce_mr_conf *conf);

/**
 * Withdraw a region. From now on uroce_mr_resolve() refuses its key.
 * @return 0; -EINVAL: no region has this key; -EBUSY: windows are bound to the region
 */
int uroce_mr_invalidate(struct uroce_mr_table *table, uint32_t key);

/**
 * Free the entry of an invalidated region, or of a removed window or mkey. Before this call, the
 * caller waits for a grace period (see the head of mr.h). The function asserts that the key was
 * withdrawn.
 */
void uroce_mr_free(struct uroce_mr_table *table, uint32_t key);

/**
 * Resolve `[va, va + len)` of a region to an address in this process. All checks must pass: the key
 * is valid, the protection domain is the same, the range is inside the region, all rights in
 * `access` are granted.
 * @param access  enum ibv_access_flags that the operation needs; 0 for local read
 * @return the address, valid until the calling worker ends its current round (one pass of its
 *	loop); NULL: refused. Of an on-demand region, only the first UROCE_ODP_MAX bytes of the
 *	range are valid.
 */
void *uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t va,
		       uint64_t len, uint32_t access);

/**
 * Resolve a part of one scatter/gather element to an address in this process: `len` bytes after the
 * first `skip` bytes. The element is checked from its first byte on. Thus an element that exceeds
 * the end of the address space is refused.
 * @return as uroce_mr_resolve()
 */
void *uroce_mr_resolve_sge(const struct uroce_mr_table *table, uint32_t pdn,
			   const struct ibv_sge *sge, uint64_t skip, uint64_t len, uint32_t access);

/**
 * Whether a key is that of a null region of the protection domain `pdn`. uroce_mr_resolve() refuses
 * the key of a null region. So the code that accesses scatter/gather lists (sge.h) calls this
 * function for a key that was refused.
 */
bool uroce_mr_is_null(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn);

/** A memory region that was looked up once, so that many ranges of it can be resolved quickly. */
struct uroce_mr_view {
	uint32_t key; /* key of the region that was looked up; 0 if the view is empty */
	uint64_t iova;
	uint64_t len;
	uint64_t addr; /* address of the region's first byte in this process */
};

/**
 * Look a memory region up once, for ranges that are resolved in the same round (pass of the
 * worker's loop). The function makes all checks of uroce_mr_resolve() except the check of the
 * range.
 * @return whether the checks passed; if not, `view` is empty
 */
bool uroce_mr_get_view(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
		       uint32_t access, struct uroce_mr_view *view);

/**
 * Resolve `[va, va + len)` of the region that `view` refers to. Return NULL if the range is not in
 * the region.
 */
static inline void *
uroce_mr_view_at(const struct uroce_mr_view *view, uint64_t va, uint64_t len)
{
	/*
	 * An address below the region gives a huge `offset`, which is refused. If `offset` is
	 * within the region, the subtraction cannot wrap, whatever `len` is.
	 */
	const uint64_t offset = va - view->iova;

	if (offset > view->len || len > view->len - offset)
		return NULL;
	/* Pointer arithmetic is avoided, since a region of length 0 may begin at NULL. */
	return (void *)(uintptr_t)(view->addr + offset);
}

/**
 * Resolve `[va, va + len)` of a region to an address, as uroce_mr_resolve() does. The function is
 * fast for a sequence of ranges that mostly are in the same region, and need the same access
 * rights.
 * @param view  cache of the last region that was looked up in this round (pass of the worker's
 *	loop); initially empty
 * @return NULL: refused, or the key is not that of a region whose pages are all present
 */
static inline void *
uroce_mr_view_resolve(struct uroce_mr_view *view, const struct uroce_mr_table *table, uint32_t key,
		      uint32_t pdn, uint64_t va, uint64_t len, uint32_t access)
{
	if (key != view->key && !uroce_mr_get_view(table, key, pdn, access, view))
		return NULL;
	return uroce_mr_view_at(view, va, len);
}

/**
 * Resolve the range `[va, va + len)` of a peer's request to an address, as uroce_mr_resolve() does.
 * The rkey may belong to a window (mw.h), which an lkey never does.
 * @param qpn  the QP that received the request
 */
void *uroce_rkey_resolve(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn,
			 uint32_t qpn, uint64_t va, uint64_t len, uint32_t access);

/**
 * Take a TX reference to a region, because a port will read the region's memory after the end of
 * this round (pass of the worker's loop). The caller of uroce_mr_invalidate() waits until all TX
 * references are released before it calls uroce_mr_free().
 * @return the reference, to be released by uroce_mr_put_tx_ref(); NULL: no such region, or an
 *	on-demand region
 */
_Atomic uint32_t *uroce_mr_get_tx_ref(struct uroce_mr_table *table, uint32_t key);

/**
 * Release a TX reference to a region when the port has finished reading. Any thread may call it.
 */
static inline void
uroce_mr_put_tx_ref(_Atomic uint32_t *tx_ref)
{
	/*
	 * Release R5 comes after the port's reads of the region, and pairs with A5 in
	 * uroce_mr_nb_tx_refs().
	 */
	atomic_fetch_sub_explicit(tx_ref, 1, memory_order_release);
}

/** Get the number of TX references to a region. The region may already be invalidated. */
uint32_t uroce_mr_nb_tx_refs(const struct uroce_mr_table *table, uint32_t key);

/**
 * Find the whole memory region of a peer's rkey, with the checks of uroce_rkey_resolve(). The key
 * of a window is refused.
 * @param[out] len  bytes of the region
 * @return first byte of the region; NULL: refused
 */
void *uroce_rkey_region(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn,
			uint32_t access, uint64_t *len);

#endif /* UROCE_MEM_MR_H */
