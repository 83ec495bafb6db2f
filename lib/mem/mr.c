/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How it works: an entry is one cache line, and its first word says everything about its life:
 *
 *   0 (free) --add--> LIVE | key --invalidate--> DEAD | key --free--> 0
 *
 * The rest of the entry is written only while the word is 0 and read only after it was seen to be
 * LIVE with the very key asked for (R1/A1). A reader that saw it LIVE may go on reading while it
 * becomes DEAD; the grace period between invalidate and free is what keeps the entry, and the memory
 * behind it, from being used for something else under that reader.
 *
 * A key is turned into its entry's index by arithmetic that takes longer than the rest of resolve, so
 * where recent keys led is remembered. That memory is a hint: it holds no right, the entry's word is
 * compared with the key in any case, and what it says of a key never changes. Hence relaxed atomics.
 *
 * Free entries wait in a queue, not on a stack, so that a key's upper bits come back as late as they
 * can, and an entry never gets the same tag twice in a row.
 */

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "mem/key.h"
#include "mem/mr.h"

/** State word: flag | key. */
#define STATE_FREE 0u
#define STATE_LIVE (UINT64_C(1) << 32)
#define STATE_DEAD (UINT64_C(1) << 33)

/** Keys remembered; a power of two. */
#define NB_RECENT 64

/** End of the free queue. */
#define IDX_NONE UINT32_MAX

struct entry {
	_Alignas(64) _Atomic uint64_t state;
	uint64_t iova;
	uint64_t len;
	uint8_t *addr;
	uint32_t pdn;
	uint32_t access; /* enum ibv_access_flags */
	/* control calls only */
	uint32_t next_free_idx;
	uint8_t tag; /* of the last key that the entry had */
};
static_assert(sizeof(struct entry) == 64, "an entry is one cache line");

struct uroce_mr_table {
	/* read-only after init: all that resolve needs, in one line */
	struct uroce_key_perm perm;
	uint32_t nb_entries;
	_Atomic uint64_t *recent; /* key << 32 | index, by the key's low upper bits; any worker's */
	/* control calls only */
	_Alignas(64) struct uroce_key_rand rand;
	uint32_t nb_live;
	uint32_t first_free_idx; /* next to be used */
	uint32_t last_free_idx;  /* freed most recently */
	_Alignas(64) _Atomic uint64_t recent_words[NB_RECENT];
	struct entry entries[];
};
static_assert(offsetof(struct uroce_mr_table, rand) == 64, "resolve reads one line of the table");

size_t
uroce_mr_table_memsize(uint32_t nb_mr)
{
	return sizeof(struct uroce_mr_table) + (size_t)nb_mr * sizeof(struct entry);
}

struct uroce_mr_table *
uroce_mr_table_init(void *mem, uint32_t nb_mr, const uint8_t secret[16])
{
	struct uroce_mr_table *table = mem;

	assert((uintptr_t)mem % _Alignof(struct uroce_mr_table) == 0);
	assert(nb_mr >= 1 && nb_mr <= UROCE_KEY_NB_INDEX);
	*table = (struct uroce_mr_table){ .nb_entries = nb_mr, .last_free_idx = nb_mr - 1 };
	table->recent = table->recent_words;
	uroce_key_rand_init(&table->rand, secret);
	uroce_key_perm_init(&table->perm, &table->rand);
	for (uint32_t i = 0; i < nb_mr; i++) {
		struct entry *entry = &table->entries[i];

		atomic_init(&entry->state, STATE_FREE);
		entry->next_free_idx = i + 1 < nb_mr ? i + 1 : IDX_NONE;
		entry->tag = 0;
	}
	return table;
}

uint32_t
uroce_mr_table_count(const struct uroce_mr_table *table)
{
	return table->nb_live;
}

static uint32_t
take_free(struct uroce_mr_table *table)
{
	const uint32_t idx = table->first_free_idx;

	if (idx == IDX_NONE)
		return IDX_NONE;
	table->first_free_idx = table->entries[idx].next_free_idx;
	if (table->first_free_idx == IDX_NONE)
		table->last_free_idx = IDX_NONE;
	return idx;
}

static void
put_free(struct uroce_mr_table *table, uint32_t idx)
{
	table->entries[idx].next_free_idx = IDX_NONE;
	if (table->last_free_idx == IDX_NONE)
		table->first_free_idx = idx;
	else
		table->entries[table->last_free_idx].next_free_idx = idx;
	table->last_free_idx = idx;
}

