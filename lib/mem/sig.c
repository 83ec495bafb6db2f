/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Block signatures. A table has a row for each kind of signature: the function that extends the
 * guard over bytes, and the positions of the parts in the signature, which is treated as one
 * number. So the code that creates, copies and compares signatures is common to all kinds.
 */

#include "mem/sig.h"

#include <endian.h>
#include <string.h>

#include "base/be.h"
#include "base/block_crc.h"

/*
 * The state of the Internet checksum is the sum of the 16-bit words of the data so far. This bit of
 * the state is set if the data so far has an odd number of bytes: the next byte then completes the
 * last word.
 */
#define CSUM_IS_ODD (UINT64_C(1) << 63)

static uint64_t
add_t10_crc(uint64_t state, const void *data, uint32_t len)
{
	return uroce_crc16_t10((uint16_t)state, data, len);
}

static uint64_t
add_csum(uint64_t state, const void *data, uint32_t len)
{
	const be16 *word = data;
	const bool was_odd = state & CSUM_IS_ODD;
	uint64_t sum = state & ~CSUM_IS_ODD;

	if (was_odd && len > 0) {
		sum += *(const uint8_t *)data;
		word = (const be16 *)((const uint8_t *)data + 1);
		len--;
		state = 0;
	}
	for (uint32_t i = 0; i < len / 2; i++)
		sum += be16_get(word[i]);
	if (len & 1)
		sum += (uint64_t)word[len / 2].b[0] << 8;
	return sum | (len & 1 ? CSUM_IS_ODD : state & CSUM_IS_ODD);
}

static uint64_t
add_crc32(uint64_t state, const void *data, uint32_t len)
{
	return uroce_crc32_plain((uint32_t)state, data, len);
}

static uint64_t
add_crc32c(uint64_t state, const void *data, uint32_t len)
{
	return uroce_crc32c((uint32_t)state, data, len);
}

static uint64_t
add_crc64(uint64_t state, const void *data, uint32_t len)
{
	return uroce_crc64(state, data, len);
}

static const struct {
	uint64_t (*add)(uint64_t state, const void *data, uint32_t len);
	uint8_t len;
	bool is_dif;
	uint8_t guard_bits;
	/* number of the mask bit (uroce_sig_check()) for the lowest byte of the signature */
	uint8_t mask_shift;
} kinds[] = {
	[UROCE_SIG_T10_CRC] = { add_t10_crc, 8, true, 16, 0 },
	[UROCE_SIG_T10_CSUM] = { add_csum, 8, true, 16, 0 },
	[UROCE_SIG_CRC32] = { add_crc32, 4, false, 32, 4 },
	[UROCE_SIG_CRC32C] = { add_crc32c, 4, false, 32, 4 },
	[UROCE_SIG_CRC64] = { add_crc64, 8, false, 64, 0 },
};

uint8_t
uroce_sig_len(enum uroce_sig_kind kind)
{
	return kinds[kind].len;
}

uint64_t
uroce_sig_begin(const struct uroce_sig_domain *domain)
{
	return domain->seed;
}

uint64_t
uroce_sig_add(const struct uroce_sig_domain *domain, uint64_t state, const void *data, uint32_t len)
{
	return kinds[domain->kind].add(state, data, len);
}

static uint64_t
guard_of(const struct uroce_sig_domain *domain, uint64_t state)
{
	if (domain->kind == UROCE_SIG_T10_CSUM) {
		state &= ~CSUM_IS_ODD;
		while (state >> 16 != 0)
			state = (state & 0xffff) + (state >> 16);
		return ~state & 0xffff;
	}
	return kinds[domain->kind].is_dif ? state : state ^ domain->seed;
}

/* Load the bytes of a signature as one number. */
static uint64_t
load_sig_word(const struct uroce_sig_domain *domain, const uint8_t sig[UROCE_SIG_LEN_MAX])
{
	uint64_t word = 0;

	if (kinds[domain->kind].is_dif)
		return be64_get(*(const be64 *)sig);
	memcpy(&word, sig, kinds[domain->kind].len);
	return le64toh(word);
}

