/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transfer of data through mkeys. How it works: the bytes of a packet on the wire are cut into
 * segments of data and segments of signatures. Data is copied between the packet and memory, at the
 * offset that results from the layout of the mkey and the signatures in memory. A signature is
 * computed from all data of its block. That data is in memory in both directions of transfer.
 *
 * A block of the source side is checked, and a block in memory of the destination side is signed,
 * by the packet that has the last byte of the block.
 *
 * Memory is resolved piece by piece at each use, since a region may be deregistered at any time. A
 * walk is a range of the layout together with the operation that is applied to each piece of the
 * range.
 */

#include "mem/mkey.h"

#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "base/lock.h"
#include "mem/mkey_object.h"
#include "mem/mkey_segment.h"

/* --- memory ---------------------------------------------------------------------------------------- */

/*
 * One read or write of memory by the key of an mkey. The mkey's lock is held until the read or
 * write ends.
 */
struct use {
	const struct uroce_mr_table *table;
	struct uroce_mkey *mkey;
	uint32_t pdn;
	bool is_bad; /* a block that this read or write has passed had a bad signature */
};

/*
 * The parameters of the functions that visit each piece of an mkey's range of memory: the function
 * that is called for each piece, and the state of that function.
 */
struct walk {
	/*
	 * function that is called for each piece of memory; NULL: only the access rights are
	 * checked
	 */
	void (*visit)(struct walk *walk, void *addr, uint32_t len);
	/*
	 * next byte of the packet, to which visit_load() copies, and from which visit_store()
	 * copies
	 */
	uint8_t *buf;
	/* signature format whose guard visit_sum() computes */
	const struct uroce_sig_domain *domain;
	uint64_t state;
	/* access rights that each memory region must grant (enum ibv_access_flags) */
	uint32_t access;
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
 * Find the piece of the mkey's layout that contains the offset `at`, which is within one repetition
 * of the layout.
 */
static const struct uroce_mkey_placed *
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
 * Call `walk->visit` for each piece of memory in the range `[at, at + len)` of the mkey's layout.
 * The layout has at least `at + len` bytes.
 * @return false: a region refused access
 */
static bool
walk_memory(const struct use *use, uint64_t at, uint64_t len, struct walk *walk)
{
	const struct uroce_mkey *mkey = use->mkey;

	while (len > 0) {
		const uint64_t round_len = mkey->placed[mkey->nb_pieces - 1].end;
		/*
		 * An offset in the first repetition of the layout needs no division, which is slow.
		 * Most layouts have only one repetition.
		 */
		const uint64_t round = at < round_len ? 0 : at / round_len;
		const uint64_t in_round = at - round * round_len;
		const struct uroce_mkey_placed *placed = find_piece(mkey, in_round);
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
 * Call `walk->visit` for the memory of the mkey's data bytes `[data, data + len)`, but not for
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

		if (!walk_memory(use, uroce_mkey_data_place(mem, data), n, walk))
			return false;
		data += n;
		len -= n;
	}
	return true;
}

/* Compute the offset in memory of the signature of the block with number `nth`. */
static uint64_t
mem_sig_at(const struct uroce_mkey *mkey, uint64_t nth)
{
	return (nth + 1) * mkey->mem.block_len + nth * mkey->mem.len;
}

/* Load the signature of the block with number `nth` from memory. */
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
 * Compute the signature that the block with number `nth` must have in memory or on the wire.
 * `domain` is the format of that side.
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
 * Compare `found`, the signature of the block with number `nth`, with `wanted`, the computed one.
 * The first bad signature is recorded in the mkey.
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

/* --- transmit -------------------------------------------------------------------------------------- */

/*
 * Compute the signature that a block has on the wire. The bytes in the mkey's copy mask are taken
 * from the signature in memory.
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

/*
 * Check the signatures that memory has for blocks: those blocks whose last data byte is at an
 * offset in `[data, data + len)`.
 */
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
 * Write one segment of a packet that is transmitted, from the memory of the mkey to `to`.
 * Signatures in memory are checked if `is_checked` is set.
 */
static bool
send_segment(struct use *use, const struct uroce_mkey_segment *segment, uint8_t *to,
	     bool is_checked)
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
	 * If the mkey has a copy mask, the signature in memory needs bytes of the signature on the
	 * wire, which has not arrived yet.
	 */
	if (mem->block_len == 0 || use->mkey->copy_mask != 0)
		return true;
	for (uint64_t nth = data / mem->block_len; nth < (data + len) / mem->block_len; nth++)
		if (!make_sig(use, mem, nth, sig) || !store_sig(use, nth, sig))
			return false;
	return true;
}

