/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ICMPv6: neighbour solicitation and advertisement [RFC 4861], echo [RFC 4443]. A message of
 * neighbour discovery is accepted only with a hop limit of 255 and a right checksum. No router
 * forwards a packet with this hop limit unchanged.
 */

#include "datapath/net/neigh_frame.h"

#include <string.h>

#include "wire/build.h"
#include "wire/hdr.h"

struct icmpv6 {
	uint8_t type;
	uint8_t code;
	be16 checksum;
	/*
	 * Flags of a neighbour solicitation or advertisement; in an echo message, its identifier
	 * and sequence number.
	 */
	be32 flags;
};
static_assert(sizeof(struct icmpv6) == 8, "an ICMPv6 header is 8 bytes");

/* A neighbour solicitation or advertisement, with a link-layer address option. */
struct nd {
	struct icmpv6 icmp;
	uint8_t target[16];
	uint8_t opt_type;
	uint8_t opt_len; /* length of the option, in units of 8 bytes */
	uint8_t opt_mac[6];
};
static_assert(sizeof(struct nd) == 32, "a neighbour message with a link-layer address");

enum {
	ECHO_REQUEST = 128,
	ECHO_REPLY = 129,
	SOLICITATION = 135,
	ADVERTISEMENT = 136,
	OPT_SOURCE_MAC = 1,
	OPT_TARGET_MAC = 2,
};

#define ND_HOP_LIMIT    255
#define REPLY_HOP_LIMIT 64
#define FLAG_SOLICITED  0x40000000u
#define FLAG_OVERRIDE   0x20000000u
#define ND_LEN_MIN      24 /* length of an ND message without options */

static const uint8_t unspecified[16];

/*
 * Compute the checksum of an ICMPv6 message and its pseudo-header. The result is 0 if the message
 * already includes a right checksum.
 */
static uint16_t
checksum_icmpv6(const struct uroce_ipv6 *ip, const void *msg, uint32_t len)
{
	const uint8_t *byte = msg;
	uint32_t sum = len + UROCE_IPPROTO_ICMPV6;

	for (unsigned i = 0; i < 16; i += 2)
		sum += (uint32_t)(ip->src[i] << 8 | ip->src[i + 1]) +
		       (uint32_t)(ip->dst[i] << 8 | ip->dst[i + 1]);
	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(byte[i] << 8 | byte[i + 1]);
	if (len & 1)
		sum += (uint32_t)byte[len - 1] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void
set_icmpv6_checksum(const struct uroce_ipv6 *ip, struct icmpv6 *icmp, uint32_t len)
{
	icmp->checksum = be16_make(0);
	icmp->checksum = be16_make(checksum_icmpv6(ip, icmp, len));
}

/*
 * Check an IPv6 packet that may contain an ICMPv6 message.
 * @return length of the ICMPv6 message; 0: the packet has no such message, or is damaged
 */
static uint32_t
check_ipv6(const struct uroce_l2 *l2)
{
	const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)l2->l3;
	uint32_t len;

	if (l2->l3_len < sizeof(*ip) + sizeof(struct icmpv6) ||
	    be32_get(ip->version_flow) >> 28 != 6 || ip->next_header != UROCE_IPPROTO_ICMPV6)
		return 0;
	len = be16_get(ip->payload_len);
	if (len < sizeof(struct icmpv6) || len > l2->l3_len - sizeof(*ip))
		return 0;
	return checksum_icmpv6(ip, ip + 1, len) == 0 ? len : 0;
}

/* Find the MAC in the link-layer address option of a given type; NULL: there is no such option. */
static const uint8_t *
find_mac(const struct nd *nd, uint32_t len, uint8_t opt_type)
{
	const uint8_t *opt = (const uint8_t *)nd + ND_LEN_MIN;
	uint32_t left = len - ND_LEN_MIN;

	while (left >= 8 && opt[1] != 0 && opt[1] * 8u <= left) {
		if (opt[0] == opt_type && !(opt[2] & 1))
			return opt + 2;
		left -= opt[1] * 8u;
		opt += opt[1] * 8u;
	}
	return NULL;
}