/* Not the entry's last key, and not 0, which programs use to say "no key". */
static uint32_t
draw_key(struct uroce_mr_table *table, uint32_t idx)
{
	uint8_t tag = (uint8_t)uroce_key_rand_next(&table->rand);
	uint32_t key = uroce_key_make(&table->perm, idx, tag);

	while (tag == table->entries[idx].tag || key == 0) {
		tag++;
		key = uroce_key_make(&table->perm, idx, tag);
	}
	return key;
}

int
uroce_mr_add(struct uroce_mr_table *table, const struct uroce_mr_conf *conf, uint32_t *key)
{
	const uint64_t addr = (uintptr_t)conf->addr;

	if (conf->iova + conf->len < conf->iova || addr + conf->len < addr)
		return -EINVAL;
	if (conf->addr == NULL && conf->len > 0)
		return -EINVAL;
	const uint32_t idx = take_free(table);

	if (idx == IDX_NONE)
		return -ENOMEM;
	struct entry *entry = &table->entries[idx];
	const uint32_t new_key = draw_key(table, idx);

	entry->iova = conf->iova;
	entry->len = conf->len;
	entry->addr = conf->addr;
	entry->pdn = conf->pdn;
	entry->access = conf->access;
	entry->tag = (uint8_t)new_key;
	/* R1: who finds the state LIVE with this key finds the fields above. */
	atomic_store_explicit(&entry->state, STATE_LIVE | new_key, memory_order_release);
	table->nb_live++;
	*key = new_key;
	return 0;
}

int
uroce_mr_invalidate(struct uroce_mr_table *table, uint32_t key)
{
	const uint32_t idx = uroce_key_index(&table->perm, key);
	uint64_t state = STATE_LIVE | key;

	if (idx >= table->nb_entries)
		return -EINVAL;
	/* Acquire and release: of two that withdraw the same key, one does. Nothing else is
	 * published: the grace period orders what the caller does with the memory. */
	if (!atomic_compare_exchange_strong_explicit(&table->entries[idx].state, &state,
						     STATE_DEAD | key, memory_order_acq_rel,
						     memory_order_relaxed))
		return -EINVAL;
	table->nb_live--;
	return 0;
}

void
uroce_mr_free(struct uroce_mr_table *table, uint32_t key)
{
	const uint32_t idx = uroce_key_index(&table->perm, key);

	assert(idx < table->nb_entries);
	struct entry *entry = &table->entries[idx];

	assert(atomic_load_explicit(&entry->state, memory_order_relaxed) == (STATE_DEAD | key));
	atomic_store_explicit(&entry->state, STATE_FREE, memory_order_relaxed);
	put_free(table, idx);
}

/* Keys differ in their upper bits; the lowest of those are as random as the others. */
static _Atomic uint64_t *
recent_of(const struct uroce_mr_table *table, uint32_t key)
{
	return &table->recent[key >> 8 & (NB_RECENT - 1)];
}

void *
uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t va,
		 uint64_t len, uint32_t access)
{
	_Atomic uint64_t *recent = recent_of(table, key);
	const uint64_t seen = atomic_load_explicit(recent, memory_order_relaxed);
	const bool is_recent = seen >> 32 == key;
	const uint32_t idx = is_recent ? (uint32_t)seen : uroce_key_index(&table->perm, key);

	if (idx >= table->nb_entries)
		return NULL;
	const struct entry *entry = &table->entries[idx];

	/* A1: sees the fields that add wrote before R1. */
	if (atomic_load_explicit(&entry->state, memory_order_acquire) != (STATE_LIVE | key))
		return NULL;
	if (!is_recent)
		atomic_store_explicit(recent, (uint64_t)key << 32 | idx, memory_order_relaxed);
	/* Below the region, `offset` is huge; and as it is within the region afterwards, the
	 * subtraction that checks the end cannot wrap, whatever `len` is. */
	const uint64_t offset = va - entry->iova;

	if (offset > entry->len || len > entry->len - offset)
		return NULL;
	if (pdn != entry->pdn || (access & ~entry->access) != 0)
		return NULL;
	/* Not pointer arithmetic: a region of length 0 may begin at NULL. */
	return (void *)((uintptr_t)entry->addr + offset);
}
