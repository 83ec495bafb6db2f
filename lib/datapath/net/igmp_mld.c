/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * IGMP, and MLD, its equivalent within ICMPv6. Messages of both protocols carry the option Router
 * Alert. They never leave their link, and so have a hop limit of 1. Messages with another hop limit
 * are ignored.
 */

#include "datapath/net/igmp_mld.h"

#include <string.h>
#include <rte_ip.h>

#include "wire/build.h"
#include "wire/hdr.h"

#define PROTO_IGMP       2
#define PROTO_HOP_BY_HOP 0
#define HOP_LIMIT        1
/* The DSCP of network control (CS6), in the upper six bits of the traffic class. */
#define DSCP_CS6      0xc0
#define MIN_FRAME_LEN 60 /* minimum length of an Ethernet frame without FCS */
/* Maximum response time of an IGMPv1 query, which has no field for this time. */
#define DEFAULT_RESP_NS UINT64_C(10000000000)
#define NS_PER_MS       UINT64_C(1000000)

struct igmp {
	uint8_t type;
	uint8_t max_resp; /* maximum time until the response to a query, in units of 100 ms */
	be16 checksum;
	uint8_t group[4];
};
static_assert(sizeof(struct igmp) == 8, "an IGMP message is 8 bytes");

struct igmp_packet {
	struct uroce_ipv4 ip;
	uint8_t router_alert[4];
	struct igmp igmp;
};

struct mld {
	uint8_t type;
	uint8_t code;
	be16 checksum;
	be16 max_resp; /* maximum time until the response to a query, in ms */
	be16 reserved;
	uint8_t group[16];
};
static_assert(sizeof(struct mld) == 24, "an MLD message is 24 bytes");

struct mld_packet {
	struct uroce_ipv6 ip;
	uint8_t hop_by_hop[8]; /* extension header: next header, length, Router Alert, PadN */
	struct mld mld;
};

struct pseudo {
	uint8_t src[16];
	uint8_t dst[16];
	be32 len;
	be32 next_header;
};

enum {
	IGMP_QUERY = 0x11,
	IGMP_REPORT = 0x16,
	IGMP_LEAVE = 0x17,
	MLD_QUERY = 130,
	MLD_REPORT = 131,
	MLD_DONE = 132,
};

static const uint8_t all_routers[16] = { [10] = 0xff, 0xff, 224, 0, 0, 2 };
static const uint8_t all_routers6[16] = { 0xff, 2, [15] = 2 };

void
uroce_mcast_group_mac(const uint8_t gid[16], uint8_t mac[6])
{
	static const uint8_t v4[] = { 0x01, 0x00, 0x5e }, v6[] = { 0x33, 0x33 };

	if (uroce_ip_is_v4(gid)) {
		memcpy(mac, v4, sizeof(v4));
		memcpy(mac + 3, gid + 13, 3);
		mac[3] &= 0x7f;
	} else {
		memcpy(mac, v6, sizeof(v6));
		memcpy(mac + 2, gid + 12, 4);
	}
}

bool
uroce_igmp_mld_is_reported(const uint8_t group[16])
{
	static const uint8_t all_hosts[16] = { [10] = 0xff, 0xff, 224, 0, 0, 1 };
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };

	if (uroce_ip_is_v4(group))
		return memcmp(group, all_hosts, 16) != 0;
	/*
	 * An IPv6 group of scope 1 (interface-local) is never used on the link, and is not
	 * reported.
	 */
	return (group[1] & 0xf) > 1 && memcmp(group, all_nodes, 16) != 0;
}

/*
 * Fold a ones' complement sum to 16 bits, and complement it. The 16-bit words were added in the
 * byte order of the memory, so the result needs no change of byte order.
 */
static be16
fold_sum(uint32_t sum)
{
	be16 checksum;
	uint16_t word;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	word = (uint16_t)~sum;
	memcpy(&checksum, &word, sizeof(checksum));
	return checksum;
}

static be16
checksum_igmp(const void *data, uint32_t len)
{
	return fold_sum(rte_raw_cksum(data, len));
}

