/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC functions that compute nothing, built in place of crc32.c by meson's -Dicrc=false, to
 * measure the cost of ICRCs. Every CRC is 0. So a peer that was built in the same way finds the
 * ICRC that it expects. With such a library, a device must be configured with the key icrc=off:
 * see datapath/device/conf.c.
 */

#include "base/crc32.h"

#include <string.h>

const bool uroce_crc32_is_none = true;

uint32_t
uroce_crc32_scalar(uint32_t state, const void *data, size_t len)
{
	(void)state;
	(void)data;
	(void)len;
	return 0;
}

uint32_t
uroce_crc32(uint32_t state, const void *data, size_t len)
{
	return uroce_crc32_scalar(state, data, len);
}

uint32_t
uroce_crc32_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return uroce_crc32_scalar(state, src, len);
}

uint32_t
uroce_crc32_masked(uint32_t state, const void *data, size_t len,
		   const uint8_t mask[UROCE_CRC32_MASK_LEN])
{
	(void)mask;
	return uroce_crc32_scalar(state, data, len);
}
