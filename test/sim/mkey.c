/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The simulator's own model of mkeys: signatures, layouts, and how they transform data. The model
 * is short and slow on purpose: it transforms a message as a whole, independent of the packets that
 * carry the message.
 */

#include "mkey.h"

#include <assert.h>
#include <string.h>

#include "host.h"
#include "qp.h"
#include "rng.h"
#include "world.h"

#define DATA_MAX      (64u << 10)
#define BLOCK_LEN_MIN 64

/* --- signatures of blocks --- */

static const struct kind {
	uint64_t poly; /* polynomial of a CRC; bit-reversed for a reflected CRC */
	uint8_t bits;  /* number of bits of the guard */
	bool is_dif;   /* T10-DIF: tags follow the guard, and all fields are big-endian */
	/* number of the bit in a check mask that stands for the lowest byte of the signature */
	uint8_t low_at;
} kinds[] = {
	[UROCE_SIG_NONE] = { 0, 0, false, 0 },
	[UROCE_SIG_T10_CRC] = { 0x8bb7, 16, true, 0 },
	[UROCE_SIG_T10_CSUM] = { 0, 16, true, 0 },
	[UROCE_SIG_CRC32] = { 0xedb88320, 32, false, 4 },
	[UROCE_SIG_CRC32C] = { 0x82f63b78, 32, false, 4 },
	[UROCE_SIG_CRC64] = { 0x9a6c9329ac4bc9b5, 64, false, 0 },
};

static uint64_t tables[UROCE_SIG_CRC64 + 1][256];

static void
make_table(unsigned nth)
{
	const struct kind *kind = &kinds[nth];

	for (uint32_t i = 0; i < 256; i++) {
		uint64_t word = kind->is_dif ? i << 8 : i;

		for (unsigned bit = 0; bit < 8 && kind->is_dif; bit++)
			word = (word << 1 ^ (word & 0x8000 ? kind->poly : 0)) & 0xffff;
		for (unsigned bit = 0; bit < 8 && !kind->is_dif; bit++)
			word = word >> 1 ^ (word & 1 ? kind->poly : 0);
		tables[nth][i] = word;
	}
}

