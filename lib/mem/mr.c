/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of memory regions. table.h explains the states of an entry.
 *
 * To compute the index of a table entry from its key takes longer than the rest of
 * uroce_mr_resolve(). So the table caches the indices of recent keys. A cached index gives no
 * right: the state word of the entry is compared with the key in any case. The index of a key never
 * changes. Hence relaxed atomics are enough.
 *
 * Free entries wait in a queue and not on a stack, so that the upper bits of a key are reused as
 * late as possible. An entry never gets the same tag twice in a row.
 */

#include "mem/mr.h"

#include <errno.h>

#include "mem/table.h"

size_t
uroce_mr_table_memsize(uint32_t nb_mr)
{
	return sizeof(struct uroce_mr_table) + (size_t)nb_mr * sizeof(struct uroce_entry);
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
		struct uroce_entry *entry = &table->entries[i];

		atomic_init(&entry->state, UROCE_ENTRY_FREE);
		UROCE_ENTRY_SET(entry, kind, 0);
		UROCE_ENTRY_SET(entry, nb_tx_refs, 0);
		entry->next_free_idx = i + 1 < nb_mr ? i + 1 : UROCE_ENTRY_NONE;
		entry->tag = 0;
		entry->idx = i;
	}
	return table;
}

void
uroce_mr_table_set_page_in(struct uroce_mr_table *table, uroce_page_in_fn page_in)
{
	table->page_in = page_in;
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

	if (idx == UROCE_ENTRY_NONE)
		return UROCE_ENTRY_NONE;
	table->first_free_idx = table->entries[idx].next_free_idx;
	if (table->first_free_idx == UROCE_ENTRY_NONE)
		table->last_free_idx = UROCE_ENTRY_NONE;
	return idx;
}

static void
put_free(struct uroce_mr_table *table, uint32_t idx)
{
	table->entries[idx].next_free_idx = UROCE_ENTRY_NONE;
	if (table->last_free_idx == UROCE_ENTRY_NONE)
		table->first_free_idx = idx;
	else
		table->entries[table->last_free_idx].next_free_idx = idx;
	table->last_free_idx = idx;
}

/* Choose a random key for an entry: neither its last key nor 0, the "no key" of programs. */
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

struct uroce_entry *
uroce_entry_take(struct uroce_mr_table *table, uint32_t *key)
{
	const uint32_t idx = take_free(table);

	if (idx == UROCE_ENTRY_NONE)
		return NULL;
	*key = draw_key(table, idx);
	table->entries[idx].tag = (uint8_t)*key;
	table->nb_live++;
	return &table->entries[idx];
}

struct uroce_entry *
uroce_entry_find(const struct uroce_mr_table *table, uint32_t key)
{
	const uint32_t idx = uroce_key_index(&table->perm, key);

	return idx < table->nb_entries ? (struct uroce_entry *)&table->entries[idx] : NULL;
}

static uint8_t
get_entry_kind(const struct uroce_mr_conf *conf)
{
	if (conf->is_null)
		return UROCE_ENTRY_NULL;
	return conf->access & IBV_ACCESS_ON_DEMAND ? UROCE_ENTRY_ODP : 0;
}

static bool
is_sound(const struct uroce_mr_conf *conf)
{
	const uint64_t addr = (uintptr_t)conf->addr;

	if (conf->iova + conf->len < conf->iova || addr + conf->len < addr)
		return false;
	return conf->addr != NULL || conf->len == 0 || get_entry_kind(conf) != 0;
}

static void
publish_entry(struct uroce_entry *entry, const struct uroce_mr_conf *conf, uint32_t key)
{
	UROCE_ENTRY_SET(entry, kind, get_entry_kind(conf));
	UROCE_ENTRY_SET(entry, iova, conf->iova);
	UROCE_ENTRY_SET(entry, len, conf->len);
	UROCE_ENTRY_SET(entry, addr, (uintptr_t)conf->addr);
	UROCE_ENTRY_SET(entry, pdn, conf->pdn);
	UROCE_ENTRY_SET(entry, access, conf->access);
	/* Release R1: a thread that loads this state (acquire A1) sees the fields of the entry. */
	atomic_store_explicit(&entry->state, UROCE_ENTRY_LIVE | key, memory_order_release);
}

int
uroce_mr_add(struct uroce_mr_table *table, const struct uroce_mr_conf *conf, uint32_t *key)
{
	uint32_t new_key;

	if (!is_sound(conf))
		return -EINVAL;
	struct uroce_entry *entry = uroce_entry_take(table, &new_key);

	if (entry == NULL)
		return -ENOMEM;
	publish_entry(entry, conf, new_key);
	*key = new_key;
	return 0;
}

