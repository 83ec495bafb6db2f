/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mkeys. How the conversion works: the bytes of a packet on the wire are cut into segments of data
 * and segments of signatures. Data is copied between the packet and memory, at the place that the
 * layout and the signatures in memory give. A signature is computed from all data of its block.
 * That data is in memory in both directions of transfer.
 *
 * A block of the source side is checked, and a block in memory of the destination side is signed,
 * by the packet that has the last byte of the block.
 *
 * Memory is resolved piece by piece at each use, since a region may be deregistered at any time. A
 * walk is a range of the layout together with the operation that is applied to each piece of the
 * range.
 *
 * The file has more than 500 lines: both directions share the walks over memory and over the wire.
 */

#include "mem/mkey.h"

#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "mem/table.h"
#include "base/lock.h"

/* Most bytes that a layout may have. No region has more. */
#define LEN_MAX (UINT64_C(1) << 47)

/* A piece of the layout of an mkey, and the offset of its end in one repetition of the layout. */
struct placed {
	struct uroce_mkey_piece piece;
	uint64_t end;
};

struct uroce_mkey {
	struct uroce_lock lock;
	uint32_t max_pieces;
	uint32_t flags; /* enum uroce_mkey_flag */
	/*
	 * The fields from `repeat` to `data_len` are the configuration, which
	 * uroce_mkey_configure() writes.
	 */
	uint32_t repeat;
	uint32_t nb_pieces;
	uint8_t check_mask;
	uint8_t copy_mask;
	struct uroce_sig_domain mem, wire;
	uint64_t data_len;
	/* [begin, next) is the range of wire bytes that the last received packets brought in
	 * order, without a gap. */
	uint64_t begin, next;
	/* the bytes of a signature that have arrived; `next` may be inside the signature */
	uint8_t cut[UROCE_SIG_LEN_MAX];
	struct uroce_mkey_error error; /* the first error since the last uroce_mkey_check() */
	struct placed placed[];
};

size_t
uroce_mkey_memsize(uint32_t max_pieces)
{
	return sizeof(struct uroce_mkey) + max_pieces * sizeof(struct placed);
}

/* --- look-up of mkeys ------------------------------------------------------------------------------ */

/*
 * Find the entry of the mkey with this key. The entry stays in the table until the round of the
 * calling worker ends.
 * @return the entry; NULL: no mkey has this key
 */
static struct uroce_entry *
find_mkey_entry(const struct uroce_mr_table *table, uint32_t key, uint64_t *life)
{
	struct uroce_entry *entry = uroce_entry_find(table, key);

	if (entry == NULL)
		return NULL;
	/* A1: pairs with the releases R1 in this file, so the fields of the entry are visible. */
	const uint64_t state = atomic_load_explicit(&entry->state, memory_order_acquire);

	*life = state & UROCE_ENTRY_LIFE;
	if ((uint32_t)state != key || UROCE_ENTRY_GET(entry, kind) != UROCE_ENTRY_MKEY)
		return NULL;
	return *life == UROCE_ENTRY_LIVE || *life == UROCE_ENTRY_IDLE ? entry : NULL;
}

static struct uroce_mkey *
mkey_of(const struct uroce_entry *entry)
{
	return (struct uroce_mkey *)(uintptr_t)UROCE_ENTRY_GET(entry, addr);
}

/*
 * Find the entry of an mkey that is configured and belongs to the protection domain `pdn`.
 * @return the entry; NULL: there is no such mkey
 */
static struct uroce_entry *
find_configured(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn)
{
	uint64_t life;
	struct uroce_entry *entry = find_mkey_entry(table, key, &life);

	return entry != NULL && life == UROCE_ENTRY_LIVE && UROCE_ENTRY_GET(entry, pdn) == pdn
		       ? entry
		       : NULL;
}

bool
uroce_mkey_any(const struct uroce_mr_table *table)
{
	return atomic_load_explicit(&table->nb_mkeys, memory_order_relaxed) != 0;
}

bool
uroce_mkey_is(const struct uroce_mr_table *table, uint32_t key)
{
	uint64_t life;

	return find_mkey_entry(table, key, &life) != NULL;
}

