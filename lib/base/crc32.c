/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Selection of the CRC-32 kernel (implementation): the kernels for x86 or arm64 if the processor
 * supports them, otherwise ISA-L. The kernels that process 8 or 16 bytes at a time are faster than
 * ISA-L only if the data is short.
 */

#include "base/crc32.h"

#include "base/crc32_kernel.h"

#define POLYNOMIAL_REFLECTED 0xedb88320u
#define CLMUL_LEN_MAX        255
#define ARM64_LEN_MAX        255

const bool uroce_crc32_is_none = false;

uint32_t
uroce_crc32_scalar(uint32_t state, const void *data, size_t len)
{
	const uint8_t *byte = data;

	state = ~state;
	for (size_t i = 0; i < len; i++) {
		state ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			state = state >> 1 ^ (POLYNOMIAL_REFLECTED & -(state & 1));
	}
	return ~state;
}

uint32_t
uroce_crc32(uint32_t state, const void *data, size_t len)
{
#if UROCE_CRC32_HAS_X86
	if (uroce_crc32_can_vclmul())
		return uroce_crc32_vclmul(state, data, len);
	if (len <= CLMUL_LEN_MAX && uroce_crc32_can_clmul())
		return uroce_crc32_clmul(state, data, len);
#elif UROCE_CRC32_HAS_ARM64
	if (len <= ARM64_LEN_MAX)
		return uroce_crc32_arm64(state, data, len);
#endif
	return uroce_crc32_isal(state, data, len);
}

uint32_t
uroce_crc32_copy(uint32_t state, void *dst, const void *src, size_t len)
{
#if UROCE_CRC32_HAS_X86
	if (uroce_crc32_can_vclmul())
		return uroce_crc32_vclmul_copy(state, dst, src, len);
	if (len <= CLMUL_LEN_MAX && uroce_crc32_can_clmul())
		return uroce_crc32_clmul_copy(state, dst, src, len);
#elif UROCE_CRC32_HAS_ARM64
	if (len <= ARM64_LEN_MAX)
		return uroce_crc32_arm64_copy(state, dst, src, len);
#endif
	return uroce_crc32_isal_copy(state, dst, src, len);
}

uint32_t
uroce_crc32_masked(uint32_t state, const void *data, size_t len,
		   const uint8_t mask[UROCE_CRC32_MASK_LEN])
{
#if UROCE_CRC32_HAS_X86
	if (uroce_crc32_can_vclmul())
		return uroce_crc32_vclmul_masked(state, data, len, mask);
	if (len <= CLMUL_LEN_MAX && uroce_crc32_can_clmul())
		return uroce_crc32_clmul_masked(state, data, len, mask);
#elif UROCE_CRC32_HAS_ARM64
	if (len <= ARM64_LEN_MAX)
		return uroce_crc32_arm64_masked(state, data, len, mask);
#endif
	return uroce_crc32_isal_masked(state, data, len, mask);
}