int
uroce_mr_invalidate(struct uroce_mr_table *table, uint32_t key)
{
	struct uroce_entry *entry = uroce_entry_find(table, key);
	uint64_t state = UROCE_ENTRY_LIVE | key;

	if (entry == NULL)
		return -EINVAL;
	/* The compare-and-swap of the entry's state resolves two races: only one of two threads
	 * withdraws a key; and a region is withdrawn or a window is bound to it, not both. No other
	 * data is published. The grace period orders the caller's use of the memory. */
	if (atomic_load_explicit(&entry->state, memory_order_acquire) == state &&
	    uroce_entry_is_window(UROCE_ENTRY_GET(entry, kind)))
		return -EINVAL;
	if (!atomic_compare_exchange_strong_explicit(&entry->state, &state, UROCE_ENTRY_DEAD | key,
						     memory_order_acq_rel, memory_order_acquire)) {
		const bool has_windows = (state & UROCE_ENTRY_WHO) == (UROCE_ENTRY_LIVE | key) &&
					 !uroce_entry_is_window(UROCE_ENTRY_GET(entry, kind));

		return has_windows ? -EBUSY : -EINVAL;
	}
	table->nb_live--;
	return 0;
}

int
uroce_mr_query(const struct uroce_mr_table *table, uint32_t key, struct uroce_mr_conf *conf)
{
	const struct uroce_entry *entry = uroce_entry_find(table, key);

	if (entry == NULL)
		return -EFAULT;
	/* Acquire A1 pairs with release R1 in publish_entry(): the entry's fields are visible. */
	const uint64_t state = atomic_load_explicit(&entry->state, memory_order_acquire);
	const uint64_t life = state & UROCE_ENTRY_LIFE;

	if (life != UROCE_ENTRY_LIVE && life != UROCE_ENTRY_IDLE)
		return -EFAULT;
	if ((uint32_t)state != key)
		return -ENOENT;
	const uint8_t kind = UROCE_ENTRY_GET(entry, kind);

	if (uroce_entry_is_window(kind) || kind == UROCE_ENTRY_MKEY)
		return -EINVAL;
	*conf = (struct uroce_mr_conf){
		.addr = (void *)(uintptr_t)UROCE_ENTRY_GET(entry, addr),
		.iova = UROCE_ENTRY_GET(entry, iova),
		.len = UROCE_ENTRY_GET(entry, len),
		.pdn = UROCE_ENTRY_GET(entry, pdn),
		.access = UROCE_ENTRY_GET(entry, access),
		.is_null = kind == UROCE_ENTRY_NULL,
	};
	return 0;
}

void
uroce_mr_replace(struct uroce_mr_table *table, uint32_t key, const struct uroce_mr_conf *conf)
{
	struct uroce_entry *entry = uroce_entry_find(table, key);

	assert(entry != NULL && is_sound(conf));
	assert(atomic_load_explicit(&entry->state, memory_order_relaxed) ==
	       (UROCE_ENTRY_DEAD | key));
	publish_entry(entry, conf, key);
	table->nb_live++;
}

/*
 * Find the slot of a key in the cache of recent keys. The upper 24 bits of a key identify its
 * entry, and all of these bits are equally random. The lowest of these bits select the slot.
 */
static _Atomic uint64_t *
recent_of(const struct uroce_mr_table *table, uint32_t key)
{
	return &table->recent[key >> 8 & (UROCE_NB_RECENT - 1)];
}

/*
 * Cache the index of a key's entry, unless the slot has a key of another entry. Two keys that
 * select one slot would otherwise replace each other all the time, and workers would write into
 * each other's cache lines.
 */
static void
remember_recent(_Atomic uint64_t *recent, uint64_t seen, uint32_t key, uint32_t idx)
{
	if (seen == 0 || seen >> 40 == key >> 8)
		atomic_store_explicit(recent, (uint64_t)key << 32 | idx, memory_order_relaxed);
}

/* Remove a key from the cache of recent keys. No worker can insert it after a grace period. */
static void
forget_recent(const struct uroce_mr_table *table, uint32_t key)
{
	_Atomic uint64_t *recent = recent_of(table, key);

	if (atomic_load_explicit(recent, memory_order_relaxed) >> 40 == key >> 8)
		atomic_store_explicit(recent, 0, memory_order_relaxed);
}