static bool
is_mkey_granted(const struct uroce_entry *entry, uint64_t addr, uint64_t len, uint32_t access)
{
	const uint64_t wire_len = UROCE_ENTRY_GET(entry, len);

	return (access & ~UROCE_ENTRY_GET(entry, access)) == 0 && addr <= wire_len &&
	       len <= wire_len - addr;
}

bool
uroce_mkey_may(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
	       uint64_t len, uint32_t access)
{
	const struct uroce_entry *entry = find_configured(table, key, pdn);

	return entry != NULL && is_mkey_granted(entry, addr, len, access);
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
	atomic_store_explicit(&entry->state, UROCE_ENTRY_IDLE | new_key,
			      memory_order_release); /* R1: publishes the fields of the entry */
	atomic_fetch_add_explicit(&table->nb_mkeys, 1, memory_order_relaxed);
	*key = new_key;
	return 0;
}

void
uroce_mkey_remove(struct uroce_mr_table *table, uint32_t key)
{
	uint64_t life;
	struct uroce_entry *entry = find_mkey_entry(table, key, &life);

	assert(entry != NULL);
	struct uroce_mkey *mkey = mkey_of(entry);

	/* Another worker may have found the mkey before and may be configuring it. */
	uroce_lock_take(&mkey->lock);
	atomic_store_explicit(&entry->state, UROCE_ENTRY_DEAD | key, memory_order_relaxed);
	uroce_lock_release(&mkey->lock);
	atomic_fetch_sub_explicit(&table->nb_mkeys, 1, memory_order_relaxed);
	table->nb_live--;
}

/* --- configuration --------------------------------------------------------------------------------- */

/*
 * Count the data bytes, without signatures, before offset `at` in memory or on the wire, whose
 * format is `domain`. `at` is not inside a signature.
 */
static uint64_t
data_before(const struct uroce_sig_domain *domain, uint64_t at)
{
	return domain->block_len == 0 ? at
				      : at - at / (domain->block_len + domain->len) * domain->len;
}

/* Compute the offset of data byte `data` in memory or on the wire, whose format is `domain`. */
static uint64_t
find_data_place(const struct uroce_sig_domain *domain, uint64_t data)
{
	return domain->block_len == 0 ? data : data + data / domain->block_len * domain->len;
}

/*
 * Count the data bytes in `len` bytes of memory or of the wire, whose format is `domain`. A block
 * does not count if its signature is missing or incomplete. The rest after the last whole block
 * counts.
 */
static uint64_t
data_in(const struct uroce_sig_domain *domain, uint64_t len)
{
	if (domain->block_len == 0)
		return len;
	const uint64_t unit = (uint64_t)domain->block_len + domain->len, rest = len % unit;

	return len / unit * domain->block_len + (rest < domain->block_len ? rest : 0);
}

/* Whether the length of a layout does not exceed LEN_MAX. */
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
		mkey->placed[i] = (struct placed){ .piece = conf->piece[i], .end = end };
	}
	mkey->repeat = conf->repeat;
	mkey->nb_pieces = conf->nb_pieces;
}

static uint64_t
memory_len(const struct uroce_mkey *mkey)
{
	return mkey->nb_pieces == 0 ? 0 : mkey->placed[mkey->nb_pieces - 1].end * mkey->repeat;
}

/* Apply a configuration. The caller holds the mkey's lock. */
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
	UROCE_ENTRY_SET(entry, len, find_data_place(&mkey->wire, mkey->data_len));
}

