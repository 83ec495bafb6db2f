/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_BLOCK_CRC_H
#define UROCE_BASE_BLOCK_CRC_H

/**
 * @file
 * CRCs of data blocks, for block signatures. The state of a CRC is the value of the CRC register.
 * For a standard CRC of 32 or 64 bits, begin with all ones and invert the result. For T10-DIF,
 * begin with 0.
 */

#include <stddef.h>
#include <stdint.h>

/** Extend a state of the CRC of T10-DIF over `len` bytes [T10 SBC-3]: polynomial 0x8bb7. */
uint16_t uroce_crc16_t10(uint16_t state, const void *data, size_t len);

/**
 * Extend a state of the CRC-32 of Ethernet and Fibre Channel over `len` bytes: polynomial
 * 0x04c11db7, reflected.
 */
uint32_t uroce_crc32_plain(uint32_t state, const void *data, size_t len);

/**
 * Extend a state of the CRC-32C of iSCSI over `len` bytes [RFC 3720]: polynomial 0x1edc6f41,
 * reflected. `len` is at most 2^31 - 1.
 */
uint32_t uroce_crc32c(uint32_t state, const void *data, size_t len);

/**
 * Extend a state of the CRC-64 of XP10 and NVMe over `len` bytes: polynomial 0xad93d23594c93659,
 * reflected.
 */
uint64_t uroce_crc64(uint64_t state, const void *data, size_t len);

#endif /* UROCE_BASE_BLOCK_CRC_H */
