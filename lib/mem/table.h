/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_TABLE_H
#define UROCE_MEM_TABLE_H

/**
 * @file
 * The table of keys as mr.c and mw.c share it; nobody else looks inside.
 *
 * How it works: an entry is one cache line, and its first word says everything about its life:
 *
 *	region	0 (free) --add--> LIVE --invalidate--> DEAD --free--> 0
 *	window	0 (free) --add--> IDLE --bind--> LIVE --invalidate--> IDLE ...
 *		                  IDLE or LIVE --remove--> DEAD --free--> 0
 *	mkey	as a window, configured instead of bound; it keeps its key
 *
 *	| count:30 | life:2 | key:32 |
 *
 * The count of a region is the number of windows bound to it: while there are any, it cannot be
 * withdrawn. The count of a window is its generation: it changes with every bind.
 *
 * The rest of an entry is written only while nobody reads it: a region's while it is free; a window's
 * while it is DEAD, which it is for a moment in every bind. A reader that saw a region LIVE may go on
 * reading while it becomes DEAD; the grace period between invalidate and free is what keeps the
 * entry, and the memory behind it, from being used for something else under that reader. A reader of
 * a window looks at the word once more after it has read the rest: if it changed, so may have the
 * rest (R4/A4).
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/odp.h"
#include "mem/key.h"

/** Life of an entry, in place; FREE is 0. */
#define UROCE_ENTRY_FREE UINT64_C(0)
#define UROCE_ENTRY_LIVE (UINT64_C(1) << 32)
#define UROCE_ENTRY_DEAD (UINT64_C(2) << 32)
#define UROCE_ENTRY_IDLE (UINT64_C(3) << 32) /* a window that is not bound */
#define UROCE_ENTRY_LIFE (UINT64_C(3) << 32)

/** One, in the place of the count. */
#define UROCE_ENTRY_ONE (UINT64_C(1) << 34)

/** Life and key, without the count. */
#define UROCE_ENTRY_WHO (UROCE_ENTRY_ONE - 1)

/** Keys remembered; a power of two. */
#define UROCE_NB_RECENT 64

/**
 * Kinds of entry beside 0, the region that is all there, and those of windows (mw.h): whatever is not 0
 * takes the long way.
 */
#define UROCE_ENTRY_ODP  8  /* a region that may have no memory where it is asked for */
#define UROCE_ENTRY_NULL 9  /* a region that has none: reads as 0, and forgets what is written */
#define UROCE_ENTRY_MKEY 10 /* a layout over regions (mkey.h); `addr` is the mkey's own memory */

/** No entry. */
#define UROCE_ENTRY_NONE UINT32_MAX

/* Fields beside the state are relaxed: what orders them is the state. */
struct uroce_entry {
	_Alignas(64) _Atomic uint64_t state;
	_Atomic uint64_t iova;
	_Atomic uint64_t len;
	_Atomic uint64_t addr; /* of this process */
	_Atomic uint32_t pdn;
	_Atomic uint32_t access;     /* enum ibv_access_flags */
	_Atomic uint32_t qpn;        /* a type 2 window's, while it is bound */
	_Atomic uint32_t parent_idx; /* the region that a window is bound to */
	_Atomic uint8_t kind;        /* 0: region; else enum uroce_mw_kind, UROCE_ENTRY_... */
	/* control calls only */
	uint8_t tag; /* of the last key that the entry had */
	uint32_t next_free_idx;
	_Atomic uint32_t nb_tx_refs; /* pieces of a region that ports refer to */
	uint32_t idx;                /* its own, for good */
};
static_assert(sizeof(struct uroce_entry) == 64, "an entry is one cache line");

struct uroce_mr_table {
	/* read-only after init: all that resolve needs, in one line */
	struct uroce_key_perm perm;
	uint32_t nb_entries;
	_Atomic uint32_t nb_mkeys; /* there may be some */
	uroce_page_in_fn page_in;  /* set once; NULL: nothing is on demand */
	_Atomic uint64_t *recent; /* key << 32 | index, by the key's low upper bits; any worker's */
	/* control calls only */
	_Alignas(64) struct uroce_key_rand rand;
	uint32_t nb_live;
	uint32_t first_free_idx; /* next to be used */
	uint32_t last_free_idx;  /* freed most recently */
	_Alignas(64) _Atomic uint64_t recent_words[UROCE_NB_RECENT];
	struct uroce_entry entries[];
};
static_assert(offsetof(struct uroce_mr_table, rand) == 64, "resolve reads one line of the table");

#define UROCE_ENTRY_GET(entry, field) atomic_load_explicit(&(entry)->field, memory_order_relaxed)
#define UROCE_ENTRY_SET(entry, field, value)                                                       \
	atomic_store_explicit(&(entry)->field, (value), memory_order_relaxed)

/** Whether a kind is a window's. */
static inline bool
uroce_entry_is_window(uint8_t kind)
{
	return kind != 0 && kind < UROCE_ENTRY_ODP;
}

/**
 * Have memory of an on-demand region, or of a window in it, ready, as much of it as is ready at a time (odp.h).
 * @param access  what the operation needs
 * @return `addr`, or NULL: refused
 */
void *uroce_entry_page_in(const struct uroce_entry *entry, void *addr, uint64_t len,
			  uint32_t access);

/** Take a free entry. @param[out] key  a new one that leads to it. @return NULL: none is free */
struct uroce_entry *uroce_entry_take(struct uroce_mr_table *table, uint32_t *key);

/** The entry that a key leads to, whatever its state; NULL: none. */
struct uroce_entry *uroce_entry_find(const struct uroce_mr_table *table, uint32_t key);

/** The range that a window is bound to, if it may be used so: see uroce_rkey_resolve(). */
void *uroce_mw_resolve(const struct uroce_entry *entry, uint64_t state, uint32_t pdn, uint32_t qpn,
		       uint64_t va, uint64_t len, uint32_t access);

#endif /* UROCE_MEM_TABLE_H */