/*
 * Whether `ip` may be the IPv6 address of another host. IPv4-mapped addresses are used only by ARP,
 * so they are not accepted in neighbour discovery.
 */
static bool
is_ipv6_host(const struct uroce_neigh_conf *conf, const uint8_t ip[16])
{
	return !uroce_ip_is_v4(ip) && uroce_neigh_is_host(conf, ip);
}

static void
claim_neighbour(const uint8_t ip[16], const uint8_t *mac, bool is_answer,
		struct uroce_neigh_claim *claim)
{
	memcpy(claim->ip, ip, sizeof(claim->ip));
	memcpy(claim->mac, mac, sizeof(claim->mac));
	claim->is_valid = true;
	claim->is_answer = is_answer;
}

/* Turn a neighbour solicitation into the advertisement that replies to it. */
static void
make_advertisement(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		   const uint8_t *dmac, uint32_t *len)
{
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	static const uint8_t all_nodes_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };
	struct uroce_ipv6 *ip = (struct uroce_ipv6 *)l2->l3;
	struct nd *nd = (struct nd *)(ip + 1);
	const bool is_probe = memcmp(ip->src, unspecified, 16) == 0;
	uint8_t mac[6];

	memcpy(mac, is_probe ? all_nodes_mac : dmac, sizeof(mac));
	memcpy(ip->dst, is_probe ? all_nodes : ip->src, sizeof(ip->dst));
	memcpy(ip->src, nd->target, sizeof(ip->src));
	ip->version_flow = be32_make(6u << 28);
	ip->payload_len = be16_make(sizeof(*nd));
	ip->hop_limit = ND_HOP_LIMIT;
	nd->icmp.type = ADVERTISEMENT;
	nd->icmp.flags = be32_make(FLAG_OVERRIDE | (is_probe ? 0 : FLAG_SOLICITED));
	nd->opt_type = OPT_TARGET_MAC;
	nd->opt_len = 1;
	memcpy(nd->opt_mac, conf->mac, sizeof(nd->opt_mac));
	set_icmpv6_checksum(ip, &nd->icmp, sizeof(*nd));
	uroce_l2_return(conf, l2->frame, mac);
	*len = (uint32_t)(l2->l3 - l2->frame) + sizeof(*ip) + sizeof(*nd);
}

static bool
reply_solicitation(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2, uint32_t msg_len,
		   struct uroce_neigh_claim *claim, uint32_t *len)
{
	const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)l2->l3;
	const struct nd *nd = (const struct nd *)(ip + 1);
	const uint8_t *const from = ((const struct uroce_eth *)l2->frame)->src;
	const bool is_probe = memcmp(ip->src, unspecified, 16) == 0;
	const uint8_t *smac;

	if (msg_len < ND_LEN_MIN || ip->hop_limit != ND_HOP_LIMIT || nd->icmp.code != 0 ||
	    !uroce_neigh_is_ours(conf, nd->target) || from[0] & 1 ||
	    (!is_probe && !is_ipv6_host(conf, ip->src)))
		return false;
	smac = find_mac(nd, msg_len, OPT_SOURCE_MAC);
	if (!is_probe && smac)
		claim_neighbour(ip->src, smac, false, claim);
	if (l2->room < sizeof(*ip) + sizeof(*nd))
		return false;
	make_advertisement(conf, l2, smac ? smac : from, len);
	return true;
}

static void
read_advertisement(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2, uint32_t msg_len,
		   struct uroce_neigh_claim *claim)
{
	const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)l2->l3;
	const struct nd *nd = (const struct nd *)(ip + 1);
	const uint8_t *mac;

	if (msg_len < ND_LEN_MIN || ip->hop_limit != ND_HOP_LIMIT || nd->icmp.code != 0 ||
	    !is_ipv6_host(conf, nd->target))
		return;
	mac = find_mac(nd, msg_len, OPT_TARGET_MAC);
	if (!mac)
		mac = ((const struct uroce_eth *)l2->frame)->src;
	if (!(mac[0] & 1))
		claim_neighbour(nd->target, mac, true, claim);
}

