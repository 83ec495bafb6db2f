/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parses the headers of a frame from a client or from the wire once, and checks each length. Then
 * the frame is accepted or dropped.
 */

#include "frame.h"

#include <string.h>

#include "wire/hdr.h"
#include "wire/parse.h"

#define PROTO_HOP_BY_HOP 0
#define PROTO_IGMP       2
#define PROTO_ICMPV6     58
/* mask of the fragment offset and of the flag "more fragments" in an IPv4 header */
#define IPV4_FRAGMENT    0x3fff

#define QPN_SMI          0 /* QP 0, the QP of the subnet management interface [IBA 3.9.4] */
#define QPN_GSI          1 /* QP 1, the QP of the general services interface [IBA 3.9.4] */
#define UD_OPCODES       0x60
#define OPCODE_TRANSPORT 0xe0

enum {
	ARP_REQUEST = 1,
	ARP_REPLY = 2,
	IGMP_QUERY = 0x11,
	IGMP_REPORT = 0x16,
	IGMP_LEAVE = 0x17,
	MLD_QUERY = 130,
	MLD_REPORT = 131,
	MLD_DONE = 132,
	MLD2_REPORT = 143,
	ND_SOLICIT = 135,
	ND_ADVERT = 136,
	ND_OPT_SOURCE = 1,
};

struct arp {
	be16 hw_type;
	be16 proto_type;
	uint8_t hw_len, proto_len;
	be16 op;
	uint8_t sender_mac[6], sender_ip[4], target_mac[6], target_ip[4];
};

/* An IGMPv2 message. */
struct igmp {
	uint8_t type, max_resp;
	be16 checksum;
	uint8_t group[4];
};

/* The fields of an MLDv1 message that follow its type. */
struct mld_rest {
	uint8_t code;
	be16 checksum, max_resp, reserved;
	uint8_t group[16];
};

/*
 * An IPv6 neighbour solicitation with the option "source link-layer address", which is the only
 * option that is allowed.
 */
struct solicit {
	uint8_t type, code;
	be16 checksum;
	uint8_t reserved[4], target[16];
	uint8_t opt_type, opt_len, mac[6];
};
#define SOLICIT_BARE 24u

const char *const frame_drop_text[FRAME_NB_DROPS] = {
#define X(name, text) [FRAME_DROP_##name] = text,
	FRAME_DROPS(X)
#undef X
};

void
frame_host_set(struct frame_host *host, const struct uroce_mux_host *told)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	*host = (struct frame_host){
		.vid = told->has_vlan ? told->vlan_tci & 0xfff : 0,
		.is_udp = told->is_udp,
		.frame_limit = told->frame_limit,
	};
	memcpy(host->mac, told->mac, sizeof(host->mac));
	for (unsigned i = 0; i < told->nb_addr; i++) {
		const uint8_t *ip = told->addr[i].ip;

		if (memcmp(ip, mapped, sizeof(mapped)) == 0)
			memcpy(host->ip4[host->nb_ip4++], ip + 12, 4);
		else
			memcpy(host->ip6[host->nb_ip6++], ip, 16);
	}
}

/* The bytes of a frame that are not parsed yet. */
struct rest {
	const uint8_t *at;
	uint32_t len;
};

/*
 * Take the next `len` bytes of a frame that is being parsed.
 * @return NULL if there are fewer bytes
 */
static const void *
take(struct rest *rest, uint32_t len)
{
	const uint8_t *at = rest->at;

	if (rest->len < len)
		return NULL;
	rest->at += len;
	rest->len -= len;
	return at;
}

static void
read_arp(struct rest rest, struct frame *frame)
{
	const struct arp *arp = take(&rest, sizeof(*arp));
	uint16_t op;

	if (!arp || be16_get(arp->hw_type) != 1 ||
	    be16_get(arp->proto_type) != UROCE_ETHERTYPE_IPV4 || arp->hw_len != 6 ||
	    arp->proto_len != 4)
		return;
	op = be16_get(arp->op);
	if (op != ARP_REQUEST && op != ARP_REPLY)
		return;
	frame->kind = op == ARP_REQUEST ? FRAME_ASK : FRAME_ANSWER;
	frame->sip = arp->sender_ip;
	frame->dip = arp->target_ip;
	frame->sender = arp->sender_mac;
}

static void
read_roce(struct rest rest, struct frame *frame)
{
	const struct uroce_udp *udp = take(&rest, sizeof(*udp));
	const struct uroce_bth *bth = take(&rest, sizeof(*bth));
	const struct uroce_deth *deth;

	if (!udp || !bth || be16_get(udp->dport) != UROCE_UDP_PORT)
		return;
	frame->kind = FRAME_ROCE;
	frame->qpn = be24_get(bth->dest_qpn);
	if ((bth->opcode & OPCODE_TRANSPORT) != UD_OPCODES)
		return;
	deth = take(&rest, sizeof(*deth));
	frame->kind = deth ? FRAME_ROCE : FRAME_OTHER;
	frame->src_qpn = deth ? be24_get(deth->src_qpn) : FRAME_QPN_NONE;
	frame->qkey = deth ? be32_get(deth->qkey) : 0;
}

