/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Building frames. The headers of a flow are written once, into the header template of its path.
 * Each packet gets a copy of the template, with the IP length, the UDP length and the IPv4 checksum
 * filled in. The checksum is a sum and the ICRC is linear, so the part of each that comes from the
 * template is constant. Only the part that comes from the lengths is computed for each packet.
 */

#include "wire/build.h"

#include <string.h>

#include "wire/icrc.h"

#define DEFAULT_HOP_LIMIT 64

/* Length of the headers that every header template has at least: Ethernet, IPv4, UDP, BTH. */
#define HDR_MIN                                                                                    \
	(sizeof(struct uroce_eth) + sizeof(struct uroce_ipv4) + sizeof(struct uroce_udp) +         \
	 sizeof(struct uroce_bth))

#define IPV6_MORE (sizeof(struct uroce_ipv6) - sizeof(struct uroce_ipv4))

static const uint8_t v4_mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool
uroce_ip_is_v4(const uint8_t ip[16])
{
	return memcmp(ip, v4_mapped, sizeof(v4_mapped)) == 0;
}

static uint32_t
sum_ipv4(const struct uroce_ipv4 *ip)
{
	const be16 *word = (const be16 *)ip;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*ip) / sizeof(*word); i++)
		sum += be16_get(word[i]);
	return sum;
}

static be16
fold_checksum(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return be16_make((uint16_t)~sum);
}

static uint8_t *
init_eth(uint8_t *at, const struct uroce_path_conf *conf, uint16_t type)
{
	struct uroce_eth *eth = (struct uroce_eth *)at;
	struct uroce_vlan *vlan = (struct uroce_vlan *)(eth + 1);

	memcpy(eth->dst, conf->dmac, sizeof(eth->dst));
	memcpy(eth->src, conf->smac, sizeof(eth->src));
	if (!conf->has_vlan) {
		eth->type = be16_make(type);
		return (uint8_t *)(eth + 1);
	}
	eth->type = be16_make(UROCE_ETHERTYPE_VLAN);
	vlan->tci = be16_make(conf->vlan_tci);
	vlan->type = be16_make(type);
	return (uint8_t *)(vlan + 1);
}

static uint8_t *
init_ipv4(uint8_t *at, const struct uroce_path_conf *conf, uint8_t hop_limit)
{
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)at;

	*ip = (struct uroce_ipv4){
		.version_ihl = 4 << 4 | sizeof(*ip) / 4,
		.tos = conf->tclass,
		.frag = be16_make(UROCE_IPV4_DF),
		.ttl = hop_limit,
		.protocol = UROCE_IPPROTO_UDP,
	};
	memcpy(ip->src, conf->sip + sizeof(v4_mapped), sizeof(ip->src));
	memcpy(ip->dst, conf->dip + sizeof(v4_mapped), sizeof(ip->dst));
	return (uint8_t *)(ip + 1);
}

static uint8_t *
init_ipv6(uint8_t *at, const struct uroce_path_conf *conf, uint8_t hop_limit)
{
	struct uroce_ipv6 *ip = (struct uroce_ipv6 *)at;

	*ip = (struct uroce_ipv6){
		.version_flow = be32_make(6u << 28 | (uint32_t)conf->tclass << 20 |
					  (conf->flow_label & 0xfffff)),
		.next_header = UROCE_IPPROTO_UDP,
		.hop_limit = hop_limit,
	};
	memcpy(ip->src, conf->sip, sizeof(ip->src));
	memcpy(ip->dst, conf->dip, sizeof(ip->dst));
	return (uint8_t *)(ip + 1);
}