void
uroce_mr_free(struct uroce_mr_table *table, uint32_t key)
{
	struct uroce_entry *entry = uroce_entry_find(table, key);

	assert(entry != NULL);
	assert(atomic_load_explicit(&entry->state, memory_order_relaxed) ==
	       (UROCE_ENTRY_DEAD | key));
	forget_recent(table, key);
	atomic_store_explicit(&entry->state, UROCE_ENTRY_FREE, memory_order_relaxed);
	put_free(table, (uint32_t)(entry - table->entries));
}

/* Get the table entry `idx` if its state is LIVE and its key is `key`; otherwise return NULL. */
static inline const struct uroce_entry *
check_live(const struct uroce_mr_table *table, uint32_t idx, uint32_t key, uint64_t *state)
{
	if (idx >= table->nb_entries)
		return NULL;
	const struct uroce_entry *entry = &table->entries[idx];

	/* Acquire A1 pairs with release R1 in publish_entry(): the entry's fields are visible. */
	*state = atomic_load_explicit(&entry->state, memory_order_acquire);
	return (*state & UROCE_ENTRY_WHO) == (UROCE_ENTRY_LIVE | key) ? entry : NULL;
}

/*
 * Find the entry of a key by computing its index, if the cache of recent keys does not have it. The
 * function is not inlined, so that callers need not save registers in the common case.
 */
static __attribute__((noinline)) const struct uroce_entry *
find_by_permutation(const struct uroce_mr_table *table, uint32_t key, uint64_t *state)
{
	const uint32_t idx = uroce_key_index(&table->perm, key);
	const struct uroce_entry *entry = check_live(table, idx, key, state);
	_Atomic uint64_t *recent = recent_of(table, key);

	if (entry != NULL)
		remember_recent(recent, atomic_load_explicit(recent, memory_order_relaxed), key,
				idx);
	return entry;
}

/* Find the entry whose state is LIVE and whose key is `key`; return NULL if there is none. */
static inline const struct uroce_entry *
find_live(const struct uroce_mr_table *table, uint32_t key, uint64_t *state)
{
	const uint64_t seen = atomic_load_explicit(recent_of(table, key), memory_order_relaxed);

	return seen >> 32 == key ? check_live(table, (uint32_t)seen, key, state)
				 : find_by_permutation(table, key, state);
}

static bool
is_region_granted(const struct uroce_entry *entry, uint32_t pdn, uint32_t access)
{
	return pdn == UROCE_ENTRY_GET(entry, pdn) &&
	       (access & ~UROCE_ENTRY_GET(entry, access)) == 0;
}

static struct uroce_mr_view
make_view(const struct uroce_entry *entry, uint32_t key)
{
	return (struct uroce_mr_view){
		.key = key,
		.iova = UROCE_ENTRY_GET(entry, iova),
		.len = UROCE_ENTRY_GET(entry, len),
		.addr = UROCE_ENTRY_GET(entry, addr),
	};
}

static inline void *
resolve_region(const struct uroce_entry *entry, uint32_t pdn, uint64_t va, uint64_t len,
	       uint32_t access)
{
	const struct uroce_mr_view view = make_view(entry, 0);

	return is_region_granted(entry, pdn, access) ? uroce_mr_view_at(&view, va, len) : NULL;
}

void *
uroce_entry_page_in(const struct uroce_entry *entry, void *addr, uint64_t len, uint32_t access)
{
	const struct uroce_mr_table *table =
		(const void *)((const uint8_t *)(entry - entry->idx) -
			       offsetof(struct uroce_mr_table, entries));
	const bool is_written = access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_ATOMIC);
	const uint64_t part = len < UROCE_ODP_MAX ? len : UROCE_ODP_MAX;

	if (table->page_in == NULL)
		return NULL;
	return table->page_in(addr, part, is_written) == 0 ? addr : NULL;
}

/*
 * Resolve a key whose memory may be absent: an on-demand region, or a null region. The function is
 * not inlined, and its callers call it last, so that they need not save registers.
 */
static __attribute__((noinline)) void *
resolve_uncommon(const struct uroce_entry *entry, uint32_t pdn, uint64_t va, uint64_t skip,
		 uint64_t len, uint32_t access)
{
	if (UROCE_ENTRY_GET(entry, kind) != UROCE_ENTRY_ODP)
		return NULL; /* a null region has no memory */
	uint8_t *addr = resolve_region(entry, pdn, va, skip + len, access);

	return addr != NULL ? uroce_entry_page_in(entry, addr + skip, len, access) : NULL;
}

