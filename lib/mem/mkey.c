/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Creation, configuration and removal of mkeys. mkey_transfer.c reads and writes memory through
 * them.
 */

#include "mem/mkey.h"

#include <errno.h>
#include <string.h>

#include "base/lock.h"
#include "mem/mkey_object.h"
#include "mem/table.h"

/* Maximum length in bytes of the layout of an mkey. No memory region is longer. */
#define LEN_MAX (UINT64_C(1) << 47)

size_t
uroce_mkey_memsize(uint32_t max_pieces)
{
	return sizeof(struct uroce_mkey) + max_pieces * sizeof(struct uroce_mkey_placed);
}

/* --- questions about a key ------------------------------------------------------------------------ */

bool
uroce_mkey_any(const struct uroce_mr_table *table)
{
	return atomic_load_explicit(&table->nb_mkeys, memory_order_relaxed) != 0;
}

bool
uroce_mkey_is(const struct uroce_mr_table *table, uint32_t key)
{
	uint64_t life;

	return uroce_mkey_find(table, key, &life) != NULL;
}

bool
uroce_mkey_may(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
	       uint64_t len, uint32_t access)
{
	const struct uroce_entry *entry = uroce_mkey_find_configured(table, key, pdn);

	return entry != NULL && uroce_mkey_is_granted(entry, addr, len, access);
}

/* --- creation and removal -------------------------------------------------------------------------- */

int
uroce_mkey_add(struct uroce_mr_table *table, void *mem, uint32_t max_pieces, uint32_t flags,
	       uint32_t pdn, uint32_t *key)
{
	struct uroce_mkey *mkey = mem;
	uint32_t new_key;
	struct uroce_entry *entry = uroce_entry_take(table, &new_key);

	if (entry == NULL)
		return -ENOMEM;
	memset(mkey, 0, sizeof(*mkey));
	mkey->max_pieces = max_pieces;
	mkey->flags = flags;
	UROCE_ENTRY_SET(entry, kind, UROCE_ENTRY_MKEY);
	UROCE_ENTRY_SET(entry, iova, 0);
	UROCE_ENTRY_SET(entry, len, 0);
	UROCE_ENTRY_SET(entry, addr, (uintptr_t)mkey);
	UROCE_ENTRY_SET(entry, pdn, pdn);
	UROCE_ENTRY_SET(entry, access, 0);
	/*
	 * Release R1: a thread that loads this state (acquire A1 in mkey_object.h) sees the fields
	 * of the mkey's entry.
	 */
	atomic_store_explicit(&entry->state, UROCE_ENTRY_IDLE | new_key, memory_order_release);
	atomic_fetch_add_explicit(&table->nb_mkeys, 1, memory_order_relaxed);
	*key = new_key;
	return 0;
}

void
uroce_mkey_remove(struct uroce_mr_table *table, uint32_t key)
{
	uint64_t life;
	struct uroce_entry *entry = uroce_mkey_find(table, key, &life);

	assert(entry != NULL);
	struct uroce_mkey *mkey = uroce_mkey_of(entry);

	/*
	 * The lock of the mkey is taken, because another worker may have found the mkey before, and
	 * may be configuring it.
	 */
	uroce_lock_take(&mkey->lock);
	atomic_store_explicit(&entry->state, UROCE_ENTRY_DEAD | key, memory_order_relaxed);
	uroce_lock_release(&mkey->lock);
	atomic_fetch_sub_explicit(&table->nb_mkeys, 1, memory_order_relaxed);
	table->nb_live--;
}

/* --- configuration --------------------------------------------------------------------------------- */

/*
 * Count the data bytes, without signatures, in `len` bytes of memory or of the wire. `domain` is
 * the format of these bytes. A block does not count if its signature is missing or incomplete. The
 * rest after the last whole block counts.
 */
static uint64_t
data_in(const struct uroce_sig_domain *domain, uint64_t len)
{
	if (domain->block_len == 0)
		return len;
	const uint64_t unit = (uint64_t)domain->block_len + domain->len, rest = len % unit;

	return len / unit * domain->block_len + (rest < domain->block_len ? rest : 0);
}

/* Whether the layout that a configuration gives to an mkey has at most LEN_MAX bytes. */
static bool
is_countable(const struct uroce_mkey_conf *conf)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < conf->nb_pieces; i++)
		len += conf->piece[i].len;
	return conf->repeat == 0 || len <= LEN_MAX / conf->repeat;
}

