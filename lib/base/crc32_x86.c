/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC-32 by carry-less multiplication.
 *
 * How it works: a message is a polynomial, and its CRC is the remainder of a division by P. A block
 * of 128 bits that is D bits before another block may be replaced: block * x^D mod P is added to
 * that other block. The product of a 64-bit half with the 32-bit constant x^(D +- 32) mod P fits
 * 128 bits. So two multiplications move a block D bits ahead ("fold").
 *
 * Folding reduces the message to one block: 64 bytes at a time in four lanes, then 16 bytes at a
 * time, then the rest. The last block is reduced to 64 bits and divided by P, by multiplication
 * with the rounded 1/P (Barrett). The state of the CRC is added to the first 4 bytes of the
 * message.
 *
 * One function body serves three purposes: CRC, CRC with copy, CRC under a mask. The body is
 * inlined into a function for each purpose. A null pointer for `dst` or `mask` is a constant there,
 * and the compiler removes the code that uses the pointer.
 */

#include "base/crc32_kernel.h"

#if UROCE_CRC32_HAS_X86

#define UROCE_ALL_INTRINSICS /* functions of this file have targets of their own */
#include <immintrin.h>
#include <string.h>

#include "base/crc32_fold.h"

/*
 * Minimum length of data for which four blocks are processed in parallel. For shorter data,
 * joining four blocks costs more than the parallel work saves.
 */
#define WIDE_LEN_MIN 128

#define CLMUL        __attribute__((target("pclmul,sse4.1")))
#define VCLMUL       __attribute__((target("pclmul,sse4.1,avx512f,vpclmulqdq")))
#define BODY         static inline __attribute__((always_inline))

/*
 * Order of a pair of multipliers for folding in a vector. The multiplier for the half of a block
 * that is first in memory is in the lower half of the vector.
 */
#define UPPER_FIRST_(a, b) b, a
#define UPPER_FIRST(...)   UPPER_FIRST_(__VA_ARGS__)
#define MULTIPLIERS(...)   MULTIPLIERS_(UPPER_FIRST(__VA_ARGS__))
#define MULTIPLIERS_(...)  _mm_set_epi64x(__VA_ARGS__)

/* The part of the data that the CRC does not cover yet, with its copy and its mask. */
struct cursor {
	const uint8_t *src;
	uint8_t *dst; /* destination of a copy of the data; NULL: the data is not copied */
	/*
	 * mask for the next bytes of the data; NULL if there is no mask, or if all its bytes have
	 * been applied
	 */
	const uint8_t *mask;
	size_t len;
};

/*
 * Table of control bytes for shuffles (pshufb) that shift a block: 16 bytes of 0x80 (which give 0),
 * the identity, and 16 bytes of 0x80.
 */
static const uint8_t shifts[48] = {
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,    6,    7,
	8,    9,    10,   11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

CLMUL BODY __m128i
take_16(struct cursor *cur)
{
	__m128i block = _mm_loadu_si128((const __m128i *)cur->src);

	if (cur->dst) {
		_mm_storeu_si128((__m128i *)cur->dst, block);
		cur->dst += 16;
	}
	if (cur->mask) {
		block = _mm_or_si128(block, _mm_loadu_si128((const __m128i *)cur->mask));
		cur->mask += 16;
	}
	cur->src += 16;
	cur->len -= 16;
	return block;
}

CLMUL BODY __m128i
fold_block(__m128i block, __m128i onto, __m128i multipliers)
{
	const __m128i first = _mm_clmulepi64_si128(block, multipliers, 0x00);
	const __m128i second = _mm_clmulepi64_si128(block, multipliers, 0x11);

	return _mm_xor_si128(onto, _mm_xor_si128(first, second));
}

/* Multiply a block by x^32, and compute the remainder (32 bits) of the division by P. */
CLMUL BODY uint32_t
reduce_to_32(__m128i block)
{
	const __m128i low_32 = _mm_setr_epi32(-1, 0, 0, 0);
	const __m128i divide = _mm_set_epi64x(POLYNOMIAL, QUOTIENT);
	__m128i part;

	part = _mm_clmulepi64_si128(block, MULTIPLIERS(FOLD_128), 0x10);
	block = _mm_xor_si128(_mm_srli_si128(block, 8), part);
	part = _mm_clmulepi64_si128(_mm_and_si128(block, low_32), _mm_set_epi64x(0, FOLD_TO_64), 0);
	block = _mm_xor_si128(_mm_srli_si128(block, 4), part);
	part = _mm_clmulepi64_si128(_mm_and_si128(block, low_32), divide, 0x00);
	part = _mm_clmulepi64_si128(_mm_and_si128(part, low_32), divide, 0x10);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(block, part), 1);
}