/* Resolve a peer's key that belongs to a window, an on-demand region or a null region. */
static __attribute__((noinline)) void *
resolve_uncommon_rkey(const struct uroce_entry *entry, uint64_t state, uint32_t pdn, uint32_t qpn,
		      uint64_t va, uint64_t len, uint32_t access)
{
	return uroce_entry_is_window(UROCE_ENTRY_GET(entry, kind))
		       ? uroce_mw_resolve(entry, state, pdn, qpn, va, len, access)
		       : resolve_uncommon(entry, pdn, va, 0, len, access);
}

bool
uroce_mr_get_view(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint32_t access,
		  struct uroce_mr_view *view)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, key, &state);

	*view = (struct uroce_mr_view){ 0 };
	if (entry == NULL || UROCE_ENTRY_GET(entry, kind) != 0 ||
	    !is_region_granted(entry, pdn, access))
		return false;
	*view = make_view(entry, key);
	return true;
}

void *
uroce_mr_resolve(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t va,
		 uint64_t len, uint32_t access)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, key, &state);

	if (entry == NULL)
		return NULL;
	if (UROCE_ENTRY_GET(entry, kind) != 0)
		return resolve_uncommon(entry, pdn, va, 0, len, access);
	return resolve_region(entry, pdn, va, len, access);
}

void *
uroce_mr_resolve_sge(const struct uroce_mr_table *table, uint32_t pdn, const struct ibv_sge *sge,
		     uint64_t skip, uint64_t len, uint32_t access)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, sge->lkey, &state);

	if (entry == NULL)
		return NULL;
	if (UROCE_ENTRY_GET(entry, kind) != 0)
		return resolve_uncommon(entry, pdn, sge->addr, skip, len, access);
	uint8_t *addr = resolve_region(entry, pdn, sge->addr, skip + len, access);

	return addr != NULL ? addr + skip : NULL;
}

bool
uroce_mr_is_null(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, key, &state);

	return entry != NULL && UROCE_ENTRY_GET(entry, kind) == UROCE_ENTRY_NULL &&
	       UROCE_ENTRY_GET(entry, pdn) == pdn;
}

void *
uroce_rkey_resolve(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn, uint32_t qpn,
		   uint64_t va, uint64_t len, uint32_t access)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, rkey, &state);

	if (entry == NULL)
		return NULL;
	if (UROCE_ENTRY_GET(entry, kind) != 0)
		return resolve_uncommon_rkey(entry, state, pdn, qpn, va, len, access);
	return resolve_region(entry, pdn, va, len, access);
}

void *
uroce_rkey_region(const struct uroce_mr_table *table, uint32_t rkey, uint32_t pdn, uint32_t access,
		  uint64_t *len)
{
	uint64_t state;
	const struct uroce_entry *entry = find_live(table, rkey, &state);

	if (entry == NULL)
		return NULL;
	const uint8_t kind = UROCE_ENTRY_GET(entry, kind);

	if (kind != 0 && kind != UROCE_ENTRY_ODP)
		return NULL;
	*len = UROCE_ENTRY_GET(entry, len);
	return resolve_region(entry, pdn, UROCE_ENTRY_GET(entry, iova), *len, access);
}

_Atomic uint32_t *
uroce_mr_get_tx_ref(struct uroce_mr_table *table, uint32_t key)
{
	uint64_t state;
	const struct uroce_entry *found = find_live(table, key, &state);

	if (found == NULL || UROCE_ENTRY_GET(found, kind) != 0)
		return NULL;
	struct uroce_entry *entry = &table->entries[found - table->entries];

	/* Relaxed order is enough: before a thread waits for nb_tx_refs to become 0, it waits until
	 * this worker's current round, one pass of its loop, has ended. */
	atomic_fetch_add_explicit(&entry->nb_tx_refs, 1, memory_order_relaxed);
	return &entry->nb_tx_refs;
}

uint32_t
uroce_mr_nb_tx_refs(const struct uroce_mr_table *table, uint32_t key)
{
	const struct uroce_entry *entry = uroce_entry_find(table, key);

	/*
	 * Acquire A5 pairs with release R5 in uroce_mr_put_tx_ref(): if the number of references is
	 * 0, the port has finished all its reads of the region.
	 */
	return entry != NULL ? atomic_load_explicit(&entry->nb_tx_refs, memory_order_acquire) : 0;
}