static bool
reply_echo(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2, uint32_t msg_len,
	   uint32_t *len)
{
	struct uroce_ipv6 *ip = (struct uroce_ipv6 *)l2->l3;
	struct icmpv6 *icmp = (struct icmpv6 *)(ip + 1);
	const uint8_t *const from = ((const struct uroce_eth *)l2->frame)->src;
	uint8_t ours[16];

	if (icmp->code != 0 || !uroce_neigh_is_ours(conf, ip->dst) || ip->src[0] == 0xff ||
	    memcmp(ip->src, unspecified, 16) == 0 || from[0] & 1)
		return false;
	memcpy(ours, ip->dst, sizeof(ours));
	memcpy(ip->dst, ip->src, sizeof(ip->dst));
	memcpy(ip->src, ours, sizeof(ip->src));
	ip->hop_limit = REPLY_HOP_LIMIT;
	icmp->type = ECHO_REPLY;
	set_icmpv6_checksum(ip, icmp, msg_len);
	uroce_l2_return(conf, l2->frame, from);
	*len = (uint32_t)(l2->l3 - l2->frame) + sizeof(*ip) + msg_len;
	return true;
}

bool
uroce_icmpv6_reply(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		   struct uroce_neigh_claim *claim, uint32_t *len)
{
	const uint32_t msg_len = check_ipv6(l2);
	const struct icmpv6 *icmp = (const struct icmpv6 *)(l2->l3 + sizeof(struct uroce_ipv6));

	if (msg_len == 0)
		return false;
	if (icmp->type == SOLICITATION)
		return reply_solicitation(conf, l2, msg_len, claim, len);
	if (icmp->type == ECHO_REQUEST)
		return reply_echo(conf, l2, msg_len, len);
	if (icmp->type == ADVERTISEMENT)
		read_advertisement(conf, l2, msg_len, claim);
	return false;
}

uint32_t
uroce_icmpv6_solicit(const struct uroce_neigh_conf *conf, const uint8_t sip[16],
		     const uint8_t target[16], uint8_t *frame)
{
	/*
	 * the solicitation goes to the solicited-node group of `target` [RFC 4291 2.7.1], and to
	 * the MAC of this group
	 */
	const uint8_t dmac[6] = { 0x33, 0x33, 0xff, target[13], target[14], target[15] };
	const uint8_t group[16] = { 0xff,
				    2,
				    [11] = 1,
				    [12] = 0xff,
				    [13] = target[13],
				    [14] = target[14],
				    [15] = target[15] };
	struct uroce_ipv6 *ip =
		(struct uroce_ipv6 *)uroce_l2_put(conf, frame, dmac, UROCE_ETHERTYPE_IPV6);
	struct nd *nd = (struct nd *)(ip + 1);

	*ip = (struct uroce_ipv6){
		.version_flow = be32_make(6u << 28),
		.payload_len = be16_make(sizeof(*nd)),
		.next_header = UROCE_IPPROTO_ICMPV6,
		.hop_limit = ND_HOP_LIMIT,
	};
	memcpy(ip->src, sip, sizeof(ip->src));
	memcpy(ip->dst, group, sizeof(ip->dst));
	*nd = (struct nd){
		.icmp.type = SOLICITATION,
		.opt_type = OPT_SOURCE_MAC,
		.opt_len = 1,
	};
	memcpy(nd->target, target, sizeof(nd->target));
	memcpy(nd->opt_mac, conf->mac, sizeof(nd->opt_mac));
	set_icmpv6_checksum(ip, &nd->icmp, sizeof(*nd));
	return (uint32_t)((const uint8_t *)(nd + 1) - frame);
}