static bool
is_acceptable(const struct uroce_mkey *mkey, const struct uroce_mkey_conf *conf)
{
	if ((conf->parts & UROCE_MKEY_LAYOUT) &&
	    (conf->nb_pieces > mkey->max_pieces || !is_countable(conf)))
		return false;
	return !(conf->parts & UROCE_MKEY_SIG) || (mkey->flags & UROCE_MKEY_SIGNATURE) ||
	       (conf->mem.block_len == 0 && conf->wire.block_len == 0);
}

static void
set_layout(struct uroce_mkey *mkey, const struct uroce_mkey_conf *conf)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < conf->nb_pieces; i++) {
		end += conf->piece[i].len;
		mkey->placed[i] = (struct uroce_mkey_placed){ .piece = conf->piece[i], .end = end };
	}
	mkey->repeat = conf->repeat;
	mkey->nb_pieces = conf->nb_pieces;
}

static uint64_t
memory_len(const struct uroce_mkey *mkey)
{
	return mkey->nb_pieces == 0 ? 0 : mkey->placed[mkey->nb_pieces - 1].end * mkey->repeat;
}

/* Apply a configuration to an mkey. The caller holds the mkey's lock. */
static void
apply_conf(struct uroce_mkey *mkey, struct uroce_entry *entry, const struct uroce_mkey_conf *conf)
{
	if (conf->parts & UROCE_MKEY_LAYOUT)
		set_layout(mkey, conf);
	if (conf->parts & UROCE_MKEY_ACCESS)
		UROCE_ENTRY_SET(entry, access, conf->access);
	if (conf->parts & UROCE_MKEY_SIG) {
		mkey->mem = conf->mem;
		mkey->wire = conf->wire;
		mkey->check_mask = conf->check_mask;
		mkey->copy_mask = conf->copy_mask;
	}
	mkey->data_len = data_in(&mkey->mem, memory_len(mkey));
	mkey->begin = 0;
	mkey->next = 0;
	UROCE_ENTRY_SET(entry, len, uroce_mkey_data_place(&mkey->wire, mkey->data_len));
}

int
uroce_mkey_configure(struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
		     const struct uroce_mkey_conf *conf)
{
	uint64_t life;
	struct uroce_entry *entry = uroce_mkey_find(table, key, &life);
	int ret = -EINVAL;

	if (entry == NULL || UROCE_ENTRY_GET(entry, pdn) != pdn)
		return -EINVAL;
	struct uroce_mkey *mkey = uroce_mkey_of(entry);

	uroce_lock_take(&mkey->lock);
	if (uroce_mkey_find(table, key, &life) == entry && is_acceptable(mkey, conf)) {
		apply_conf(mkey, entry, conf);
		/*
		 * Release R1: a thread that loads this state (acquire A1 in mkey_object.h) sees the
		 * fields of the mkey's entry as configured by `conf`.
		 */
		atomic_store_explicit(&entry->state, UROCE_ENTRY_LIVE | key, memory_order_release);
		ret = 0;
	}
	uroce_lock_release(&mkey->lock);
	return ret;
}

int
uroce_mkey_invalidate(struct uroce_mr_table *table, uint32_t key, uint32_t pdn, bool is_remote)
{
	const struct uroce_mkey_conf none = { .parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT |
						       UROCE_MKEY_SIG };
	struct uroce_entry *entry = uroce_mkey_find_configured(table, key, pdn);
	int ret = -EINVAL;

	if (entry == NULL)
		return -EINVAL;
	struct uroce_mkey *mkey = uroce_mkey_of(entry);

	if (is_remote && !(mkey->flags & UROCE_MKEY_REMOTE_INV))
		return -EINVAL;
	uroce_lock_take(&mkey->lock);
	if (uroce_mkey_find_configured(table, key, pdn) == entry) {
		apply_conf(mkey, entry, &none);
		atomic_store_explicit(&entry->state, UROCE_ENTRY_IDLE | key, memory_order_release);
		ret = 0;
	}
	uroce_lock_release(&mkey->lock);
	return ret;
}

int
uroce_mkey_check(struct uroce_mr_table *table, uint32_t key, struct uroce_mkey_error *error)
{
	uint64_t life;
	const struct uroce_entry *entry = uroce_mkey_find(table, key, &life);

	if (entry == NULL)
		return -EINVAL;
	struct uroce_mkey *mkey = uroce_mkey_of(entry);

	uroce_lock_take(&mkey->lock);
	*error = mkey->error;
	mkey->error = (struct uroce_mkey_error){ 0 };
	uroce_lock_release(&mkey->lock);
	return 0;
}
