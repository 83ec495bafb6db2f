/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The invariant CRC. The bytes that routers may change are replaced by ones in a copy of the
 * headers, never in the frame: a received frame is read only.
 */

#include "wire/icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/icrc_table.h"

#define POLYNOMIAL     0xedb88320u
#define LRH_LEN        8
#define IPV4_HDR_MAX   60
#define COPY_BLOCK_LEN 4096

uint32_t
uroce_crc32(uint32_t state, const void *data, size_t len)
{
	return crc32_gzip_refl(state, data, len);
}

uint32_t
uroce_crc32_scalar(uint32_t state, const void *data, size_t len)
{
	const uint8_t *byte = data;

	state = ~state;
	for (size_t i = 0; i < len; i++) {
		state ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			state = state >> 1 ^ (POLYNOMIAL & -(state & 1));
	}
	return ~state;
}

uint32_t
uroce_crc32_copy(uint32_t state, void *dst, const void *src, size_t len)
{
	uint8_t *to = dst;
	const uint8_t *from = src;

	while (len > 0) {
		const size_t nb = len < COPY_BLOCK_LEN ? len : COPY_BLOCK_LEN;

		memcpy(to, from, nb);
		state = uroce_crc32(state, to, nb);
		to += nb;
		from += nb;
		len -= nb;
	}
	return state;
}

static uint8_t *
put_masked_ipv4(uint8_t *at, const uint8_t *ip)
{
	const size_t ip_len = (size_t)(ip[0] & 0xf) * 4;
	struct uroce_ipv4 *hdr = (struct uroce_ipv4 *)at;

	memcpy(at, ip, ip_len);
	hdr->tos = 0xff;
	hdr->ttl = 0xff;
	hdr->checksum = be16_make(0xffff);
	return at + ip_len;
}

static uint8_t *
put_masked_ipv6(uint8_t *at, const uint8_t *ip)
{
	struct uroce_ipv6 *hdr = (struct uroce_ipv6 *)at;

	memcpy(at, ip, sizeof(*hdr));
	hdr->version_flow = be32_make(be32_get(hdr->version_flow) | 0x0fffffff);
	hdr->hop_limit = 0xff;
	return at + sizeof(*hdr);
}

uint32_t
uroce_icrc_prefix(const uint8_t *ip)
{
	uint8_t masked[LRH_LEN + IPV4_HDR_MAX + sizeof(struct uroce_udp)];
	uint8_t *at = masked + LRH_LEN;
	struct uroce_udp *udp;

	memset(masked, 0xff, LRH_LEN);
	at = ip[0] >> 4 == 6 ? put_masked_ipv6(at, ip) : put_masked_ipv4(at, ip);
	memcpy(at, ip + (at - masked - LRH_LEN), sizeof(*udp));
	udp = (struct uroce_udp *)at;
	udp->checksum = be16_make(0xffff);
	return uroce_crc32(0, masked, (size_t)(at - masked) + sizeof(*udp));
}

uint32_t
uroce_icrc_len_term(int is_ipv6, uint16_t udp_len)
{
	const uint16_t ipv4_len = (uint16_t)(udp_len + sizeof(struct uroce_ipv4));

	if (is_ipv6)
		return ipv6_udp_term[0][udp_len >> 8] ^ ipv6_udp_term[1][udp_len & 0xff];
	return udp_term[0][udp_len >> 8] ^ udp_term[1][udp_len & 0xff] ^
	       ipv4_term[0][ipv4_len >> 8] ^ ipv4_term[1][ipv4_len & 0xff];
}

uint32_t
uroce_icrc_bth(uint32_t state, const uint8_t *bth)
{
	struct uroce_bth masked;

	memcpy(&masked, bth, sizeof(masked));
	masked.fecn_becn = 0xff;
	return uroce_crc32(state, &masked, sizeof(masked));
}
