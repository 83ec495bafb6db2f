/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_CRC32_H
#define UROCE_WIRE_CRC32_H

/**
 * @file
 * CRC-32 of Ethernet, reflected. A state is what zlib's crc32() returns: 0 for no bytes, chainable,
 * final as it is.
 *
 * Most frames are small, so what counts is the cost of a few dozen bytes: x86 has kernels of its
 * own (crc32_x86.c), chosen by what the processor can do. ISA-L serves the others (crc32_isal.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Length of the mask of uroce_crc32_masked(). */
#define UROCE_CRC32_MASK_LEN 64

/** Built without CRCs, for benchmarks alone: all sums are 0. */
extern const bool uroce_crc32_is_none;

/** Extend a CRC state over `len` bytes: vectorised. */
uint32_t uroce_crc32(uint32_t state, const void *data, size_t len);

/** The same, a bit at a time: the reference that tests and small tools compare with. */
uint32_t uroce_crc32_scalar(uint32_t state, const void *data, size_t len);

/**
 * Copy `len` bytes to `dst` and extend the state over them: each byte is fetched once. The two do
 * not overlap.
 */
uint32_t uroce_crc32_copy(uint32_t state, void *dst, const void *src, size_t len);

/**
 * Extend the state over `len` >= 16 bytes as if the mask were or-ed into the first of them.
 * Where `len` is less than the mask's, the mask must be 0 in the last `len` % 16 bytes.
 */
uint32_t uroce_crc32_masked(uint32_t state, const void *data, size_t len,
			    const uint8_t mask[UROCE_CRC32_MASK_LEN]);

#endif /* UROCE_WIRE_CRC32_H */
