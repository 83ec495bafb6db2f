/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_TABLE_H
#define UROCE_MEM_TABLE_H

/**
 * @file
 * The table of memory keys, shared by mr.c, mw.c and the files of mkeys. Other files do not access
 * its fields.
 *
 * How it works: an entry is one cache line. Its first word has the state of the entry:
 *
 *	region	0 (free) --add--> LIVE --invalidate--> DEAD --free--> 0
 *	window	0 (free) --add--> IDLE --bind--> LIVE --invalidate--> IDLE ...
 *		                  IDLE or LIVE --remove--> DEAD --free--> 0
 *	mkey	as a window, configured instead of bound; its key does not change
 *
 *	| count:30 | life:2 | key:32 |
 *
 * `life` is the state of the entry. The count of a region is the number of windows bound to it. A
 * region with windows cannot be withdrawn. The count of a window is its generation, which changes
 * with every bind.
 *
 * The other fields of an entry are written only while no thread reads them. A region's fields are
 * written while it is free. A window's fields are written while it is DEAD, which it is briefly in
 * every bind.
 *
 * A thread that has read a region as LIVE may continue to read while the region becomes DEAD. The
 * grace period between invalidate and free prevents reuse of the entry, and of its memory, during
 * that read. A thread that reads a window reads the first word again after the other fields. If the
 * word has changed, the fields may have changed, too (fences R4 and A4 in mw.c).
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/odp.h"
#include "mem/key.h"

/**
 * States of an entry of the table of memory keys: the two bits `life`, at their position in
 * `state`, the first word of the entry.
 */
#define UROCE_ENTRY_FREE UINT64_C(0)
#define UROCE_ENTRY_LIVE (UINT64_C(1) << 32)
#define UROCE_ENTRY_DEAD (UINT64_C(2) << 32)
/*
 * state of an entry of the key table: a window that is not bound, or an mkey that is not configured
 */
#define UROCE_ENTRY_IDLE (UINT64_C(3) << 32)
#define UROCE_ENTRY_LIFE (UINT64_C(3) << 32)

/** The value 1 in the count bits of the first word of an entry of the key table. */
#define UROCE_ENTRY_ONE (UINT64_C(1) << 34)

/**
 * Mask of the state bits and the key in the first word of an entry of the key table, without the
 * count.
 */
#define UROCE_ENTRY_WHO (UROCE_ENTRY_ONE - 1)

/** Number of slots of the cache that maps recently used keys to table indices; a power of two. */
#define UROCE_NB_RECENT 64

/**
 * Values of `kind` in struct uroce_entry. Kind 0 is a region whose memory is present; the kinds of
 * windows are in mw.h. To resolve a key of a kind other than 0 takes the slow path.
 */
#define UROCE_ENTRY_ODP 8 /* kind of an entry: a region whose pages may be absent (odp.h) */
/* kind of an entry: a region without memory, which reads as 0 and discards what is written */
#define UROCE_ENTRY_NULL 9
/* kind of an entry: an mkey (mkey.h); the field `addr` is the address of the struct uroce_mkey */
#define UROCE_ENTRY_MKEY 10

/** Index of an entry of the key table that means "no entry". */
#define UROCE_ENTRY_NONE UINT32_MAX

/*
 * An entry of the table of memory keys. All atomic fields except `state` and `nb_tx_refs` are
 * accessed with relaxed order, because the accesses to `state` order them.
 */
struct uroce_entry {
	_Alignas(64) _Atomic uint64_t state;
	_Atomic uint64_t iova;
	_Atomic uint64_t len;
	_Atomic uint64_t addr; /* address of the memory's first byte in this process */
	_Atomic uint32_t pdn;
	_Atomic uint32_t access; /* access rights of the entry (enum ibv_access_flags) */
	_Atomic uint32_t qpn;    /* QP number of a window of type 2 while the window is bound */
	/* index of the entry of the region that a window is bound to */
	_Atomic uint32_t parent_idx;
	/*
	 * kind of the entry: 0 for a region whose memory is present; otherwise enum uroce_mw_kind,
	 * or UROCE_ENTRY_...
	 */
	_Atomic uint8_t kind;
	/*
	 * only control calls (such as register and deregister), which are serialised, use `tag` and
	 * `next_free_idx`
	 */
	uint8_t tag; /* low 8 bits of the last key of this entry */
	uint32_t next_free_idx;
	/* number of TX references to a region; any thread changes the number */
	_Atomic uint32_t nb_tx_refs;
	uint32_t idx; /* index of this entry in the table, which never changes */
};
static_assert(sizeof(struct uroce_entry) == 64, "an entry is one cache line");

struct uroce_mr_table {
	/*
	 * The fields from `perm` to `recent` are read-only after init. They have all that is needed
	 * to resolve a key, apart from the contents of the cache of recent keys.
	 */
	struct uroce_key_perm perm;
	uint32_t nb_entries;
	_Atomic uint32_t nb_mkeys; /* number of mkeys in the table */
	/*
	 * function that makes pages of on-demand regions present (odp.h), which is set once; NULL:
	 * requests to on-demand regions are refused
	 */
	uroce_page_in_fn page_in;
	/*
	 * cache of recent keys: an element is key << 32 | index of the table entry; bits of the key
	 * select the element; any worker writes to the cache
	 */
	_Atomic uint64_t *recent;
	/*
	 * Only control calls (such as register and deregister), which are serialised, use the
	 * fields from `rand` to `last_free_idx`.
	 */
	_Alignas(64) struct uroce_key_rand rand;
	uint32_t nb_live;
	uint32_t first_free_idx; /* index of the free table entry that is taken next */
	uint32_t last_free_idx;  /* index of the table entry that was freed last */
	_Alignas(64) _Atomic uint64_t recent_words[UROCE_NB_RECENT];
	struct uroce_entry entries[];
};
static_assert(offsetof(struct uroce_mr_table, rand) == 64, "resolve reads one line of the table");

#define UROCE_ENTRY_GET(entry, field) atomic_load_explicit(&(entry)->field, memory_order_relaxed)
#define UROCE_ENTRY_SET(entry, field, value)                                                       \
	atomic_store_explicit(&(entry)->field, (value), memory_order_relaxed)

/** Whether a table entry of the kind `kind` is a memory window. */
static inline bool
uroce_entry_is_window(uint8_t kind)
{
	return kind != 0 && kind < UROCE_ENTRY_ODP;
}

/**
 * Make up to UROCE_ODP_MAX bytes of an on-demand region, or of a window in such a region, present.
 * @param access  enum ibv_access_flags that the operation needs
 * @return `addr`; NULL: access is refused
 */
void *uroce_entry_page_in(const struct uroce_entry *entry, void *addr, uint64_t len,
			  uint32_t access);

/**
 * Take a free entry of the key table, for a new region, window or mkey.
 * @param[out] key  a new key of the entry
 * @return NULL: no entry is free
 */
struct uroce_entry *uroce_entry_take(struct uroce_mr_table *table, uint32_t *key);

/**
 * Find the table entry with the index of `key`, whatever its state and key; NULL: no such index.
 */
struct uroce_entry *uroce_entry_find(const struct uroce_mr_table *table, uint32_t key);

/**
 * Resolve the range `[va, va + len)` of a window for a peer's request, as uroce_rkey_resolve()
 * does.
 * @param state  state word of the entry as the caller read it
 */
void *uroce_mw_resolve(const struct uroce_entry *entry, uint64_t state, uint32_t pdn, uint32_t qpn,
		       uint64_t va, uint64_t len, uint32_t access);

#endif /* UROCE_MEM_TABLE_H */
