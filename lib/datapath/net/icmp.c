/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ICMP echo [RFC 792]. The reply is the request with its addresses exchanged. The ICMP checksum is
 * adjusted to the change of the type, and not computed anew. So a request that arrived damaged
 * remains damaged.
 */

#include "datapath/net/neigh_frame.h"

#include <string.h>

#include "wire/hdr.h"

struct icmp {
	uint8_t type;
	uint8_t code;
	be16 checksum;
	be16 id;
	be16 seq;
};
static_assert(sizeof(struct icmp) == 8, "an ICMP echo header is 8 bytes");

#define ICMP_ECHO_REQUEST 8
#define ICMP_ECHO_REPLY   0
#define REPLY_TTL         64

static be16
checksum_ipv4_header(const struct uroce_ipv4 *ip, uint32_t hdr_len)
{
	const be16 *word = (const be16 *)ip;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < hdr_len / 2; i++)
		sum += be16_get(word[i]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return be16_make((uint16_t)~sum);
}

/* Update a checksum for one changed word, by sums in one's complement [RFC 1624]. */
static be16
update_checksum(be16 checksum, uint16_t old_word, uint16_t new_word)
{
	uint32_t sum = (uint16_t)~be16_get(checksum) + (uint16_t)~old_word + new_word;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return be16_make((uint16_t)~sum);
}

/*
 * Check an IPv4 header: it must be complete, not fragmented, and have a right checksum.
 * @return length of the header; 0: the check failed
 */
static uint32_t
check_ipv4(const struct uroce_l2 *l2)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)l2->l3;
	uint32_t hdr_len;

	if (l2->l3_len < sizeof(*ip) || ip->version_ihl >> 4 != 4)
		return 0;
	hdr_len = (ip->version_ihl & 0xfu) * 4;
	if (hdr_len < sizeof(*ip) || be16_get(ip->total_len) > l2->l3_len ||
	    be16_get(ip->total_len) < hdr_len + sizeof(struct icmp))
		return 0;
	if (be16_get(ip->frag) & 0x3fff || be16_get(checksum_ipv4_header(ip, hdr_len)) != 0)
		return 0;
	return hdr_len;
}

bool
uroce_icmp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2, uint32_t *len)
{
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)l2->l3;
	const uint32_t hdr_len = check_ipv4(l2);
	const uint8_t *const from = ((const struct uroce_eth *)l2->frame)->src;
	uint8_t dst[16] = { [10] = 0xff, [11] = 0xff };
	struct icmp *icmp;

	if (hdr_len == 0 || ip->protocol != UROCE_IPPROTO_ICMP)
		return false;
	icmp = (struct icmp *)(l2->l3 + hdr_len);
	memcpy(dst + 12, ip->dst, sizeof(ip->dst));
	if (icmp->type != ICMP_ECHO_REQUEST || icmp->code != 0 || !uroce_neigh_is_ours(conf, dst) ||
	    ip->src[0] == 0 || ip->src[0] >= 224 || from[0] & 1)
		return false;
	icmp->type = ICMP_ECHO_REPLY;
	icmp->checksum = update_checksum(icmp->checksum, ICMP_ECHO_REQUEST << 8, 0);
	memcpy(ip->dst, ip->src, sizeof(ip->dst));
	memcpy(ip->src, dst + 12, sizeof(ip->src));
	ip->ttl = REPLY_TTL;
	ip->checksum = be16_make(0);
	ip->checksum = checksum_ipv4_header(ip, hdr_len);
	*len = (uint32_t)(l2->l3 - l2->frame) + be16_get(ip->total_len);
	uroce_l2_return(conf, l2->frame, from);
	return true;
}
