/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC-32 by ISA-L, which has kernels for every processor and is at its best with long data.
 */

#include "wire/crc32_kernel.h"

#include <isa-l/crc.h>
#include <string.h>

#include "wire/crc32.h"

/* Stays in the nearest cache between the sum and the copy. */
#define COPY_BLOCK_LEN 4096

uint32_t
uroce_crc32_isal(uint32_t state, const void *data, size_t len)
{
	return crc32_gzip_refl(state, data, len);
}

/* It sums the source: what was stored a moment ago cannot be loaded at once in another width. */
uint32_t
uroce_crc32_isal_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	while (len > 0) {
		const size_t nb = len < COPY_BLOCK_LEN ? len : COPY_BLOCK_LEN;

		state = crc32_gzip_refl(state, from, nb);
		memcpy(to, from, nb);
		to += nb;
		from += nb;
		len -= nb;
	}
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