static be16
checksum_mld(const struct uroce_ipv6 *ip, const void *msg, uint32_t len)
{
	struct pseudo pseudo = {
		.len = be32_make(len),
		.next_header = be32_make(UROCE_IPPROTO_ICMPV6),
	};

	memcpy(pseudo.src, ip->src, sizeof(pseudo.src));
	memcpy(pseudo.dst, ip->dst, sizeof(pseudo.dst));
	return fold_sum((uint32_t)rte_raw_cksum(&pseudo, sizeof(pseudo)) + rte_raw_cksum(msg, len));
}

/*
 * Choose the source address of a report: for IPv4 the first IPv4 address of this device, for IPv6
 * its link-local address. If there is no such address, the unspecified address is used.
 */
static void
choose_source(const struct uroce_neigh_conf *conf, bool is_v4, uint8_t ip[16])
{
	memset(ip, 0, 16);
	for (unsigned i = 0; i < conf->nb_addr; i++) {
		const uint8_t *ours = conf->addr[i].ip;
		const bool is_link_local = ours[0] == 0xfe && (ours[1] & 0xc0) == 0x80;

		if (is_v4 ? !uroce_ip_is_v4(ours) : !is_link_local)
			continue;
		memcpy(ip, ours, 16);
		return;
	}
}

static uint32_t
put_igmp(const struct uroce_neigh_conf *conf, const uint8_t group[16], bool is_leave,
	 uint8_t *frame)
{
	const uint8_t *to = is_leave ? all_routers : group;
	struct igmp_packet *packet;
	uint8_t mac[6], src[16];

	uroce_mcast_group_mac(to, mac);
	memset(frame, 0, MIN_FRAME_LEN);
	packet = (struct igmp_packet *)uroce_l2_put(conf, frame, mac, UROCE_ETHERTYPE_IPV4);
	*packet = (struct igmp_packet){
		.ip = { .version_ihl = 4 << 4 | (sizeof(packet->ip) + 4) / 4,
			.tos = DSCP_CS6,
			.total_len = be16_make(sizeof(*packet)),
			.frag = be16_make(UROCE_IPV4_DF),
			.ttl = HOP_LIMIT,
			.protocol = PROTO_IGMP },
		.router_alert = { 0x94, 4 },
		.igmp = { .type = is_leave ? IGMP_LEAVE : IGMP_REPORT },
	};
	choose_source(conf, true, src);
	memcpy(packet->ip.src, src + 12, 4);
	memcpy(packet->ip.dst, to + 12, 4);
	memcpy(packet->igmp.group, group + 12, 4);
	packet->ip.checksum = checksum_igmp(packet, sizeof(packet->ip) + 4);
	packet->igmp.checksum = checksum_igmp(&packet->igmp, sizeof(packet->igmp));
	return MIN_FRAME_LEN;
}

static uint32_t
put_mld(const struct uroce_neigh_conf *conf, const uint8_t group[16], bool is_leave, uint8_t *frame)
{
	const uint8_t *to = is_leave ? all_routers6 : group;
	struct mld_packet *packet;
	uint8_t mac[6];

	uroce_mcast_group_mac(to, mac);
	packet = (struct mld_packet *)uroce_l2_put(conf, frame, mac, UROCE_ETHERTYPE_IPV6);
	*packet = (struct mld_packet){
		.ip = { .version_flow = be32_make(6u << 28),
			.payload_len = be16_make(sizeof(*packet) - sizeof(packet->ip)),
			.next_header = PROTO_HOP_BY_HOP,
			.hop_limit = HOP_LIMIT },
		.hop_by_hop = { UROCE_IPPROTO_ICMPV6, 0, 5, 2, 0, 0, 1, 0 },
		.mld = { .type = is_leave ? MLD_DONE : MLD_REPORT },
	};
	choose_source(conf, false, packet->ip.src);
	memcpy(packet->ip.dst, to, 16);
	memcpy(packet->mld.group, group, 16);
	packet->mld.checksum = checksum_mld(&packet->ip, &packet->mld, sizeof(packet->mld));
	return (uint32_t)((const uint8_t *)(packet + 1) - frame);
}

