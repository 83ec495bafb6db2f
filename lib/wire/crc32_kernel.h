/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_CRC32_KERNEL_H
#define UROCE_WIRE_CRC32_KERNEL_H

/**
 * @file
 * The kernels between which crc32.c chooses. All keep the promises of crc32.h for any length; which
 * of them the processor can run is the caller's to ask. Only crc32.c and the tests call them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define UROCE_CRC32_HAS_X86 1
#else
#define UROCE_CRC32_HAS_X86 0
#endif

/* ISA-L: any processor. */
uint32_t uroce_crc32_isal(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_isal_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_isal_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask);

#if UROCE_CRC32_HAS_X86

/* Carry-less multiplication, 16 bytes at a time: every x86 server since 2010. */
static inline bool
uroce_crc32_can_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

uint32_t uroce_crc32_clmul(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_clmul_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_clmul_masked(uint32_t state, const void *data, size_t len,
				  const uint8_t *mask);

/* The same, 64 bytes at a time. */
static inline bool
uroce_crc32_can_vclmul(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
}

uint32_t uroce_crc32_vclmul(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_vclmul_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_vclmul_masked(uint32_t state, const void *data, size_t len,
				   const uint8_t *mask);

#endif

#endif /* UROCE_WIRE_CRC32_KERNEL_H */
