/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRCs of data blocks. ISA-L computes all of them except CRC-64, because ISA-L has the polynomial
 * of CRC-64 only from release 2.31 on. This file computes CRC-64 itself, eight bytes at a time. A
 * table for each byte position contains the contribution of a byte at this position to the state
 * after the eight bytes.
 */

#include "base/block_crc.h"

#include <endian.h>
#include <isa-l/crc.h>
#include <string.h>

#include "base/crc64_table.h"

uint16_t
uroce_crc16_t10(uint16_t state, const void *data, size_t len)
{
	return crc16_t10dif(state, data, len);
}

uint32_t
uroce_crc32_plain(uint32_t state, const void *data, size_t len)
{
	return ~crc32_gzip_refl(~state, data, len);
}

uint32_t
uroce_crc32c(uint32_t state, const void *data, size_t len)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, state);
}

uint64_t
uroce_crc64(uint64_t state, const void *data, size_t len)
{
	const uint8_t *byte = data;
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), byte += sizeof(word)) {
		memcpy(&word, byte, sizeof(word));
		word = le64toh(word) ^ state;
		state = 0;
		for (unsigned i = 0; i < sizeof(word); i++)
			state ^= crc64_term[sizeof(word) - 1 - i][word >> 8 * i & 0xff];
	}
	for (; len > 0; len--, byte++)
		state = state >> 8 ^ crc64_term[0][(state ^ *byte) & 0xff];
	return state;
}
