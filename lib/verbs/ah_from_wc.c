/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles for the response to a received datagram. The sender's address is in the 40 bytes
 * (struct ibv_grh) in front of the received payload. These 40 bytes are an IPv6 header, or 20
 * undefined bytes followed by an IPv4 header [IBA A17.4.5].
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "datapath/net/gid.h"
#include "verbs/object.h"
#include "verbs/uroce.h"
#include "wire/hdr.h"

#define IPV4_AT         (sizeof(struct ibv_grh) - sizeof(struct uroce_ipv4))
#define IPV4_NO_OPTIONS 0x45
#define FLOW_LABEL_MASK 0xfffff

static_assert(sizeof(struct ibv_grh) == sizeof(struct uroce_ipv6), "a GRH is an IPv6 header");

/* Fields of the received IP header. IPv4 addresses are in their IPv4-mapped form of 16 bytes. */
struct origin {
	uint8_t src[16], dst[16];
	uint32_t flow_label;
	uint8_t tclass, hop_limit;
	uint8_t protocol;
};

/*
 * Whether the checksum of an IPv4 header is correct: the one's complement sum of all 16-bit words
 * of a valid header is 0xffff [RFC 1071].
 */
static bool
has_good_checksum(const struct uroce_ipv4 *ip)
{
	be16 words[sizeof(*ip) / 2];
	uint32_t sum = 0;

	memcpy(words, ip, sizeof(words));
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum += be16_get(words[i]);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static void
map_ipv4(const uint8_t ip[4], uint8_t mapped[16])
{
	memset(mapped, 0, 10);
	memset(mapped + 10, 0xff, 2);
	memcpy(mapped + 12, ip, 4);
}

static void
read_ipv4(const struct uroce_ipv4 *ip, struct origin *from)
{
	*from = (struct origin){
		.tclass = ip->tos,
		.hop_limit = ip->ttl,
		.protocol = ip->protocol,
	};
	map_ipv4(ip->src, from->src);
	map_ipv4(ip->dst, from->dst);
}

static void
read_ipv6(const struct uroce_ipv6 *ip, struct origin *from)
{
	const uint32_t word = be32_get(ip->version_flow);

	*from = (struct origin){
		.flow_label = word & FLOW_LABEL_MASK,
		.tclass = (uint8_t)(word >> 20),
		.hop_limit = ip->hop_limit,
		.protocol = ip->next_header,
	};
	memcpy(from->src, ip->src, sizeof(from->src));
	memcpy(from->dst, ip->dst, sizeof(from->dst));
}

/*
 * Read the received IP header. Whether it is an IPv4 or an IPv6 header can be ambiguous. The end of
 * an address in an IPv6 header may look like the start of an IPv4 header. The 20 undefined bytes in
 * front of an IPv4 header may look like the start of an IPv6 header. If both versions are possible,
 * the checksum of the IPv4 header decides.
 * @return false: the bytes are no IP header
 */
static bool
read_header(const struct ibv_grh *grh, struct origin *from)
{
	struct uroce_ipv4 ipv4;
	struct uroce_ipv6 ipv6;

	memcpy(&ipv4, (const uint8_t *)grh + IPV4_AT, sizeof(ipv4));
	memcpy(&ipv6, grh, sizeof(ipv6));
	const bool is_like_ipv4 = ipv4.version_ihl == IPV4_NO_OPTIONS;
	const bool is_like_ipv6 = be32_get(ipv6.version_flow) >> 28 == 6;

	if (is_like_ipv4 && (!is_like_ipv6 || has_good_checksum(&ipv4)))
		read_ipv4(&ipv4, from);
	else if (is_like_ipv6)
		read_ipv6(&ipv6, from);
	else
		return false;
	return true;
}

/*
 * Compute the traffic class of the response to a datagram. If the ECN field of the datagram is CE,
 * the response gets ECT(0), because a switch and not the sender has set CE.
 */
static uint8_t
clear_ecn(uint8_t tclass)
{
	const bool is_marked = (tclass & UROCE_ECN_MASK) == UROCE_ECN_CE;

	return is_marked ? (uint8_t)((tclass & ~UROCE_ECN_MASK) | UROCE_ECN_ECT0) : tclass;
}

/*
 * Compute the address vector of a reply to the sender of the received header `grh`.
 * @return 0, or a positive errno
 */
static int
make_reply_attr(struct uroce_dev *dev, const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct uroce_gid_table gids;
	struct origin from;
	int idx;

	if (!read_header(grh, &from))
		return EINVAL;
	if (from.protocol != IPPROTO_UDP)
		return EPROTONOSUPPORT;
	uroce_gid_copy(dev, &gids);
	idx = uroce_gid_find(&gids, from.dst);
	if (idx < 0)
		return EINVAL;
	attr->is_global = 1;
	attr->grh = (struct ibv_global_route){
		.flow_label = from.flow_label,
		.sgid_index = (uint8_t)idx,
		.hop_limit = from.hop_limit,
		.traffic_class = clear_ecn(from.tclass),
	};
	memcpy(attr->grh.dgid.raw, from.src, sizeof(attr->grh.dgid.raw));
	return 0;
}

int
uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
		      struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	struct ibv_ah_attr attr;
	int ret = 0;

	if (context == NULL || port_num != 1 || wc == NULL || ah_attr == NULL ||
	    ((wc->wc_flags & IBV_WC_GRH) && grh == NULL)) {
		errno = EINVAL;
		return -1;
	}
	attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port_num,
	};
	if (wc->wc_flags & IBV_WC_GRH)
		ret = make_reply_attr(uroce_vcontext_dev(context), grh, &attr);
	if (ret != 0) {
		errno = ret;
		return -1;
	}
	*ah_attr = attr;
	return 0;
}

struct ibv_ah *
uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (pd == NULL) {
		errno = EINVAL;
		return NULL;
	}
	if (uroce_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
		return NULL;
	return uroce_create_ah(pd, &attr);
}
