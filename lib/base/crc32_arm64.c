/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC-32 by the CRC instructions of 64-bit Arm, 8 bytes at a time. Each CRC instruction needs the
 * result of the previous one, so a CPU cannot overlap them. Therefore this kernel is for short data:
 * for long data the carry-less multiplication of ISA-L is faster. The CRC instructions are optional
 * before Armv8.1, but DPDK does not start on a CPU without them.
 *
 * One function body serves three purposes, as in crc32_x86.c. A null pointer for `dst` or `mask` is
 * a constant there, and the compiler removes the code that uses the pointer.
 */

#include "base/crc32_kernel.h"

#if UROCE_CRC32_HAS_ARM64

#include <string.h>

#include "base/crc32.h"

#define BODY static inline __attribute__((always_inline))

/* The part of the data that the CRC does not cover yet, with its copy and its mask. */
struct rest {
	const uint8_t *src;
	uint8_t *dst;        /* destination of a copy of the data; NULL: the data is not copied */
	const uint8_t *mask; /* mask for the next bytes; NULL: there is no mask */
	size_t len;
};

BODY uint32_t
add_8(uint32_t state, uint64_t v)
{
	__asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(state) : "r"(v));
	return state;
}

BODY uint32_t
add_4(uint32_t state, uint32_t v)
{
	__asm__(".arch_extension crc\n\tcrc32w %w0, %w0, %w1" : "+r"(state) : "r"(v));
	return state;
}

BODY uint32_t
add_2(uint32_t state, uint32_t v)
{
	__asm__(".arch_extension crc\n\tcrc32h %w0, %w0, %w1" : "+r"(state) : "r"(v));
	return state;
}

BODY uint32_t
add_1(uint32_t state, uint32_t v)
{
	__asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(state) : "r"(v));
	return state;
}

/* Read the next `nb` <= 8 bytes of the data. `nb` is a compile-time constant. */
BODY uint64_t
take(struct rest *rest, size_t nb)
{
	uint64_t v = 0, mask = 0;

	memcpy(&v, rest->src, nb);
	rest->src += nb;
	rest->len -= nb;
	if (rest->dst) {
		memcpy(rest->dst, &v, nb);
		rest->dst += nb;
	}
	if (rest->mask) {
		memcpy(&mask, rest->mask, nb);
		rest->mask += nb;
	}
	return v | mask;
}

BODY uint32_t
add_16(uint32_t state, struct rest *rest)
{
	state = add_8(state, take(rest, 8));
	return add_8(state, take(rest, 8));
}

/* Add the bytes of the mask: up to its length, in steps of 16, since its last bytes are 0 then. */
BODY uint32_t
add_masked(uint32_t state, struct rest *rest)
{
	const uint8_t *end = rest->mask + UROCE_CRC32_MASK_LEN;

	while (rest->len >= 16 && rest->mask < end)
		state = add_16(state, rest);
	rest->mask = NULL;
	return state;
}

BODY uint32_t
sum(uint32_t state, struct rest rest)
{
	state = ~state;
	if (rest.mask)
		state = add_masked(state, &rest);
	while (rest.len >= 16)
		state = add_16(state, &rest);
	if (rest.len & 8)
		state = add_8(state, take(&rest, 8));
	if (rest.len & 4)
		state = add_4(state, (uint32_t)take(&rest, 4));
	if (rest.len & 2)
		state = add_2(state, (uint32_t)take(&rest, 2));
	if (rest.len & 1)
		state = add_1(state, (uint32_t)take(&rest, 1));
	return ~state;
}

uint32_t
uroce_crc32_arm64(uint32_t state, const void *data, size_t len)
{
	return sum(state, (struct rest){ .src = data, .len = len });
}

uint32_t
uroce_crc32_arm64_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	return sum(state, (struct rest){ .src = src, .dst = dst, .len = len });
}

uint32_t
uroce_crc32_arm64_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask)
{
	return sum(state, (struct rest){ .src = data, .mask = mask, .len = len });
}

#endif
