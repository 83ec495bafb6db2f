/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_CRC32_H
#define UROCE_BASE_CRC32_H

/**
 * @file
 * CRC-32 of Ethernet, reflected.
 *
 * A CRC state is the value that zlib's crc32() returns; it is 0 for no bytes. A state may be
 * extended over further bytes, and needs no final step.
 *
 * Most frames are small, so the cost of a CRC over a few dozen bytes matters most. x86 and arm64
 * have kernels for such lengths (crc32_x86.c, crc32_arm64.c), selected by the features of the
 * processor. Other processors use ISA-L (crc32_isal.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Length in bytes of the mask that uroce_crc32_masked() takes. */
#define UROCE_CRC32_MASK_LEN 64

/** true if the library was built without CRCs, which is only for benchmarks: every CRC is 0. */
extern const bool uroce_crc32_is_none;

/** Extend a CRC state over `len` bytes, with vector instructions. */
uint32_t uroce_crc32(uint32_t state, const void *data, size_t len);

/**
 * Extend a CRC state over `len` bytes, bit by bit. The function is the reference for tests and
 * small tools.
 */
uint32_t uroce_crc32_scalar(uint32_t state, const void *data, size_t len);

/**
 * Copy `len` bytes to `dst` and extend a CRC state over them, in one pass. Source and destination
 * must not overlap.
 */
uint32_t uroce_crc32_copy(uint32_t state, void *dst, const void *src, size_t len);

/**
 * Extend a CRC state over `len` >= 16 bytes, as if the mask were or-ed into the first bytes of the
 * data. If `len` is less than the length of the mask, the mask must be 0 in the last `len` % 16
 * bytes.
 */
uint32_t uroce_crc32_masked(uint32_t state, const void *data, size_t len,
			    const uint8_t mask[UROCE_CRC32_MASK_LEN]);

#endif /* UROCE_BASE_CRC32_H */