uint32_t
uroce_igmp_mld_put_report(const struct uroce_neigh_conf *conf, const uint8_t group[16],
			  bool is_leave, uint8_t *frame)
{
	return uroce_ip_is_v4(group) ? put_igmp(conf, group, is_leave, frame)
				     : put_mld(conf, group, is_leave, frame);
}

/*
 * Decode a response code of IGMPv3 or MLDv2. A code from 128 (IGMPv3) or 32768 (MLDv2) on is a
 * floating-point number [RFC 3376 4.1.1, RFC 3810 5.1.3].
 */
static uint32_t
decode_resp_code(uint32_t code, unsigned mantissa_bits)
{
	const uint32_t limit = UINT32_C(1) << (mantissa_bits + 3);
	const uint32_t mantissa = code & ((limit >> 3) - 1);
	const uint32_t exponent = code >> mantissa_bits & 7;

	return code < limit ? code : (mantissa | limit >> 3) << (exponent + 3);
}

static bool
read_igmp(const struct uroce_l2 *l2, uint64_t *resp_ns)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)l2->l3;
	const struct igmp *igmp;
	uint32_t hdr_len, len;

	if (l2->l3_len < sizeof(*ip) || ip->version_ihl >> 4 != 4 || ip->protocol != PROTO_IGMP)
		return false;
	hdr_len = (ip->version_ihl & 0xfu) * 4;
	len = be16_get(ip->total_len);
	if (hdr_len < sizeof(*ip) || len > l2->l3_len || len < hdr_len + sizeof(*igmp) ||
	    ip->ttl != HOP_LIMIT || be16_get(ip->frag) & 0x3fff ||
	    be16_get(checksum_igmp(ip, hdr_len)) != 0)
		return false;
	igmp = (const struct igmp *)(l2->l3 + hdr_len);
	if (igmp->type != IGMP_QUERY || be16_get(checksum_igmp(igmp, len - hdr_len)) != 0)
		return false;
	*resp_ns = igmp->max_resp ? decode_resp_code(igmp->max_resp, 4) * 100 * NS_PER_MS
				  : DEFAULT_RESP_NS;
	return true;
}

/* Parse an MLD query. The extension header of every query contains only the option Router Alert. */
static bool
read_mld(const struct uroce_l2 *l2, uint64_t *resp_ns)
{
	const struct mld_packet *packet = (const struct mld_packet *)l2->l3;
	uint32_t len;

	if (l2->l3_len < sizeof(*packet) || be32_get(packet->ip.version_flow) >> 28 != 6 ||
	    packet->ip.next_header != PROTO_HOP_BY_HOP || packet->ip.hop_limit != HOP_LIMIT ||
	    packet->hop_by_hop[0] != UROCE_IPPROTO_ICMPV6 || packet->hop_by_hop[1] != 0)
		return false;
	len = be16_get(packet->ip.payload_len);
	if (len < sizeof(*packet) - sizeof(packet->ip) || len > l2->l3_len - sizeof(packet->ip))
		return false;
	len -= (uint32_t)sizeof(packet->hop_by_hop);
	if (packet->mld.type != MLD_QUERY ||
	    be16_get(checksum_mld(&packet->ip, &packet->mld, len)) != 0)
		return false;
	/* Only an MLDv2 query is longer than struct mld, and has a code for its response time. */
	*resp_ns = NS_PER_MS * (len > sizeof(packet->mld)
					? decode_resp_code(be16_get(packet->mld.max_resp), 12)
					: be16_get(packet->mld.max_resp));
	return true;
}

bool
uroce_igmp_mld_read_query(const struct uroce_l2 *l2, uint64_t *resp_ns)
{
	if (l2->type == UROCE_ETHERTYPE_IPV4)
		return read_igmp(l2, resp_ns);
	return l2->type == UROCE_ETHERTYPE_IPV6 && read_mld(l2, resp_ns);
}