static void
read_igmp(struct rest rest, struct frame *frame)
{
	const uint8_t *type = rest.at;
	const struct igmp *igmp;

	if (rest.len == 0)
		return;
	frame->kind = *type == IGMP_QUERY ? FRAME_QUERY : FRAME_REPORT;
	igmp = take(&rest, sizeof(*igmp));
	if (igmp && (*type == IGMP_REPORT || *type == IGMP_LEAVE))
		frame->group = igmp->group;
	frame->is_leave = *type == IGMP_LEAVE;
}

static void
read_ipv4(struct rest rest, struct frame *frame)
{
	const struct uroce_ipv4 *ip = take(&rest, sizeof(*ip));
	const unsigned hdr_len = ip ? (ip->version_ihl & 0xfu) * 4 : 0;

	if (!ip || ip->version_ihl >> 4 != 4 || hdr_len < sizeof(*ip) ||
	    !take(&rest, hdr_len - (uint32_t)sizeof(*ip)) || be16_get(ip->frag) & IPV4_FRAGMENT)
		return;
	frame->sip = ip->src;
	frame->dip = ip->dst;
	if (ip->protocol == UROCE_IPPROTO_UDP)
		read_roce(rest, frame);
	else if (ip->protocol == PROTO_IGMP)
		read_igmp(rest, frame);
}

static void
read_solicit(struct rest rest, uint32_t len, struct frame *frame)
{
	const struct solicit *solicit = take(&rest, SOLICIT_BARE);

	if (!solicit || (len != SOLICIT_BARE && len != sizeof(*solicit)))
		return;
	if (len == sizeof(*solicit)) {
		if (!take(&rest, sizeof(*solicit) - SOLICIT_BARE) ||
		    solicit->opt_type != ND_OPT_SOURCE || solicit->opt_len != 1)
			return;
		frame->sender = solicit->mac;
	}
	frame->kind = FRAME_ASK;
}

static void
read_icmpv6(struct rest rest, uint32_t len, struct frame *frame)
{
	if (rest.len > 0 && rest.at[0] == ND_SOLICIT)
		read_solicit(rest, len, frame);
	else if (rest.len > 0 && rest.at[0] == ND_ADVERT)
		frame->kind = FRAME_ANSWER;
}

/*
 * Parse an MLD message behind the IPv6 header and 8 bytes of hop-by-hop options, which contain the
 * option Router Alert.
 */
static void
read_mld(struct rest rest, struct frame *frame)
{
	const uint8_t *options = take(&rest, 8);
	const uint8_t *type = take(&rest, 1);
	const struct mld_rest *mld;

	if (!options || !type || options[0] != PROTO_ICMPV6 || options[1] != 0)
		return;
	if (*type == MLD_QUERY)
		frame->kind = FRAME_QUERY;
	else if (*type == MLD_REPORT || *type == MLD_DONE || *type == MLD2_REPORT)
		frame->kind = FRAME_REPORT;
	mld = take(&rest, sizeof(*mld));
	if (mld && (*type == MLD_REPORT || *type == MLD_DONE))
		frame->group = mld->group;
	frame->is_leave = *type == MLD_DONE;
}

static void
read_ipv6(struct rest rest, struct frame *frame)
{
	const struct uroce_ipv6 *ip = take(&rest, sizeof(*ip));

	if (!ip || be32_get(ip->version_flow) >> 28 != 6)
		return;
	frame->is_ipv6 = true;
	frame->sip = ip->src;
	frame->dip = ip->dst;
	if (ip->next_header == UROCE_IPPROTO_UDP)
		read_roce(rest, frame);
	else if (ip->next_header == PROTO_ICMPV6)
		read_icmpv6(rest, be16_get(ip->payload_len), frame);
	else if (ip->next_header == PROTO_HOP_BY_HOP)
		read_mld(rest, frame);
}

void
frame_read(const uint8_t *bytes, uint32_t len, struct frame *frame)
{
	struct rest rest = { bytes, len };
	const struct uroce_eth *eth = take(&rest, sizeof(*eth));
	const struct uroce_vlan *vlan;
	uint16_t type;

	frame->kind = FRAME_OTHER;
	frame->bytes = bytes;
	frame->is_ipv6 = false;
	frame->vid = 0;
	frame->sender = NULL;
	frame->group = NULL;
	frame->src_qpn = FRAME_QPN_NONE;
	type = eth ? be16_get(eth->type) : 0;
	if (type == UROCE_ETHERTYPE_VLAN) {
		vlan = take(&rest, sizeof(*vlan));
		type = vlan ? be16_get(vlan->type) : 0;
		frame->vid = vlan ? be16_get(vlan->tci) & 0xfff : 0;
	}
	if (type == UROCE_ETHERTYPE_IPV4)
		read_ipv4(rest, frame);
	else if (type == UROCE_ETHERTYPE_IPV6)
		read_ipv6(rest, frame);
	else if (type == UROCE_ETHERTYPE_ARP)
		read_arp(rest, frame);
}