void
uroce_path_init(struct uroce_path *path, const struct uroce_path_conf *conf)
{
	const uint8_t hop_limit = conf->hop_limit ? conf->hop_limit : DEFAULT_HOP_LIMIT;
	const bool is_ipv6 = !uroce_ip_is_v4(conf->dip);
	uint8_t *ip, *udp;

	*path = (struct uroce_path){ .is_ipv6 = is_ipv6 };
	ip = init_eth(path->hdr, conf, is_ipv6 ? UROCE_ETHERTYPE_IPV6 : UROCE_ETHERTYPE_IPV4);
	udp = is_ipv6 ? init_ipv6(ip, conf, hop_limit) : init_ipv4(ip, conf, hop_limit);
	path->ip_off = (uint8_t)(ip - path->hdr);
	path->udp_off = (uint8_t)(udp - path->hdr);
	path->bth_off = (uint8_t)(path->udp_off + sizeof(struct uroce_udp));
	path->hdr_len = (uint8_t)(path->bth_off + sizeof(struct uroce_bth));
	((struct uroce_udp *)udp)->sport = be16_make(conf->udp_sport);
	((struct uroce_udp *)udp)->dport = be16_make(UROCE_UDP_PORT);
	((struct uroce_bth *)(path->hdr + path->bth_off))->flags = UROCE_BTH_MIGREQ;
	path->icrc_base = uroce_icrc_prefix(ip);
	path->ip_sum_base = is_ipv6 ? 0 : sum_ipv4((const struct uroce_ipv4 *)ip);
}

uint8_t
uroce_path_tclass(const struct uroce_path *path)
{
	const uint8_t *ip = path->hdr + path->ip_off;

	if (path->is_ipv6)
		return (uint8_t)(be32_get(((const struct uroce_ipv6 *)ip)->version_flow) >> 20);
	return ((const struct uroce_ipv4 *)ip)->tos;
}

void
uroce_path_set_tclass(struct uroce_path *path, uint8_t tclass)
{
	uint8_t *at = path->hdr + path->ip_off;

	/*
	 * The ICRC is computed with ones in place of the traffic class. So the precomputed ICRC
	 * state of the path stays valid, and only the sum for the IPv4 checksum changes.
	 */
	if (path->is_ipv6) {
		struct uroce_ipv6 *ip = (struct uroce_ipv6 *)at;

		ip->version_flow = be32_make((be32_get(ip->version_flow) & 0xf00fffff) |
					     (uint32_t)tclass << 20);
	} else {
		struct uroce_ipv4 *ip = (struct uroce_ipv4 *)at;

		path->ip_sum_base += (uint32_t)tclass - ip->tos;
		ip->tos = tclass;
	}
}

/*
 * Copy the header template in pieces of constant length, for which the compiler emits moves. For a
 * length that is only known to be small, gcc emits a `rep movs`, which is much slower.
 */
static void
copy_hdr(const struct uroce_path *path, uint8_t *hdr)
{
	const size_t vlan_len = sizeof(struct uroce_vlan);
	const size_t rest = path->hdr_len - vlan_len;

	memcpy(hdr, path->hdr, HDR_MIN);
	if (path->is_ipv6)
		memcpy(hdr + HDR_MIN, path->hdr + HDR_MIN, IPV6_MORE);
	memcpy(hdr + rest, path->hdr + rest, vlan_len);
}

/*
 * Write the IP and UDP lengths and, for IPv4, the header checksum into the headers at `hdr`.
 * @return CRC state of the ICRC after the UDP header (see icrc.h)
 */
static uint32_t
put_len(const struct uroce_path *path, uint8_t *hdr, uint32_t udp_payload_len)
{
	const uint16_t udp_len = (uint16_t)(sizeof(struct uroce_udp) + udp_payload_len);
	uint8_t *ip = hdr + path->ip_off;

	if (path->is_ipv6) {
		((struct uroce_ipv6 *)ip)->payload_len = be16_make(udp_len);
	} else {
		const uint16_t total_len = (uint16_t)(sizeof(struct uroce_ipv4) + udp_len);

		((struct uroce_ipv4 *)ip)->total_len = be16_make(total_len);
		((struct uroce_ipv4 *)ip)->checksum = fold_checksum(path->ip_sum_base + total_len);
	}
	((struct uroce_udp *)(hdr + path->udp_off))->len = be16_make(udp_len);
	return path->icrc_base ^ uroce_icrc_len_term(path->is_ipv6, udp_len);
}

struct uroce_bth *
uroce_path_put(const struct uroce_path *path, uint8_t *hdr, uint32_t udp_payload_len,
	       uint32_t *icrc)
{
	copy_hdr(path, hdr);
	*icrc = put_len(path, hdr, udp_payload_len);
	return (struct uroce_bth *)(hdr + path->bth_off);
}

uint32_t
uroce_path_set_len(struct uroce_path *path, uint32_t udp_payload_len)
{
	return put_len(path, path->hdr, udp_payload_len);
}
