/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The invariant CRC. Bytes that routers may change are replaced by ones, in registers or in a
 * copy. A received frame is never written.
 */

#include "wire/icrc.h"

#include <string.h>

#include "wire/hdr.h"
#include "wire/icrc_table.h"

#define LRH_LEN      8
#define IPV4_HDR_MAX 60

/*
 * Masks of the header bits that are replaced by ones when the ICRC is computed. Offsets count from
 * 8 bytes before the IP header: there the ICRC has 8 bytes of ones in place of an InfiniBand LRH.
 */
#define ALL          0xff
#define LRH_MASK     ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL
#define UDP_MASK(ip) [LRH_LEN + (ip) + 6] = ALL, [LRH_LEN + (ip) + 7] = ALL
#define BTH_MASK(ip) [LRH_LEN + (ip) + 8 + 4] = ALL

static const uint8_t ipv4_mask[UROCE_CRC32_MASK_LEN] = {
	LRH_MASK,
	[LRH_LEN + 1] = ALL,  /* the ToS byte of IPv4 is masked */
	[LRH_LEN + 8] = ALL,  /* the TTL byte of IPv4 is masked */
	[LRH_LEN + 10] = ALL, /* the checksum of IPv4 is masked */
	[LRH_LEN + 11] = ALL,
	UDP_MASK(sizeof(struct uroce_ipv4)),
	BTH_MASK(sizeof(struct uroce_ipv4)),
};

static const uint8_t ipv6_mask[UROCE_CRC32_MASK_LEN] = {
	LRH_MASK,
	/* traffic class and flow label, in the first four bytes of the IPv6 header, are masked */
	[LRH_LEN] = 0x0f,
	[LRH_LEN + 1] = ALL,
	[LRH_LEN + 2] = ALL,
	[LRH_LEN + 3] = ALL,
	[LRH_LEN + 7] = ALL, /* the hop limit of IPv6 is masked */
	UDP_MASK(sizeof(struct uroce_ipv6)),
	BTH_MASK(sizeof(struct uroce_ipv6)),
};

static const uint8_t bth_mask[UROCE_CRC32_MASK_LEN] = { [4] = ALL };

static size_t
ip_hdr_len(const uint8_t *ip)
{
	return ip[0] >> 4 == 6 ? sizeof(struct uroce_ipv6) : (size_t)(ip[0] & 0xf) * 4;
}

/*
 * Copy the IPv4 and UDP headers, and fill the fields of the IPv4 header that routers change with
 * ones. The length of headers without IPv4 options, the most common one, is passed to memcpy() as a
 * constant, for which the compiler emits moves.
 */
static void
put_ipv4_udp(uint8_t *at, const uint8_t *ip, size_t ip_len)
{
	struct uroce_ipv4 *hdr = (struct uroce_ipv4 *)at;
	const size_t common_len = sizeof(*hdr) + sizeof(struct uroce_udp);

	memcpy(at, ip, common_len);
	if (ip_len > sizeof(*hdr))
		memcpy(at + common_len, ip + common_len, ip_len - sizeof(*hdr));
	hdr->tos = ALL;
	hdr->ttl = ALL;
	hdr->checksum = be16_make(0xffff);
}

static void
put_ipv6_udp(uint8_t *at, const uint8_t *ip)
{
	struct uroce_ipv6 *hdr = (struct uroce_ipv6 *)at;

	memcpy(at, ip, sizeof(*hdr) + sizeof(struct uroce_udp));
	hdr->version_flow = be32_make(be32_get(hdr->version_flow) | 0x0fffffff);
	hdr->hop_limit = ALL;
}

uint32_t
uroce_icrc_prefix(const uint8_t *ip)
{
	uint8_t masked[LRH_LEN + IPV4_HDR_MAX + sizeof(struct uroce_udp)];
	const size_t ip_len = ip_hdr_len(ip);
	struct uroce_udp *udp = (struct uroce_udp *)(masked + LRH_LEN + ip_len);

	memset(masked, ALL, LRH_LEN);
	if (ip[0] >> 4 == 6)
		put_ipv6_udp(masked + LRH_LEN, ip);
	else
		put_ipv4_udp(masked + LRH_LEN, ip, ip_len);
	udp->checksum = be16_make(0xffff);
	return uroce_crc32(0, masked, LRH_LEN + ip_len + sizeof(*udp));
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

/*
 * Extend an ICRC state over a BTH. The masked BTH is stored by two stores, of the sizes with which
 * the CRC function loads it: a load is fast if it reads exactly what one store wrote.
 */
uint32_t
uroce_icrc_bth(uint32_t state, const uint8_t *bth)
{
	uint8_t masked[sizeof(struct uroce_bth)];
	uint64_t first, mask;

	memcpy(&first, bth, sizeof(first));
	memcpy(&mask, bth_mask, sizeof(mask));
	first |= mask;
	memcpy(masked, &first, sizeof(first));
	memcpy(masked + sizeof(first), bth + sizeof(first), sizeof(masked) - sizeof(first));
	return uroce_crc32(state, masked, sizeof(masked));
}

uint32_t
uroce_icrc_rest(uint32_t state, const uint8_t *bth, size_t len)
{
	if (len == sizeof(struct uroce_bth))
		return uroce_icrc_bth(state, bth);
	return uroce_crc32_masked(state, bth, len, bth_mask);
}

uint32_t
uroce_icrc_frame(const uint8_t *ip, size_t len)
{
	const size_t prefix_len = ip_hdr_len(ip) + sizeof(struct uroce_udp);

	if (ip[0] >> 4 == 6)
		return uroce_crc32_masked(0, ip - LRH_LEN, LRH_LEN + len, ipv6_mask);
	if (ip_hdr_len(ip) == sizeof(struct uroce_ipv4))
		return uroce_crc32_masked(0, ip - LRH_LEN, LRH_LEN + len, ipv4_mask);
	return uroce_icrc_rest(uroce_icrc_prefix(ip), ip + prefix_len, len - prefix_len);
}