static bool
is_our_ip(const struct frame_host *host, const uint8_t *ip, bool is_ipv6)
{
	const unsigned nb = is_ipv6 ? host->nb_ip6 : host->nb_ip4;

	for (unsigned i = 0; i < nb; i++) {
		if (is_ipv6 ? memcmp(host->ip6[i], ip, 16) == 0 : memcmp(host->ip4[i], ip, 4) == 0)
			return true;
	}
	return false;
}

/*
 * Check whether a frame is a multicast report from the unspecified address. A host without a
 * link-local address sends MLD reports from the unspecified address [RFC 3590].
 */
static bool
is_anonymous_report(const struct frame *frame)
{
	static const uint8_t none[16];

	return frame->kind == FRAME_REPORT &&
	       memcmp(frame->sip, none, frame->is_ipv6 ? 16 : 4) == 0;
}

static bool
is_by_us(const struct frame *frame, const struct frame_host *host)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame->bytes;

	return memcmp(eth->src, host->mac, sizeof(host->mac)) == 0 && frame->vid == host->vid &&
	       (is_our_ip(host, frame->sip, frame->is_ipv6) || is_anonymous_report(frame)) &&
	       (!frame->sender || memcmp(frame->sender, host->mac, sizeof(host->mac)) == 0);
}

/*
 * Check whether the destination QPN of a frame fits its destination MAC: only frames with the
 * multicast QPN have a multicast MAC, and all of them have one.
 */
static bool
has_fitting_mac(const struct frame *frame)
{
	return (frame->qpn == FRAME_QPN_GROUP) == frame_is_to_group(frame);
}

/*
 * Check the QPNs of a RoCE frame that a client sends. QP 1 sends to QP 1 only, and no other QP
 * sends to QP 1. QP 0 does not exist in RoCE. Another function, which checks all source QPNs, finds
 * out whether the client has QP 1.
 */
static bool
may_leave(const struct frame *frame)
{
	if (frame->qpn == QPN_GSI || frame->src_qpn == QPN_GSI)
		return frame->qpn == frame->src_qpn && has_fitting_mac(frame);
	return frame->qpn != QPN_SMI && frame->src_qpn != QPN_SMI && has_fitting_mac(frame);
}

/* Check the destination QPN of a RoCE frame from the wire. Only datagrams are for QP 1. */
static bool
may_enter(const struct frame *frame)
{
	return frame->qpn != QPN_SMI && has_fitting_mac(frame) &&
	       (frame->qpn != QPN_GSI || !frame_is_connected(frame));
}

enum frame_drop
frame_filter_up(const struct frame *frame, const struct frame_host *host)
{
	switch (frame->kind) {
	case FRAME_ASK:
		if (host->is_udp)
			return FRAME_DROP_KIND;
		break;
	case FRAME_ROCE:
	case FRAME_REPORT:
		break;
	case FRAME_OTHER:
	case FRAME_ANSWER:
	case FRAME_QUERY:
		return FRAME_DROP_KIND;
	}
	if (!is_by_us(frame, host))
		return FRAME_DROP_SOURCE;
	/*
	 * a frame of a client that is not RoCE is an address request or a multicast report, and
	 * must be for other hosts
	 */
	if (frame->kind != FRAME_ROCE)
		return frame_is_to_us(frame, host) ? FRAME_DROP_KIND : FRAME_PASSES;
	return may_leave(frame) ? FRAME_PASSES : FRAME_DROP_MANAGEMENT;
}

enum frame_drop
frame_filter_wire(const struct frame *frame, const struct frame_host *host)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame->bytes;

	if (frame->kind == FRAME_REPORT)
		return FRAME_DROP_KIND;
	/*
	 * a frame from the wire with the source address of this host is dropped, since clients
	 * trust this address: the port has returned a frame of this host, or another host has
	 * forged the frame
	 */
	if (memcmp(eth->src, host->mac, sizeof(host->mac)) == 0 ||
	    (frame->kind != FRAME_OTHER && is_our_ip(host, frame->sip, frame->is_ipv6)))
		return FRAME_DROP_OUR_SOURCE;
	if (frame->vid != host->vid || !(frame_is_to_group(frame) || frame_is_to_us(frame, host)))
		return FRAME_DROP_NOT_OURS;
	if (frame->kind != FRAME_ROCE)
		return FRAME_PASSES;
	if (!frame_is_to_group(frame) && !is_our_ip(host, frame->dip, frame->is_ipv6))
		return FRAME_DROP_NOT_OURS;
	return may_enter(frame) ? FRAME_PASSES : FRAME_DROP_MANAGEMENT;
}