/*
 * Fold a block over the remaining 1..15 bytes of the data, so that it includes them. The function
 * reads the last 16 bytes of the data, so the complete data must have at least 16 bytes.
 */
CLMUL BODY __m128i
fold_tail(__m128i block, const struct cursor *cur)
{
	const uint8_t *shift = shifts + cur->len;
	const __m128i up = _mm_loadu_si128((const __m128i *)shift);
	const __m128i down = _mm_loadu_si128((const __m128i *)(shift + 16));
	const __m128i last = _mm_loadu_si128((const __m128i *)(cur->src + cur->len - 16));
	const __m128i onto = _mm_blendv_epi8(_mm_shuffle_epi8(block, down), last, down);

	if (cur->dst)
		_mm_storeu_si128((__m128i *)(cur->dst + cur->len - 16), last);
	return fold_block(_mm_shuffle_epi8(block, up), onto, MULTIPLIERS(FOLD_128));
}

CLMUL BODY uint32_t
reduce_block(__m128i block, struct cursor *cur)
{
	while (cur->len >= 16)
		block = fold_block(block, take_16(cur), MULTIPLIERS(FOLD_128));
	if (cur->len > 0)
		block = fold_tail(block, cur);
	return ~reduce_to_32(block);
}

/*
 * Read the next `nb` <= 8 bytes of the data as a little-endian number. `nb` is a compile-time
 * constant.
 */
BODY uint64_t
take_bytes(struct cursor *cur, size_t nb)
{
	uint64_t v = 0;

	memcpy(&v, cur->src, nb);
	cur->src += nb;
	if (cur->dst) {
		memcpy(cur->dst, &v, nb);
		cur->dst += nb;
	}
	return v;
}

/* Read the remaining bytes of the data, fewer than 8, as a little-endian number. */
BODY uint64_t
take_below_8(struct cursor *cur)
{
	unsigned shift = 0;
	uint64_t v = 0;

	if (cur->len & 4) {
		v = take_bytes(cur, 4);
		shift = 32;
	}
	if (cur->len & 2) {
		v |= take_bytes(cur, 2) << shift;
		shift += 16;
	}
	if (cur->len & 1)
		v |= take_bytes(cur, 1) << shift;
	return v;
}

/*
 * Compute the CRC of fewer than 16 bytes of data. The bytes are put at the end of a block that
 * begins with zeros, because zeros before a message do not change its remainder. If the state of
 * the CRC is longer than the message, the rest of the state is added at the end.
 */
CLMUL BODY uint32_t
sum_below_16(uint32_t state, struct cursor *cur)
{
	const unsigned nb_bits = (unsigned)cur->len % 8 * 8;
	uint64_t first, second;

	if (cur->len == 0)
		return ~state;
	if (cur->len < 8) {
		first = take_below_8(cur) ^ state;
		second = first << (64 - nb_bits);
		state = nb_bits < 32 ? state >> nb_bits : 0;
		return ~(reduce_to_32(_mm_set_epi64x((int64_t)second, 0)) ^ state);
	}
	first = take_bytes(cur, 8) ^ state;
	if (nb_bits == 0)
		return ~reduce_to_32(_mm_set_epi64x((int64_t)first, 0));
	second = take_below_8(cur) << (64 - nb_bits) | first >> nb_bits;
	return ~reduce_to_32(_mm_set_epi64x((int64_t)second, (int64_t)(first << (64 - nb_bits))));
}

CLMUL BODY uint32_t
sum_16(uint32_t state, struct cursor cur)
{
	__m128i block[4];

	state = ~state;
	if (cur.len < 16)
		return sum_below_16(state, &cur);
	block[0] = _mm_xor_si128(take_16(&cur), _mm_cvtsi32_si128((int)state));
	if (cur.len < 48)
		return reduce_block(block[0], &cur);
	for (int i = 1; i < 4; i++)
		block[i] = take_16(&cur);
	cur.mask = NULL;
	while (cur.len >= 64) {
		for (int i = 0; i < 4; i++)
			block[i] = fold_block(block[i], take_16(&cur), MULTIPLIERS(FOLD_512));
	}
	block[3] = fold_block(block[0], block[3], MULTIPLIERS(FOLD_384));
	block[3] = fold_block(block[1], block[3], MULTIPLIERS(FOLD_256));
	block[3] = fold_block(block[2], block[3], MULTIPLIERS(FOLD_128));
	return reduce_block(block[3], &cur);
}

