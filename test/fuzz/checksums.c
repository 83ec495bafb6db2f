/* SPDX-License-Identifier: BSD-3-Clause */

#include "checksums.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <rte_ip.h>

#include "wire/hdr.h"

#define HOP_BY_HOP_LEN 8u

/*
 * Fold a one's complement sum, and store the checksum that results. `sum` is a sum of words in the
 * byte order of the frame.
 */
static void
put(uint8_t *at, uint32_t sum)
{
	uint16_t word;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	word = (uint16_t)~sum;
	memcpy(at, &word, sizeof(word));
}

/*
 * Set the checksum of a message.
 * @param at  offset of the checksum in the message
 */
static void
mend_message(uint8_t *msg, uint32_t len, uint32_t at, uint32_t pseudo_sum)
{
	if (len < at + 2)
		return;
	memset(msg + at, 0, 2);
	put(msg + at, pseudo_sum + rte_raw_cksum(msg, len));
}

static void
mend_ipv4(uint8_t *l3, uint32_t len)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)l3;
	const uint32_t hdr_len = len > 0 ? (l3[0] & 0xfu) * 4 : 0;
	uint32_t total_len;

	if (len < sizeof(*ip) || hdr_len < sizeof(*ip) || hdr_len > len)
		return;
	total_len = be16_get(ip->total_len);
	if (total_len >= hdr_len && total_len <= len)
		/* the checksums of ICMP and of IGMP are both at offset 2 */
		mend_message(l3 + hdr_len, total_len - hdr_len, 2, 0);
	mend_message(l3, hdr_len, offsetof(struct uroce_ipv4, checksum), 0);
}

static void
mend_ipv6(uint8_t *l3, uint32_t len)
{
	const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)l3;
	struct {
		uint8_t src[16], dst[16];
		be32 len, next_header;
	} pseudo;
	uint32_t msg_len, before = sizeof(*ip);

	if (len < sizeof(*ip))
		return;
	msg_len = be16_get(ip->payload_len);
	if (msg_len > len - sizeof(*ip))
		return;
	if (ip->next_header == 0 && msg_len >= HOP_BY_HOP_LEN) {
		before += HOP_BY_HOP_LEN;
		msg_len -= HOP_BY_HOP_LEN;
	}
	memcpy(pseudo.src, ip->src, 16);
	memcpy(pseudo.dst, ip->dst, 16);
	pseudo.len = be32_make(msg_len);
	pseudo.next_header = be32_make(58);
	mend_message(l3 + before, msg_len, 2, rte_raw_cksum(&pseudo, sizeof(pseudo)));
}

void
checksums_mend(uint8_t *frame, uint32_t len)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame;
	const struct uroce_vlan *vlan = (const struct uroce_vlan *)(eth + 1);
	uint32_t hdr_len = sizeof(*eth);
	uint16_t type;

	if (len < hdr_len + sizeof(*vlan))
		return;
	type = be16_get(eth->type);
	if (type == UROCE_ETHERTYPE_VLAN) {
		type = be16_get(vlan->type);
		hdr_len += sizeof(*vlan);
	}
	if (type == UROCE_ETHERTYPE_IPV4)
		mend_ipv4(frame + hdr_len, len - hdr_len);
	else if (type == UROCE_ETHERTYPE_IPV6)
		mend_ipv6(frame + hdr_len, len - hdr_len);
}