/*
 * Process the block with number `nth` when the last byte of its signature has arrived. The
 * signature is checked only if the block and its signature arrived in order. The signature is
 * copied to memory only if all of it arrived in order.
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
	/*
	 * If the beginning of the signature did not arrive in order, the buffer `cut` may have
	 * bytes of another block's signature.
	 */
	if (mkey->copy_mask == 0 || mkey->begin > sig_at)
		return true;
	if (!make_sig(use, &mkey->mem, nth, wanted))
		return false;
	uroce_sig_copy(&mkey->mem, wanted, mkey->cut, mkey->copy_mask);
	return store_sig(use, nth, wanted);
}

/* Store one segment of a received packet in memory. */
static bool
take_segment(struct use *use, const struct uroce_mkey_segment *segment, const uint8_t *from)
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
	if (!uroce_mkey_segment_ends_sig(mkey, segment))
		return true;
	return end_block(use, segment->data / mkey->wire.block_len - 1);
}

/*
 * Whether the memory of one segment may be written, and the memory of the signatures that the
 * segment completes.
 */
static bool
is_segment_writable(const struct use *use, const struct uroce_mkey_segment *segment)
{
	const struct uroce_mkey *mkey = use->mkey;
	const uint16_t block_len = mkey->mem.block_len;
	struct walk walk = { .access = IBV_ACCESS_LOCAL_WRITE };

	if (segment->is_sig)
		return mkey->copy_mask == 0 || !uroce_mkey_segment_ends_sig(mkey, segment) ||
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

/*
 * Whether all memory that a received packet would write is writable. The packet has `len` wire
 * bytes of the mkey, from address `addr` on.
 */
static bool
is_writable(const struct use *use, uint64_t addr, uint32_t len)
{
	while (len > 0) {
		const struct uroce_mkey_segment segment =
			uroce_mkey_segment_at(use->mkey, addr, len);

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
		const struct uroce_mkey_segment segment =
			uroce_mkey_segment_at(use->mkey, addr, len);

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
		const struct uroce_mkey_segment segment = uroce_mkey_segment_at(mkey, addr, len);

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
	const struct uroce_entry *entry = uroce_mkey_find_configured(table, key, pdn);
	int ret = -EFAULT;

	if (entry == NULL)
		return -EFAULT;
	struct use use = { .table = table, .mkey = uroce_mkey_of(entry), .pdn = pdn };

	uroce_lock_take(&use.mkey->lock);
	/*
	 * The access rights are checked once more, because another worker may have changed the
	 * configuration of the mkey before this thread took the lock.
	 */
	if (uroce_mkey_is_granted(entry, addr, len, access))
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
	const struct uroce_entry *entry = uroce_mkey_find_configured(table, key, pdn);
	int ret = -EFAULT;

	if (entry == NULL)
		return -EFAULT;
	struct use use = { .table = table, .mkey = uroce_mkey_of(entry), .pdn = pdn };

	uroce_lock_take(&use.mkey->lock);
	if (uroce_mkey_is_granted(entry, addr, len, access))
		ret = take_bytes(&use, addr, from, len);
	uroce_lock_release(&use.mkey->lock);
	if (use.is_bad && is_bad != NULL)
		*is_bad = true;
	return ret;
}
