/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MKEY_OBJECT_H
#define UROCE_MEM_MKEY_OBJECT_H

/**
 * @file
 * The object behind an mkey, and its look-up. mkey.c creates and configures mkeys, mkey_transfer.c
 * reads and writes memory through them. No other file includes this header.
 */

#include <stdint.h>

#include "base/lock.h"
#include "mem/mkey.h"
#include "mem/table.h"

/* A piece of the layout of an mkey, with the offset of its end. */
struct uroce_mkey_placed {
	struct uroce_mkey_piece piece;
	uint64_t end; /* offset in bytes of the end of the piece in one repetition of the layout */
};

/*
 * An mkey. The field `addr` of the mkey's entry in the table of memory keys points to this struct.
 * The entry also has the access rights of the mkey, and the length of the mkey's data on the wire.
 */
struct uroce_mkey {
	struct uroce_lock lock;
	/* maximum number of pieces of the layout: number of elements of `placed` */
	uint32_t max_pieces;
	uint32_t flags; /* capabilities of the mkey (enum uroce_mkey_flag) */
	/*
	 * The fields from `repeat` to `data_len` are the configuration, which
	 * uroce_mkey_configure() writes.
	 */
	uint32_t repeat;    /* number of times that the list of pieces is repeated */
	uint32_t nb_pieces; /* number of elements of `placed` that are in use */
	/*
	 * bytes of a signature that are compared with the computed ones (one bit each, see sig.h)
	 */
	uint8_t check_mask;
	/*
	 * bytes of a signature that are copied between memory and the wire (one bit each, see
	 * sig.h)
	 */
	uint8_t copy_mask;
	/* formats of the mkey's data in memory and on the wire */
	struct uroce_sig_domain mem, wire;
	/* number of data bytes of the layout, without signatures */
	uint64_t data_len;
	/*
	 * [begin, next) is the range of wire bytes that the last received packets brought in
	 * order, without a gap
	 */
	uint64_t begin, next;
	/* those bytes of a signature that have arrived, if `next` is inside of the signature */
	uint8_t cut[UROCE_SIG_LEN_MAX];
	/* the first signature error since the last uroce_mkey_check() */
	struct uroce_mkey_error error;
	struct uroce_mkey_placed placed[]; /* the pieces of the layout of the mkey */
};

/*
 * Find the entry of the mkey with the key `key`. The entry stays in the table until the calling
 * worker ends its current round (one pass of the worker's loop).
 * @param[out] life  state of the entry: UROCE_ENTRY_LIVE or UROCE_ENTRY_IDLE
 * @return the entry; NULL: no mkey has this key
 */
static inline struct uroce_entry *
uroce_mkey_find(const struct uroce_mr_table *table, uint32_t key, uint64_t *life)
{
	struct uroce_entry *entry = uroce_entry_find(table, key);

	if (entry == NULL)
		return NULL;
	/*
	 * Acquire A1 pairs with the releases R1 in mkey.c: the fields of the mkey's entry are
	 * visible.
	 */
	const uint64_t state = atomic_load_explicit(&entry->state, memory_order_acquire);

	*life = state & UROCE_ENTRY_LIFE;
	if ((uint32_t)state != key || UROCE_ENTRY_GET(entry, kind) != UROCE_ENTRY_MKEY)
		return NULL;
	return *life == UROCE_ENTRY_LIVE || *life == UROCE_ENTRY_IDLE ? entry : NULL;
}

/* Get the mkey of an entry that uroce_mkey_find() has returned. */
static inline struct uroce_mkey *
uroce_mkey_of(const struct uroce_entry *entry)
{
	return (struct uroce_mkey *)(uintptr_t)UROCE_ENTRY_GET(entry, addr);
}

/*
 * Find the entry of an mkey that is configured and belongs to the protection domain `pdn`.
 * @return the entry; NULL: there is no such mkey
 */
static inline struct uroce_entry *
uroce_mkey_find_configured(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn)
{
	uint64_t life;
	struct uroce_entry *entry = uroce_mkey_find(table, key, &life);

	return entry != NULL && life == UROCE_ENTRY_LIVE && UROCE_ENTRY_GET(entry, pdn) == pdn
		       ? entry
		       : NULL;
}

/*
 * Whether an mkey grants `access` (enum ibv_access_flags) to the wire bytes `[addr, addr + len)`.
 */
static inline bool
uroce_mkey_is_granted(const struct uroce_entry *entry, uint64_t addr, uint64_t len, uint32_t access)
{
	const uint64_t wire_len = UROCE_ENTRY_GET(entry, len);

	return (access & ~UROCE_ENTRY_GET(entry, access)) == 0 && addr <= wire_len &&
	       len <= wire_len - addr;
}

/*
 * Compute the offset, in memory or on the wire, of the data byte with number `data`. `domain` is
 * the format of that side: blocks of data, each with its signature.
 */
static inline uint64_t
uroce_mkey_data_place(const struct uroce_sig_domain *domain, uint64_t data)
{
	return domain->block_len == 0 ? data : data + data / domain->block_len * domain->len;
}

#endif /* UROCE_MEM_MKEY_OBJECT_H */