CLMUL uint32_t
uroce_crc32_clmul(uint32_t state, const void *data, size_t len)
{
	return sum_16(state, (struct cursor){ .src = data, .len = len });
}

CLMUL uint32_t
uroce_crc32_clmul_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	return sum_16(state, (struct cursor){ .src = src, .dst = dst, .len = len });
}

CLMUL uint32_t
uroce_crc32_clmul_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask)
{
	return sum_16(state, (struct cursor){ .src = data, .mask = mask, .len = len });
}

VCLMUL BODY __m512i
take_64(struct cursor *cur)
{
	__m512i blocks = _mm512_loadu_si512(cur->src);

	if (cur->dst) {
		_mm512_storeu_si512(cur->dst, blocks);
		cur->dst += 64;
	}
	cur->src += 64;
	cur->len -= 64;
	return blocks;
}

VCLMUL BODY __m512i
fold_4(__m512i blocks, __m512i onto, __m512i multipliers)
{
	const __m512i first = _mm512_clmulepi64_epi128(blocks, multipliers, 0x00);
	const __m512i second = _mm512_clmulepi64_epi128(blocks, multipliers, 0x11);

	return _mm512_ternarylogic_epi64(onto, first, second, 0x96);
}

#define SAME_4(multipliers) _mm512_broadcast_i32x4(MULTIPLIERS(multipliers))

/* Fold the first three of four blocks of 128 bits onto the last one. */
VCLMUL BODY __m128i
join_4(__m512i blocks)
{
	const __m512i multipliers = _mm512_set_epi64(0, 0, UPPER_FIRST(FOLD_128),
						     UPPER_FIRST(FOLD_256), UPPER_FIRST(FOLD_384));
	const __m512i last = _mm512_maskz_mov_epi64(0xc0, blocks);
	const __m512i four = fold_4(blocks, last, multipliers);
	const __m256i two =
		_mm256_xor_si256(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

VCLMUL BODY uint32_t
sum_4(uint32_t state, struct cursor cur)
{
	const __m512i enter = _mm512_castsi128_si512(_mm_cvtsi32_si128((int)~state));
	__m512i blocks[4];

	if (cur.len < WIDE_LEN_MIN)
		return sum_16(state, cur);
	blocks[0] = take_64(&cur);
	if (cur.mask)
		blocks[0] = _mm512_or_si512(blocks[0], _mm512_loadu_si512(cur.mask));
	cur.mask = NULL;
	blocks[0] = _mm512_xor_si512(blocks[0], enter);
	if (cur.len >= 192) {
		for (int i = 1; i < 4; i++)
			blocks[i] = take_64(&cur);
		while (cur.len >= 256) {
			for (int i = 0; i < 4; i++)
				blocks[i] = fold_4(blocks[i], take_64(&cur), SAME_4(FOLD_2048));
		}
		blocks[3] = fold_4(blocks[0], blocks[3], SAME_4(FOLD_1536));
		blocks[3] = fold_4(blocks[1], blocks[3], SAME_4(FOLD_1024));
		blocks[0] = fold_4(blocks[2], blocks[3], SAME_4(FOLD_512));
	}
	while (cur.len >= 64)
		blocks[0] = fold_4(blocks[0], take_64(&cur), SAME_4(FOLD_512));
	return reduce_block(join_4(blocks[0]), &cur);
}

VCLMUL uint32_t
uroce_crc32_vclmul(uint32_t state, const void *data, size_t len)
{
	return sum_4(state, (struct cursor){ .src = data, .len = len });
}

VCLMUL uint32_t
uroce_crc32_vclmul_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	return sum_4(state, (struct cursor){ .src = src, .dst = dst, .len = len });
}

VCLMUL uint32_t
uroce_crc32_vclmul_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask)
{
	return sum_4(state, (struct cursor){ .src = data, .mask = mask, .len = len });
}

#endif
