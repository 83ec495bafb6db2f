/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ARP [RFC 826] for IPv4 over Ethernet: parse a received packet, turn a request into its reply,
 * build a request.
 */

#include "datapath/net/neigh_frame.h"

#include <assert.h>
#include <string.h>

#include "wire/hdr.h"

struct arp {
	be16 hw_type;
	be16 proto_type;
	uint8_t hw_len;
	uint8_t proto_len;
	be16 op;
	uint8_t sender_mac[6];
	uint8_t sender_ip[4];
	uint8_t target_mac[6];
	uint8_t target_ip[4];
};
static_assert(sizeof(struct arp) == 28, "ARP for IPv4 over Ethernet is 28 bytes");

#define ARP_HW_ETHERNET 1
#define ARP_OP_REQUEST  1
#define ARP_OP_REPLY    2
#define MIN_FRAME_LEN   60 /* minimum length of an Ethernet frame without FCS */

static void
map_v4(uint8_t ip[16], const uint8_t v4[4])
{
	memset(ip, 0, 10);
	ip[10] = ip[11] = 0xff;
	memcpy(ip + 12, v4, 4);
}

static bool
is_valid_arp(const struct uroce_l2 *l2)
{
	const struct arp *arp = (const struct arp *)l2->l3;

	return l2->l3_len >= sizeof(*arp) && be16_get(arp->hw_type) == ARP_HW_ETHERNET &&
	       be16_get(arp->proto_type) == UROCE_ETHERTYPE_IPV4 &&
	       arp->hw_len == sizeof(arp->sender_mac) && arp->proto_len == sizeof(arp->sender_ip);
}

bool
uroce_arp_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		struct uroce_neigh_claim *claim)
{
	struct arp *arp = (struct arp *)l2->l3;
	uint8_t target[16];
	uint16_t op;

	if (!is_valid_arp(l2))
		return false;
	op = be16_get(arp->op);
	map_v4(target, arp->target_ip);
	if ((op != ARP_OP_REQUEST && op != ARP_OP_REPLY) || !uroce_neigh_is_ours(conf, target))
		return false;
	map_v4(claim->ip, arp->sender_ip);
	memcpy(claim->mac, arp->sender_mac, sizeof(claim->mac));
	claim->is_valid = !(arp->sender_mac[0] & 1) && uroce_neigh_is_host(conf, claim->ip);
	claim->is_answer = op == ARP_OP_REPLY;
	if (op == ARP_OP_REPLY || arp->sender_mac[0] & 1)
		return false;
	memcpy(arp->target_mac, arp->sender_mac, sizeof(arp->target_mac));
	memcpy(arp->target_ip, arp->sender_ip, sizeof(arp->target_ip));
	memcpy(arp->sender_mac, conf->mac, sizeof(arp->sender_mac));
	memcpy(arp->sender_ip, target + 12, sizeof(arp->sender_ip));
	arp->op = be16_make(ARP_OP_REPLY);
	uroce_l2_return(conf, l2->frame, arp->target_mac);
	return true;
}

uint32_t
uroce_arp_request(const struct uroce_neigh_conf *conf, const uint8_t sip[16], const uint8_t ip[16],
		  uint8_t *frame)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct arp *arp;

	memset(frame, 0, MIN_FRAME_LEN);
	arp = (struct arp *)uroce_l2_put(conf, frame, all, UROCE_ETHERTYPE_ARP);
	*arp = (struct arp){
		.hw_type = be16_make(ARP_HW_ETHERNET),
		.proto_type = be16_make(UROCE_ETHERTYPE_IPV4),
		.hw_len = sizeof(arp->sender_mac),
		.proto_len = sizeof(arp->sender_ip),
		.op = be16_make(ARP_OP_REQUEST),
	};
	memcpy(arp->sender_mac, conf->mac, sizeof(arp->sender_mac));
	memcpy(arp->sender_ip, sip + 12, sizeof(arp->sender_ip));
	memcpy(arp->target_ip, ip + 12, sizeof(arp->target_ip));
	return MIN_FRAME_LEN;
}
