/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_CRC32_KERNEL_H
#define UROCE_BASE_CRC32_KERNEL_H

/**
 * @file
 * The kernels (implementations of CRC-32) from which crc32.c selects. All kernels behave as crc32.h
 * describes, for any length. The caller checks that the processor can run a kernel. Only crc32.c
 * and the tests call these functions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define UROCE_CRC32_HAS_X86 1
#else
#define UROCE_CRC32_HAS_X86 0
#endif

#ifdef __aarch64__
#define UROCE_CRC32_HAS_ARM64 1
#else
#define UROCE_CRC32_HAS_ARM64 0
#endif

/* CRC-32 kernel of ISA-L, which runs on any processor. */
uint32_t uroce_crc32_isal(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_isal_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_isal_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask);

#if UROCE_CRC32_HAS_X86

/*
 * Whether the processor can run the CRC-32 kernel that uses carry-less multiplication, 16 bytes at
 * a time. Processors since Intel Westmere and AMD Bulldozer can.
 */
static inline bool
uroce_crc32_can_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

uint32_t uroce_crc32_clmul(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_clmul_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_clmul_masked(uint32_t state, const void *data, size_t len,
				  const uint8_t *mask);

/*
 * Whether the processor can run the CRC-32 kernel that uses carry-less multiplication, 64 bytes at
 * a time (AVX-512).
 */
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

#if UROCE_CRC32_HAS_ARM64

/* CRC-32 kernel that uses the CRC instructions of Arm, 8 bytes at a time. */
uint32_t uroce_crc32_arm64(uint32_t state, const void *data, size_t len);
uint32_t uroce_crc32_arm64_copy(uint32_t state, void *dst, const void *src, size_t len);
uint32_t uroce_crc32_arm64_masked(uint32_t state, const void *data, size_t len,
				  const uint8_t *mask);

#endif

#endif /* UROCE_BASE_CRC32_KERNEL_H */