static void
store_sig_word(const struct uroce_sig_domain *domain, uint64_t word, uint8_t sig[UROCE_SIG_LEN_MAX])
{
	if (kinds[domain->kind].is_dif) {
		*(be64 *)sig = be64_make(word);
		return;
	}
	word = htole64(word);
	memcpy(sig, &word, kinds[domain->kind].len);
}

void
uroce_sig_end(const struct uroce_sig_domain *domain, uint64_t state, uint64_t nth,
	      uint8_t sig[UROCE_SIG_LEN_MAX])
{
	const uint32_t step = domain->flags & UROCE_SIG_REF_REMAP ? (uint32_t)nth : 0;
	uint64_t word = guard_of(domain, state);

	if (kinds[domain->kind].is_dif)
		word = word << 48 | (uint64_t)domain->app_tag << 32 |
		       (uint32_t)(domain->ref_tag + step);
	store_sig_word(domain, word, sig);
}

/*
 * Convert a mask with one bit for each byte of a signature to a mask of the signature as one
 * number.
 */
static uint64_t
bits_of(const struct uroce_sig_domain *domain, uint8_t mask)
{
	uint64_t bits = 0;

	mask = (uint8_t)(mask >> kinds[domain->kind].mask_shift);
	for (unsigned i = 0; i < kinds[domain->kind].len; i++)
		if (mask & 1u << i)
			bits |= UINT64_C(0xff) << 8 * i;
	return bits;
}

void
uroce_sig_copy(const struct uroce_sig_domain *domain, uint8_t to[UROCE_SIG_LEN_MAX],
	       const uint8_t from[UROCE_SIG_LEN_MAX], uint8_t mask)
{
	const uint64_t bits = bits_of(domain, mask);

	store_sig_word(domain,
		       (load_sig_word(domain, to) & ~bits) | (load_sig_word(domain, from) & bits),
		       to);
}

/* Whether the tags in a block's signature have the values for which its guard is not checked. */
static bool
is_escaped(const struct uroce_sig_domain *domain, uint64_t found)
{
	const bool has_app = (found >> 32 & 0xffff) == 0xffff;
	const bool has_ref = (uint32_t)found == UINT32_MAX;

	return ((domain->flags & UROCE_SIG_APP_ESCAPE) && has_app) ||
	       ((domain->flags & UROCE_SIG_APP_REF_ESCAPE) && has_app && has_ref);
}

/*
 * The parts of a T10-DIF signature, in the order in which faults are reported; then the only part
 * of a CRC signature.
 */
static const struct part {
	uint8_t fault;
	uint8_t shift;
	uint64_t bits;
} dif_parts[] = {
	{ UROCE_SIG_BAD_GUARD, 48, 0xffff },
	{ UROCE_SIG_BAD_APP_TAG, 32, 0xffff },
	{ UROCE_SIG_BAD_REF_TAG, 0, 0xffffffff },
}, crc_parts[] = {
	{ UROCE_SIG_BAD_GUARD, 0, UINT64_MAX },
};

bool
uroce_sig_check(const struct uroce_sig_domain *domain, const uint8_t found[UROCE_SIG_LEN_MAX],
		const uint8_t wanted[UROCE_SIG_LEN_MAX], uint8_t mask,
		struct uroce_sig_error *error)
{
	const bool is_dif = kinds[domain->kind].is_dif;
	const struct part *const parts = is_dif ? dif_parts : crc_parts;
	const unsigned nb_parts = is_dif ? 3 : 1;
	const uint64_t found_word = load_sig_word(domain, found),
		       wanted_word = load_sig_word(domain, wanted);
	const uint64_t wrong = (found_word ^ wanted_word) & bits_of(domain, mask);

	for (unsigned i = is_dif && is_escaped(domain, found_word); i < nb_parts; i++) {
		const struct part *const part = &parts[i];

		if ((wrong >> part->shift & part->bits) == 0)
			continue;
		*error = (struct uroce_sig_error){
			.actual = wanted_word >> part->shift & part->bits,
			.expected = found_word >> part->shift & part->bits,
			.fault = part->fault,
		};
		return false;
	}
	return true;
}