static uint64_t
checksum(uint64_t sum, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i & 1 ? data[i] : (uint64_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static uint64_t
guard_of(const struct uroce_sig_domain *domain, const uint8_t *data)
{
	const uint64_t *table = tables[domain->kind];
	uint64_t word = domain->seed;

	if (domain->kind == UROCE_SIG_T10_CSUM)
		return checksum(domain->seed, data, domain->block_len);
	if (!table[1])
		make_table(domain->kind);
	if (kinds[domain->kind].is_dif) {
		for (uint32_t i = 0; i < domain->block_len; i++)
			word = (word << 8 & 0xffff) ^ table[(word >> 8 ^ data[i]) & 0xff];
		return word;
	}
	for (uint32_t i = 0; i < domain->block_len; i++)
		word = word >> 8 ^ table[(word ^ data[i]) & 0xff];
	return word ^ domain->seed;
}

/*
 * Byte `nth` of a signature, where byte 0 is the least significant one of the signature as a
 * number.
 */
static uint8_t *
byte_of(const struct uroce_sig_domain *domain, uint8_t *sig, unsigned nth)
{
	return &sig[kinds[domain->kind].is_dif ? 7 - nth : nth];
}

static void
sign(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t nth, uint8_t *sig)
{
	const bool is_growing = domain->flags & UROCE_SIG_REF_REMAP;
	uint64_t word = guard_of(domain, data);

	if (kinds[domain->kind].is_dif)
		word = word << 48 | (uint64_t)domain->app_tag << 32 |
		       (uint32_t)(domain->ref_tag + (is_growing ? nth : 0));
	for (unsigned i = 0; i < domain->len; i++)
		*byte_of(domain, sig, i) = (uint8_t)(word >> 8 * i);
}

static bool
is_masked(const struct uroce_sig_domain *domain, uint8_t mask, unsigned nth)
{
	return mask >> (kinds[domain->kind].low_at + nth) & 1;
}

/* Bytes `[low, high)` of a signature as a number, where byte 0 is the least significant one. */
static uint64_t
part_of(const struct uroce_sig_domain *domain, uint8_t *sig, unsigned low, unsigned high)
{
	uint64_t word = 0;

	for (unsigned i = high; i-- > low;)
		word = word << 8 | *byte_of(domain, sig, i);
	return word;
}

/*
 * Compare bytes `[low, high)` of a signature, as far as the check mask selects them.
 * @return whether the bytes are as computed; otherwise the two values are in `error`
 */
static bool
is_right(const struct mkey *mkey, const struct uroce_sig_domain *domain, uint8_t *found,
	 uint8_t *wanted, unsigned low, unsigned high, struct uroce_sig_error *error)
{
	bool is_good = true;

	for (unsigned i = low; i < high; i++)
		is_good = is_good && (!is_masked(domain, mkey->check_mask, i) ||
				      *byte_of(domain, found, i) == *byte_of(domain, wanted, i));
	if (is_good)
		return true;
	error->actual = part_of(domain, wanted, low, high);
	error->expected = part_of(domain, found, low, high);
	return false;
}

/*
 * Compare the signature of one block.
 * @return the first error in the order guard, application tag, reference tag
 */
static struct uroce_sig_error
compare_signature(const struct mkey *mkey, const struct uroce_sig_domain *domain, uint8_t *found,
		  uint8_t *wanted)
{
	const bool is_dif = kinds[domain->kind].is_dif;
	struct uroce_sig_error error = { .fault = UROCE_SIG_GOOD };

	if (!is_right(mkey, domain, found, wanted, is_dif ? 6 : 0, domain->len, &error))
		error.fault = UROCE_SIG_BAD_GUARD;
	else if (is_dif && !is_right(mkey, domain, found, wanted, 4, 6, &error))
		error.fault = UROCE_SIG_BAD_APP_TAG;
	else if (is_dif && !is_right(mkey, domain, found, wanted, 0, 4, &error))
		error.fault = UROCE_SIG_BAD_REF_TAG;
	return error;
}

/* --- the format of one side: memory or wire --- */

static uint32_t
unit_of(const struct uroce_sig_domain *domain)
{
	return domain->block_len + domain->len;
}

uint32_t
mkey_spread(const struct uroce_sig_domain *domain, uint32_t data_len)
{
	return domain->block_len ? data_len + data_len / domain->block_len * domain->len : data_len;
}

/*
 * Number of bytes of data among `len` bytes that contain signatures. At the end, the data of an
 * incomplete block counts, but not a whole block whose signature is incomplete.
 */
static uint32_t
data_in(const struct uroce_sig_domain *domain, uint32_t len)
{
	if (!domain->block_len)
		return len;
	const uint32_t unit = unit_of(domain), rest = len % unit;

	return len / unit * domain->block_len + (rest < domain->block_len ? rest : 0);
}

static uint32_t
blocks_in(const struct uroce_sig_domain *domain, uint32_t len)
{
	return domain->block_len ? len / unit_of(domain) : 0;
}

void
mkey_join(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t data_len,
	  uint8_t *out)
{
	const uint32_t nb = domain->block_len ? data_len / domain->block_len : 0;

	for (uint32_t i = 0; i < nb; i++, data += domain->block_len) {
		memcpy(out, data, domain->block_len);
		out += domain->block_len;
		sign(domain, data, i, out);
		out += domain->len;
	}
	memcpy(out, data, data_len - nb * domain->block_len);
}

static uint32_t
strip(const struct uroce_sig_domain *domain, const uint8_t *in, uint32_t len, uint8_t *data)
{
	const uint32_t nb = blocks_in(domain, len);

	for (uint32_t i = 0; i < nb; i++)
		memcpy(data + i * domain->block_len, in + i * unit_of(domain), domain->block_len);
	memcpy(data + nb * domain->block_len, in + nb * unit_of(domain),
	       len - nb * unit_of(domain));
	return nb * domain->block_len + len - nb * unit_of(domain);
}

/*
 * Convert bytes from the format of one side of the mkey (memory or wire) to the format of the other
 * side. Signature bytes that the copy mask selects are copied, and the others are computed.
 */
static void
convert(const struct mkey *mkey, const struct uroce_sig_domain *from, const uint8_t *in,
	uint32_t len, const struct uroce_sig_domain *to, uint8_t *out)
{
	static uint8_t data[DATA_MAX];
	const uint32_t data_len = strip(from, in, len, data);

	mkey_join(to, data, data_len, out);
	if (!mkey->copy_mask)
		return;
	for (uint32_t i = 0; i < blocks_in(from, len); i++) {
		const uint32_t at = i * unit_of(from) + from->block_len;

		for (unsigned j = 0; j < from->len; j++)
			if (is_masked(from, mkey->copy_mask, j))
				*byte_of(to, out + at, j) =
					*byte_of(from, (uint8_t *)(uintptr_t)in + at, j);
	}
}

/*
 * Find the bad blocks among the `len` bytes at `in`, and the first error, which the transport has
 * to report.
 */
static void
find_bad(struct mkey *mkey, const struct uroce_sig_domain *domain, const uint8_t *in, uint32_t len)
{
	mkey->due = (struct uroce_mkey_error){ .offset = 0 };
	mkey->nb_bad = 0;
	for (uint32_t i = 0; i < blocks_in(domain, len); i++) {
		const uint8_t *block = in + i * unit_of(domain);
		uint8_t wanted[UROCE_SIG_LEN_MAX], found[UROCE_SIG_LEN_MAX];

		sign(domain, block, i, wanted);
		memcpy(found, block + domain->block_len, domain->len);
		const struct uroce_sig_error error = compare_signature(mkey, domain, found, wanted);

		if (!error.fault)
			continue;
		if (!mkey->nb_bad)
			mkey->due = (struct uroce_mkey_error){ error, i * unit_of(domain) };
		mkey->bad_at[mkey->nb_bad++] =
			domain == &mkey->mem
				? mkey_spread(&mkey->wire, (i + 1) * domain->block_len - 1)
				: (i + 1) * unit_of(domain) - 1;
	}
}

void
mkey_damage(struct rng *rng, const struct uroce_sig_domain *domain, uint8_t *bytes, uint32_t len)
{
	const uint32_t nb = blocks_in(domain, len);

	for (uint32_t i = 0; nb && (!i || rng_one_in(rng, 2)); i++) {
		uint32_t at = rng_below(rng, nb) * unit_of(domain);

		at += rng_one_in(rng, 2) ? rng_below(rng, domain->block_len)
					 : domain->block_len + rng_below(rng, domain->len);
		bytes[at] ^= (uint8_t)(1u << rng_below(rng, 8));
	}
}

/* --- drawing and creating mkeys --- */

struct uroce_sig_domain
mkey_draw_domain(struct rng *rng)
{
	static const uint16_t block_lens[] = { BLOCK_LEN_MIN, 512, 512, 520, 4096 };
	struct uroce_sig_domain domain = { .kind = UROCE_SIG_NONE };

	if (rng_one_in(rng, 4))
		return domain;
	domain.kind = (uint8_t)rng_between(rng, UROCE_SIG_T10_CRC, UROCE_SIG_CRC64);
	domain.block_len = block_lens[rng_below(rng, 5)];
	domain.len = kinds[domain.kind].is_dif ? 8 : kinds[domain.kind].bits / 8;
	if (rng_one_in(rng, 2))
		domain.seed = UINT64_MAX >> (64 - kinds[domain.kind].bits);
	domain.app_tag = (uint16_t)rng_below(rng, 0xffff);
	domain.ref_tag =
		rng_one_in(rng, 2) ? UINT32_MAX - rng_below(rng, 4) : rng_below(rng, 1 << 20);
	domain.flags = rng_one_in(rng, 3) ? 0 : UROCE_SIG_REF_REMAP;
	return domain;
}

/*
 * Draw the formats of the two sides, memory and wire. Often both sides have the same kind of
 * signatures, with equal or with different tags.
 */
static void
draw_sides(struct mkey *mkey, struct rng *rng, const struct uroce_sig_domain *wire)
{
	static const uint8_t dif_masks[] = { 0x0f, 0x30, 0xc0, 0xff };
	const bool is_dif = kinds[wire->kind].is_dif;

	mkey->wire = *wire;
	mkey->mem = mkey_draw_domain(rng);
	mkey->check_mask = is_dif && rng_one_in(rng, 3) ? 0xf0 : 0xff;
	mkey->copy_mask = 0;
	if (!wire->kind || !rng_one_in(rng, 3))
		return;
	mkey->mem.kind = wire->kind;
	mkey->mem.len = wire->len;
	mkey->mem.block_len = wire->block_len;
	mkey->mem.seed = wire->seed;
	if (rng_one_in(rng, 2))
		mkey->mem = *wire;
	mkey->copy_mask = is_dif ? dif_masks[rng_below(rng, 4)] : 0xff;
}

/* Draw a layout that is a list of pieces with gaps between them. */
static void
draw_list(struct mkey *mkey, struct rng *rng, uint32_t len)
{
	uint32_t at = 0;

	mkey->repeat = 1;
	mkey->len = len;
	while (mkey->nb_pieces + 1 < MKEY_PIECES && len > 1 && !rng_one_in(rng, 3)) {
		const uint32_t part = rng_between(rng, 1, len - 1);

		mkey->piece[mkey->nb_pieces++] =
			(struct uroce_mkey_piece){ .addr = at, .len = part };
		at += part + rng_below(rng, 40);
		len -= part;
	}
	mkey->piece[mkey->nb_pieces++] = (struct uroce_mkey_piece){ .addr = at, .len = len };
	mkey->extent = at + len;
}

/* Draw a layout of one or two pieces that is repeated. The last repetition may go beyond `len`. */
static void
draw_rounds(struct mkey *mkey, struct rng *rng, uint32_t len)
{
	const uint32_t round = rng_between(rng, 64, len);
	const uint32_t first = rng_one_in(rng, 2) ? round : rng_between(rng, 1, round - 1);
	const uint32_t stride = round + rng_below(rng, 32);

	mkey->repeat = (len + round - 1) / round;
	mkey->len = mkey->repeat * round;
	mkey->nb_pieces = first < round ? 2 : 1;
	mkey->piece[0] = (struct uroce_mkey_piece){ .len = first, .skip = stride - first };
	mkey->piece[1] = (struct uroce_mkey_piece){
		.addr = first,
		.len = round - first,
		.skip = stride - (round - first),
	};
	mkey->extent = mkey->repeat * stride;
}

void
mkey_draw(struct mkey *mkey, struct qp *owner, const struct uroce_sig_domain *wire,
	  uint32_t data_len)
{
	struct rng *rng = &owner->world->rng;

	*mkey = (struct mkey){ .owner = owner };
	draw_sides(mkey, rng, wire);
	const uint32_t len = mkey_spread(&mkey->mem, data_len);

	if (len > 64 && rng_one_in(rng, 3))
		draw_rounds(mkey, rng, len);
	/*
	 * a repeated layout may have too little room, because a block with an incomplete signature
	 * at its end does not count: draw a list instead
	 */
	if (!mkey->nb_pieces || mkey_room(mkey) < data_len) {
		mkey->nb_pieces = 0;
		draw_list(mkey, rng, len);
	}
}

/* Compute for each byte of the layout its offset in the owner's memory. */
static void
make_places(struct mkey *mkey)
{
	uint32_t *place = world_alloc(mkey->owner->world, mkey->len * sizeof(*place));

	mkey->place = place;
	for (uint32_t round = 0; round < mkey->repeat; round++) {
		for (uint32_t i = 0; i < mkey->nb_pieces; i++) {
			const struct uroce_mkey_piece *piece = &mkey->piece[i];
			const uint32_t at = mkey->at + (uint32_t)piece->addr +
					    round * (piece->len + piece->skip);

			for (uint32_t j = 0; j < piece->len; j++)
				*place++ = at + j;
		}
	}
}

void
mkey_make(struct mkey *mkey, uint32_t at)
{
	struct qp *owner = mkey->owner;
	struct uroce_mr_table *mrs = owner->host->mrs;
	struct uroce_mkey_conf *conf =
		world_alloc(owner->world, uroce_mkey_conf_len(mkey->nb_pieces));

	mkey->at = at;
	make_places(mkey);
	mkey->image = world_alloc(owner->world, mkey->len);
	mkey->bad_at =
		world_alloc(owner->world, (mkey->len / BLOCK_LEN_MIN + 1) * sizeof(uint32_t));
	*conf = (struct uroce_mkey_conf){
		.parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG,
		.check_mask = mkey->check_mask,
		.copy_mask = mkey->copy_mask,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.repeat = mkey->repeat,
		.nb_pieces = mkey->nb_pieces,
		.mem = mkey->mem,
		.wire = mkey->wire,
	};
	for (uint32_t i = 0; i < mkey->nb_pieces; i++) {
		conf->piece[i] = mkey->piece[i];
		conf->piece[i].addr += owner->iova + at;
		conf->piece[i].lkey = owner->key;
	}
	int ret = uroce_mkey_add(mrs, world_alloc(owner->world, uroce_mkey_memsize(MKEY_PIECES)),
				 MKEY_PIECES, UROCE_MKEY_SIGNATURE, owner->host->pdn, &mkey->key);

	ret |= uroce_mkey_configure(mrs, mkey->key, owner->host->pdn, conf);
	assert(ret == 0);
	(void)ret;
}

uint32_t
mkey_room(const struct mkey *mkey)
{
	return data_in(&mkey->mem, mkey->len);
}

/* --- the expected effect of data on memory --- */

void
mkey_load(struct mkey *mkey, const uint8_t *data, uint32_t data_len, bool is_damaged,
	  uint8_t *bytes)
{
	struct qp *owner = mkey->owner;
	const uint32_t len = mkey_spread(&mkey->mem, data_len);

	mkey_join(&mkey->mem, data, data_len, mkey->image);
	if (is_damaged)
		mkey_damage(&owner->world->rng, &mkey->mem, mkey->image, len);
	for (uint32_t i = 0; i < len; i++)
		owner->mem[mkey->place[i]] = owner->shadow[mkey->place[i]] = mkey->image[i];
	convert(mkey, &mkey->mem, mkey->image, len, &mkey->wire, bytes);
	find_bad(mkey, &mkey->mem, mkey->image, len);
}

void
mkey_expect(struct mkey *mkey, const uint8_t *bytes, uint32_t len)
{
	convert(mkey, &mkey->wire, bytes, len, &mkey->mem, mkey->image);
	find_bad(mkey, &mkey->wire, bytes, len);
}

/*
 * The offset in the data of byte `wire_at` on the wire; UINT32_MAX: the byte belongs to a
 * signature.
 */
static uint32_t
data_at(const struct mkey *mkey, uint32_t wire_at)
{
	const struct uroce_sig_domain *wire = &mkey->wire;

	if (!wire->block_len)
		return wire_at;
	const uint32_t nth = wire_at / unit_of(wire), rest = wire_at % unit_of(wire);

	return rest < wire->block_len ? nth * wire->block_len + rest : UINT32_MAX;
}

/*
 * The block in memory whose signature is written when byte `wire_at` of the wire has arrived;
 * UINT32_MAX: none.
 */
static uint32_t
signed_by(const struct mkey *mkey, uint32_t wire_at, uint32_t data)
{
	const struct uroce_sig_domain *mem = &mkey->mem, *wire = &mkey->wire;

	if (!mem->block_len)
		return UINT32_MAX;
	if (mkey->copy_mask)
		return (wire_at + 1) % unit_of(wire) ? UINT32_MAX : wire_at / unit_of(wire);
	return data == UINT32_MAX || (data + 1) % mem->block_len ? UINT32_MAX
								 : data / mem->block_len;
}

uint32_t
mkey_landing(const struct mkey *mkey, uint32_t wire_at)
{
	const uint32_t data = data_at(mkey, wire_at);

	return data == UINT32_MAX ? UINT32_MAX : mkey->place[mkey_spread(&mkey->mem, data)];
}

/*
 * With `is_applied`, copy byte `at` of the layout into the owner's shadow, the expected content of
 * memory.
 * @return whether memory contains the expected byte
 */
static bool
touch(const struct mkey *mkey, uint32_t at, bool is_applied)
{
	const uint32_t place = mkey->place[at];

	if (is_applied)
		mkey->owner->shadow[place] = mkey->image[at];
	return mkey->owner->mem[place] == mkey->image[at];
}

static bool
touch_all(const struct mkey *mkey, uint32_t from, uint32_t to, bool is_applied)
{
	const struct uroce_sig_domain *mem = &mkey->mem;
	bool is_right = true;

	for (uint32_t i = from; i < to; i++) {
		const uint32_t data = data_at(mkey, i), nth = signed_by(mkey, i, data);

		if (data != UINT32_MAX)
			is_right &= touch(mkey, mkey_spread(mem, data), is_applied);
		for (uint32_t j = 0; nth != UINT32_MAX && j < mem->len; j++)
			is_right &=
				touch(mkey, nth * unit_of(mem) + mem->block_len + j, is_applied);
	}
	return is_right;
}

void
mkey_apply(const struct mkey *mkey, uint32_t from, uint32_t to)
{
	(void)touch_all(mkey, from, to, true);
}

bool
mkey_is_there(const struct mkey *mkey, uint32_t from, uint32_t to)
{
	return touch_all(mkey, from, to, false);
}

void
mkey_ask(struct mkey *mkey, const struct uroce_mkey_error *due)
{
	struct uroce_mkey_error error, again;
	struct uroce_mr_table *mrs = mkey->owner->host->mrs;

	if (uroce_mkey_check(mrs, mkey->key, &error) || uroce_mkey_check(mrs, mkey->key, &again))
		world_complain(mkey->owner->world, "mkey 0x%x is none", mkey->key);
	else if (error.sig.fault != due->sig.fault || error.offset != due->offset ||
		 error.sig.actual != due->sig.actual || error.sig.expected != due->sig.expected)
		world_complain(
			mkey->owner->world,
			"mkey 0x%x of qp 0x%x tells fault %u (0x%llx, 0x%llx) at %llu, and not %u "
			"(0x%llx, 0x%llx) at %llu",
			mkey->key, mkey->owner->qpn, error.sig.fault,
			(unsigned long long)error.sig.actual,
			(unsigned long long)error.sig.expected, (unsigned long long)error.offset,
			due->sig.fault, (unsigned long long)due->sig.actual,
			(unsigned long long)due->sig.expected, (unsigned long long)due->offset);
	else if (again.sig.fault)
		world_complain(mkey->owner->world, "mkey 0x%x tells an error twice", mkey->key);
}
