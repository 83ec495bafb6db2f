/* SPDX-License-Identifier: BSD-3-Clause */

#include "stream.h"

#include <string.h>

static uint64_t
crc_lsb_first(uint64_t state, uint64_t polynomial, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		state ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			state = state >> 1 ^ (state & 1 ? polynomial : 0);
	}
	return state;
}

static uint64_t
crc_t10(uint64_t state, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		state ^= (uint64_t)data[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			state = (state << 1 ^ (state & 0x8000 ? 0x8bb7 : 0)) & 0xffff;
	}
	return state;
}

static uint64_t
checksum(const uint8_t *data, uint32_t len)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += (uint64_t)data[i] << 8 | data[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static void
put_dif(uint8_t *sig, uint64_t guard, const struct uroce_sig_domain *domain, uint32_t nth)
{
	const uint32_t ref = domain->ref_tag + (domain->flags & UROCE_SIG_REF_REMAP ? nth : 0);
	const uint8_t bytes[8] = {
		(uint8_t)(guard >> 8),    (uint8_t)guard,       (uint8_t)(domain->app_tag >> 8),
		(uint8_t)domain->app_tag, (uint8_t)(ref >> 24), (uint8_t)(ref >> 16),
		(uint8_t)(ref >> 8),      (uint8_t)ref,
	};

	memcpy(sig, bytes, 8);
}

static void
put_crc(uint8_t *sig, uint64_t crc, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sig[i] = (uint8_t)(crc >> 8 * i);
}

static void
sign_block(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t nth, uint8_t *sig)
{
	const uint32_t len = domain->block_len;

	switch (domain->kind) {
	case UROCE_SIG_T10_CRC:
		put_dif(sig, crc_t10(domain->seed & 0xffff, data, len), domain, nth);
		break;
	case UROCE_SIG_T10_CSUM:
		put_dif(sig, checksum(data, len), domain, nth);
		break;
	case UROCE_SIG_CRC32:
		put_crc(sig, ~crc_lsb_first(UINT32_MAX, 0xedb88320, data, len), 4);
		break;
	case UROCE_SIG_CRC32C:
		put_crc(sig, ~crc_lsb_first(UINT32_MAX, 0x82f63b78, data, len), 4);
		break;
	default:
		put_crc(sig, ~crc_lsb_first(UINT64_MAX, UINT64_C(0x9a6c9329ac4bc9b5), data, len),
			8);
	}
}

uint32_t
stream_make(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t len, uint8_t *out)
{
	uint32_t at = 0, nth = 0;

	if (!domain->block_len) {
		memcpy(out, data, len);
		return len;
	}
	for (; len >= domain->block_len; data += domain->block_len, len -= domain->block_len) {
		memcpy(out + at, data, domain->block_len);
		at += domain->block_len;
		sign_block(domain, data, nth++, out + at);
		at += domain->len;
	}
	memcpy(out + at, data, len);
	return at + len;
}