int
uroce_mkey_configure(struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
		     const struct uroce_mkey_conf *conf)
{
	uint64_t life;
	struct uroce_entry *entry = find_mkey_entry(table, key, &life);
	int ret = -EINVAL;

	if (entry == NULL || UROCE_ENTRY_GET(entry, pdn) != pdn)
		return -EINVAL;
	struct uroce_mkey *mkey = mkey_of(entry);

	uroce_lock_take(&mkey->lock);
	if (find_mkey_entry(table, key, &life) == entry && is_acceptable(mkey, conf)) {
		apply_conf(mkey, entry, conf);
		atomic_store_explicit(&entry->state, UROCE_ENTRY_LIVE | key,
				      memory_order_release); /* R1: publishes the configuration */
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
	struct uroce_entry *entry = find_configured(table, key, pdn);
	int ret = -EINVAL;

	if (entry == NULL)
		return -EINVAL;
	struct uroce_mkey *mkey = mkey_of(entry);

	if (is_remote && !(mkey->flags & UROCE_MKEY_REMOTE_INV))
		return -EINVAL;
	uroce_lock_take(&mkey->lock);
	if (find_configured(table, key, pdn) == entry) {
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
	const struct uroce_entry *entry = find_mkey_entry(table, key, &life);

	if (entry == NULL)
		return -EINVAL;
	struct uroce_mkey *mkey = mkey_of(entry);

	uroce_lock_take(&mkey->lock);
	*error = mkey->error;
	mkey->error = (struct uroce_mkey_error){ 0 };
	uroce_lock_release(&mkey->lock);
	return 0;
}

/* --- memory ---------------------------------------------------------------------------------------- */

/* One read or write of memory by the key of an mkey. The mkey's lock is held until it ends. */
struct use {
	const struct uroce_mr_table *table;
	struct uroce_mkey *mkey;
	uint32_t pdn;
	bool is_bad; /* a block that this read or write has passed had a bad signature */
};

/* A walk over a range of memory: the function for each piece, and the state of that function. */
struct walk {
	/*
	 * function that is called for each piece of memory; NULL: the walk only checks the access
	 * rights
	 */
	void (*visit)(struct walk *walk, void *addr, uint32_t len);
	/* next byte of the packet: visit_load() copies to it, visit_store() copies from it */
	uint8_t *buf;
	/* signature format whose guard visit_sum() computes */
	const struct uroce_sig_domain *domain;
	uint64_t state;
	uint32_t access; /* enum ibv_access_flags that each region must grant */
};

static void
visit_load(struct walk *walk, void *addr, uint32_t len)
{
	uroce_copy(walk->buf, addr, len);
	walk->buf += len;
}

static void
visit_store(struct walk *walk, void *addr, uint32_t len)
{
	uroce_copy(addr, walk->buf, len);
	walk->buf += len;
}

static void
visit_sum(struct walk *walk, void *addr, uint32_t len)
{
	walk->state = uroce_sig_add(walk->domain, walk->state, addr, len);
}

/*
 * Find the piece of memory that contains offset `at` of one repetition of the layout. `at` is
 * within the repetition.
 */
static const struct placed *
find_piece(const struct uroce_mkey *mkey, uint64_t at)
{
	uint32_t low = 0, high = mkey->nb_pieces - 1;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (mkey->placed[middle].end > at)
			high = middle;
		else
			low = middle + 1;
	}
	return &mkey->placed[low];
}

/*
 * Call `walk->visit` for each piece of memory of `[at, at + len)` of the layout. The layout has at
 * least `at + len` bytes.
 * @return false: a region refused access
 */
static bool
walk_memory(const struct use *use, uint64_t at, uint64_t len, struct walk *walk)
{
	const struct uroce_mkey *mkey = use->mkey;

	while (len > 0) {
		const uint64_t round_len = mkey->placed[mkey->nb_pieces - 1].end;
		/* Most layouts have one repetition. For them the slow division is skipped. */
		const uint64_t round = at < round_len ? 0 : at / round_len;
		const uint64_t in_round = at - round * round_len;
		const struct placed *placed = find_piece(mkey, in_round);
		const struct uroce_mkey_piece *piece = &placed->piece;
		const uint64_t left = placed->end - in_round;
		const uint32_t n = (uint32_t)(len < left ? len : left);
		const uint64_t addr = piece->addr + round * ((uint64_t)piece->len + piece->skip) +
				      piece->len - left;
		void *memory =
			uroce_mr_resolve(use->table, piece->lkey, use->pdn, addr, n, walk->access);

		if (memory == NULL)
			return false;
		if (walk->visit != NULL)
			walk->visit(walk, memory, n);
		at += n;
		len -= n;
	}
	return true;
}

/*
 * Call `walk->visit` for the memory of the data bytes `[data, data + len)`, but not for
 * signatures.
 * @return false: a region refused access
 */
static bool
walk_data(const struct use *use, uint64_t data, uint64_t len, struct walk *walk)
{
	const struct uroce_sig_domain *mem = &use->mkey->mem;

	while (len > 0) {
		const uint64_t left = mem->block_len ? mem->block_len - data % mem->block_len : len;
		const uint64_t n = len < left ? len : left;

		if (!walk_memory(use, find_data_place(mem, data), n, walk))
			return false;
		data += n;
		len -= n;
	}
	return true;
}

/* Compute the offset in memory of the signature of block `nth`. */
static uint64_t
mem_sig_at(const struct uroce_mkey *mkey, uint64_t nth)
{
	return (nth + 1) * mkey->mem.block_len + nth * mkey->mem.len;
}

/* Load the signature that stands behind block `nth` in memory. */
static bool
load_sig(const struct use *use, uint64_t nth, uint8_t sig[UROCE_SIG_LEN_MAX])
{
	struct walk walk = { .visit = visit_load, .buf = sig };

	return walk_memory(use, mem_sig_at(use->mkey, nth), use->mkey->mem.len, &walk);
}

static bool
store_sig(const struct use *use, uint64_t nth, uint8_t sig[UROCE_SIG_LEN_MAX])
{
	struct walk walk = { .visit = visit_store, .buf = sig, .access = IBV_ACCESS_LOCAL_WRITE };

	return walk_memory(use, mem_sig_at(use->mkey, nth), use->mkey->mem.len, &walk);
}

/*
 * Compute the signature that block `nth` must have in memory or on the wire, whose format is
 * `domain`.
 */
static bool
make_sig(const struct use *use, const struct uroce_sig_domain *domain, uint64_t nth,
	 uint8_t sig[UROCE_SIG_LEN_MAX])
{
	struct walk walk = {
		.visit = visit_sum,
		.domain = domain,
		.state = uroce_sig_begin(domain),
	};

	if (!walk_data(use, nth * domain->block_len, domain->block_len, &walk))
		return false;
	uroce_sig_end(domain, walk.state, nth, sig);
	return true;
}

/*
 * Compare `found`, the signature of block `nth`, with `wanted`, the computed one. The first bad
 * signature is recorded in the mkey.
 */
static void
compare_sig(struct use *use, const struct uroce_sig_domain *domain, uint64_t nth,
	    const uint8_t found[UROCE_SIG_LEN_MAX], const uint8_t wanted[UROCE_SIG_LEN_MAX])
{
	struct uroce_mkey *mkey = use->mkey;
	struct uroce_sig_error error;

	if (uroce_sig_check(domain, found, wanted, mkey->check_mask, &error))
		return;
	use->is_bad = true;
	if (mkey->error.sig.fault != UROCE_SIG_GOOD)
		return;
	mkey->error.sig = error;
	mkey->error.offset = nth * ((uint64_t)domain->block_len + domain->len);
}

/* --- the wire -------------------------------------------------------------------------------------- */

/*
 * A segment of a packet. It contains data of one block, or one signature, or a part of one of
 * them.
 */
struct segment {
	bool is_sig;
	uint32_t len;
	uint32_t sig_at; /* offset of the segment in the signature */
	/*
	 * offset of the segment in the data bytes; for a signature, the offset of the end of its
	 * block
	 */
	uint64_t data;
};

/* Get the segment that begins at offset `at` of the wire. The segment has at most `max` bytes. */
static struct segment
get_segment(const struct uroce_mkey *mkey, uint64_t at, uint32_t max)
{
	const struct uroce_sig_domain *wire = &mkey->wire;

	if (wire->block_len == 0)
		return (struct segment){ .len = max, .data = at };
	const uint64_t unit = (uint64_t)wire->block_len + wire->len, in_unit = at % unit;
	const bool is_sig = in_unit >= wire->block_len;
	const uint64_t left = is_sig ? unit - in_unit : wire->block_len - in_unit;

	return (struct segment){
		.is_sig = is_sig,
		.len = (uint32_t)(left < max ? left : max),
		.sig_at = is_sig ? (uint32_t)(in_unit - wire->block_len) : 0,
		.data = is_sig ? (at / unit + 1) * wire->block_len : data_before(wire, at),
	};
}

/* Whether a segment has the last byte of a signature. */
static bool
ends_sig(const struct uroce_mkey *mkey, const struct segment *segment)
{
	return segment->is_sig && segment->sig_at + segment->len == mkey->wire.len;
}

/* --- transmit -------------------------------------------------------------------------------------- */

/*
 * Compute the signature of a block on the wire. Bytes that the copy mask names are taken from the
 * signature in memory.
 */
static bool
sign_wire(const struct use *use, uint64_t nth, uint8_t sig[UROCE_SIG_LEN_MAX])
{
	const struct uroce_mkey *mkey = use->mkey;
	uint8_t found[UROCE_SIG_LEN_MAX];

	if (!make_sig(use, &mkey->wire, nth, sig))
		return false;
	if (mkey->copy_mask == 0)
		return true;
	if (!load_sig(use, nth, found))
		return false;
	uroce_sig_copy(&mkey->wire, sig, found, mkey->copy_mask);
	return true;
}

/* Check the signatures in memory of the blocks whose last data byte is in `[data, data + len)`. */
static bool
check_memory(struct use *use, uint64_t data, uint64_t len)
{
	const struct uroce_sig_domain *mem = &use->mkey->mem;
	uint8_t found[UROCE_SIG_LEN_MAX], wanted[UROCE_SIG_LEN_MAX];

	if (mem->block_len == 0)
		return true;
	for (uint64_t nth = data / mem->block_len; nth < (data + len) / mem->block_len; nth++) {
		if (!load_sig(use, nth, found) || !make_sig(use, mem, nth, wanted))
			return false;
		compare_sig(use, mem, nth, found, wanted);
	}
	return true;
}

/*
 * Write one segment of a packet that is transmitted. Signatures in memory are checked if
 * `is_checked` is set.
 */
static bool
send_segment(struct use *use, const struct segment *segment, uint8_t *to, bool is_checked)
{
	struct walk walk = { .visit = visit_load, .buf = to };
	uint8_t sig[UROCE_SIG_LEN_MAX];

	if (!segment->is_sig)
		return walk_data(use, segment->data, segment->len, &walk) &&
		       (!is_checked || check_memory(use, segment->data, segment->len));
	if (!sign_wire(use, segment->data / use->mkey->wire.block_len - 1, sig))
		return false;
	memcpy(to, sig + segment->sig_at, segment->len);
	return true;
}

/* --- receive --------------------------------------------------------------------------------------- */

/* Write the signatures in memory of the blocks whose last data byte is in `[data, data + len)`. */
static bool
sign_memory(const struct use *use, uint64_t data, uint64_t len)
{
	const struct uroce_sig_domain *mem = &use->mkey->mem;
	uint8_t sig[UROCE_SIG_LEN_MAX];

	/*
	 * With a copy mask, the signature in memory needs bytes of the signature on the wire,
	 * which has not arrived yet.
	 */
	if (mem->block_len == 0 || use->mkey->copy_mask != 0)
		return true;
	for (uint64_t nth = data / mem->block_len; nth < (data + len) / mem->block_len; nth++)
		if (!make_sig(use, mem, nth, sig) || !store_sig(use, nth, sig))
			return false;
	return true;
}

/*
 * Process block `nth` when the last byte of its signature has arrived. The signature is checked
 * only if the block and its signature arrived in order. The signature is copied to memory only if
 * all of it arrived in order.
 */
static bool
end_block(struct use *use, uint64_t nth)
{
	struct uroce_mkey *mkey = use->mkey;
	const uint64_t sig_at = (nth + 1) * mkey->wire.block_len + nth * (uint64_t)mkey->wire.len;
	uint8_t wanted[UROCE_SIG_LEN_MAX];

	if (mkey->begin + mkey->wire.block_len <= sig_at) {
		if (!make_sig(use, &mkey->wire, nth, wanted))
			return false;
		compare_sig(use, &mkey->wire, nth, mkey->cut, wanted);
	}
	/* If the beginning of the signature did not arrive in order, `cut` may have bytes of
	 * another block's signature. */
	if (mkey->copy_mask == 0 || mkey->begin > sig_at)
		return true;
	if (!make_sig(use, &mkey->mem, nth, wanted))
		return false;
	uroce_sig_copy(&mkey->mem, wanted, mkey->cut, mkey->copy_mask);
	return store_sig(use, nth, wanted);
}

/* Store one segment of a received packet in memory. */
static bool
take_segment(struct use *use, const struct segment *segment, const uint8_t *from)
{
	struct uroce_mkey *mkey = use->mkey;
	struct walk walk = {
		.visit = visit_store,
		.buf = (uint8_t *)(uintptr_t)from,
		.access = IBV_ACCESS_LOCAL_WRITE,
	};

	if (!segment->is_sig)
		return walk_data(use, segment->data, segment->len, &walk) &&
		       sign_memory(use, segment->data, segment->len);
	memcpy(mkey->cut + segment->sig_at, from, segment->len);
	if (!ends_sig(mkey, segment))
		return true;
	return end_block(use, segment->data / mkey->wire.block_len - 1);
}

/* Whether memory permits to write one segment, and the signatures that the segment completes. */
static bool
is_segment_writable(const struct use *use, const struct segment *segment)
{
	const struct uroce_mkey *mkey = use->mkey;
	const uint16_t block_len = mkey->mem.block_len;
	struct walk walk = { .access = IBV_ACCESS_LOCAL_WRITE };

	if (segment->is_sig)
		return mkey->copy_mask == 0 || !ends_sig(mkey, segment) ||
		       walk_memory(use, mem_sig_at(mkey, segment->data / block_len - 1),
				   mkey->mem.len, &walk);
	if (!walk_data(use, segment->data, segment->len, &walk))
		return false;
	if (block_len == 0 || mkey->copy_mask != 0)
		return true;
	for (uint64_t nth = segment->data / block_len;
	     nth < (segment->data + segment->len) / block_len; nth++)
		if (!walk_memory(use, mem_sig_at(mkey, nth), mkey->mem.len, &walk))
			return false;
	return true;
}

/* Whether all memory that a packet of `len` bytes at `addr` would write is writable. */
static bool
is_writable(const struct use *use, uint64_t addr, uint32_t len)
{
	while (len > 0) {
		const struct segment segment = get_segment(use->mkey, addr, len);

		if (!is_segment_writable(use, &segment))
			return false;
		addr += segment.len;
		len -= segment.len;
	}
	return true;
}

/* --- transmit and receive -------------------------------------------------------------------------- */

static int
send_bytes(struct use *use, uint64_t addr, uint8_t *to, uint32_t len, bool is_checked)
{
	while (len > 0) {
		const struct segment segment = get_segment(use->mkey, addr, len);

		if (!send_segment(use, &segment, to, is_checked))
			return -EFAULT;
		addr += segment.len;
		to += segment.len;
		len -= segment.len;
	}
	return 0;
}

static int
take_bytes(struct use *use, uint64_t addr, const uint8_t *from, uint32_t len)
{
	struct uroce_mkey *mkey = use->mkey;

	if (!is_writable(use, addr, len))
		return -EFAULT;
	if (addr != mkey->next)
		mkey->begin = addr;
	mkey->next = addr + len;
	while (len > 0) {
		const struct segment segment = get_segment(mkey, addr, len);

		if (!take_segment(use, &segment, from))
			return -EFAULT;
		addr += segment.len;
		from += segment.len;
		len -= segment.len;
	}
	return 0;
}

int
uroce_mkey_read(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		uint32_t len, uint32_t access, void *to, bool *is_bad)
{
	const struct uroce_entry *entry = find_configured(table, key, pdn);
	int ret = -EFAULT;

	if (entry == NULL)
		return -EFAULT;
	struct use use = { .table = table, .mkey = mkey_of(entry), .pdn = pdn };

	uroce_lock_take(&use.mkey->lock);
	/* Another worker may have changed the configuration before the lock was taken. */
	if (is_mkey_granted(entry, addr, len, access))
		ret = send_bytes(&use, addr, to, len, is_bad != NULL);
	uroce_lock_release(&use.mkey->lock);
	if (use.is_bad)
		*is_bad = true;
	return ret;
}

int
uroce_mkey_write(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		 const void *from, uint32_t len, uint32_t access, bool *is_bad)
{
	const struct uroce_entry *entry = find_configured(table, key, pdn);
	int ret = -EFAULT;

	if (entry == NULL)
		return -EFAULT;
	struct use use = { .table = table, .mkey = mkey_of(entry), .pdn = pdn };

	uroce_lock_take(&use.mkey->lock);
	if (is_mkey_granted(entry, addr, len, access))
		ret = take_bytes(&use, addr, from, len);
	uroce_lock_release(&use.mkey->lock);
	if (use.is_bad && is_bad != NULL)
		*is_bad = true;
	return ret;
}
