/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC-32 by ISA-L, which has kernels for every processor and is fastest with long data.
 */

#include "base/crc32_kernel.h"

#include <isa-l/crc.h>
#include <string.h>

#include "base/crc32.h"

uint32_t
uroce_crc32_isal(uint32_t state, const void *data, size_t len)
{
	return crc32_gzip_refl(state, data, len);
}

/*
 * Compute the CRC, and then copy the data in a second pass. A packet's payload has at most 4 KiB,
 * so it stays in the L1 cache between the passes.
 */
uint32_t
uroce_crc32_isal_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	state = crc32_gzip_refl(state, src, len);
	memcpy(dst, src, len);
	return state;
}

uint32_t
uroce_crc32_isal_masked(uint32_t state, const void *data, size_t len, const uint8_t *mask)
{
	const size_t nb = len < UROCE_CRC32_MASK_LEN ? len : UROCE_CRC32_MASK_LEN;
	const uint8_t *byte = data;
	uint8_t masked[UROCE_CRC32_MASK_LEN];

	for (size_t i = 0; i < nb; i++)
		masked[i] = byte[i] | mask[i];
	state = crc32_gzip_refl(state, masked, nb);
	return crc32_gzip_refl(state, byte + nb, len - nb);
}
