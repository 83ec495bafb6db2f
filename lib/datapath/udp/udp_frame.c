/* SPDX-License-Identifier: BSD-3-Clause */

#include "datapath/udp/udp_frame.h"

#include <string.h>
#include <rte_ip.h>

#include "datapath/net/igmp_mld.h"
#include "transport/mcast.h"
#include "wire/parse.h"

static void
write_ipv4(const struct uroce_udp_arrival *arrival, struct uroce_udp_origin *origin)
{
	const struct sockaddr_in *from = (const struct sockaddr_in *)&arrival->from;
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)(origin->hdr + sizeof(struct uroce_eth));

	*ip = (struct uroce_ipv4){
		.version_ihl = 0x45,
		.tos = arrival->tclass,
		.frag = be16_make(UROCE_IPV4_DF),
		.ttl = arrival->ttl,
		.protocol = UROCE_IPPROTO_UDP,
	};
	memcpy(ip->src, &from->sin_addr, sizeof(ip->src));
	memcpy(ip->dst, arrival->dest, sizeof(ip->dst));
	origin->hdr_len = sizeof(struct uroce_eth) + sizeof(*ip) + sizeof(struct uroce_udp);
}

static void
write_ipv6(const struct uroce_udp_arrival *arrival, struct uroce_udp_origin *origin)
{
	struct uroce_ipv6 *ip = (struct uroce_ipv6 *)(origin->hdr + sizeof(struct uroce_eth));

	*ip = (struct uroce_ipv6){
		.version_flow = be32_make(UINT32_C(6) << 28 | (uint32_t)arrival->tclass << 20),
		.next_header = UROCE_IPPROTO_UDP,
		.hop_limit = arrival->ttl,
	};
	memcpy(ip->src, &arrival->from.sin6_addr, sizeof(ip->src));
	memcpy(ip->dst, arrival->dest, sizeof(ip->dst));
	origin->hdr_len = sizeof(struct uroce_eth) + sizeof(*ip) + sizeof(struct uroce_udp);
}

/* Write the destination MAC of a frame: the MAC of the port, or that of the multicast group. */
static void
write_dmac(const struct uroce_port *port, bool is_ipv6, const uint8_t *dest, uint8_t mac[6])
{
	uint8_t gid[16] = { [10] = 0xff, 0xff };

	memcpy(is_ipv6 ? gid : gid + 12, dest, is_ipv6 ? 16 : 4);
	if (uroce_gid_is_multicast(gid))
		uroce_mcast_group_mac(gid, mac);
	else
		memcpy(mac, port->mac, sizeof(port->mac));
}

void
uroce_udp_make_origin(const struct uroce_port *port, bool is_ipv6,
		      const struct uroce_udp_arrival *arrival, struct uroce_udp_origin *origin)
{
	struct uroce_eth *eth = (struct uroce_eth *)origin->hdr;
	struct uroce_udp *udp;

	origin->is_ipv6 = is_ipv6;
	write_dmac(port, is_ipv6, arrival->dest, eth->dst);
	memcpy(eth->src, uroce_udp_peer_mac, sizeof(eth->src));
	eth->type = be16_make(is_ipv6 ? UROCE_ETHERTYPE_IPV6 : UROCE_ETHERTYPE_IPV4);
	if (is_ipv6)
		write_ipv6(arrival, origin);
	else
		write_ipv4(arrival, origin);
	udp = (struct uroce_udp *)(origin->hdr + origin->hdr_len - sizeof(*udp));
	/* the UDP port has the same offset in struct sockaddr_in and in struct sockaddr_in6 */
	*udp = (struct uroce_udp){ .sport = be16_make(ntohs(arrival->from.sin6_port)),
				   .dport = be16_make(UROCE_UDP_PORT) };
}

void
uroce_udp_finish_frame(const struct uroce_udp_origin *origin, struct rte_mbuf *frame, uint32_t len)
{
	uint8_t *const at = rte_pktmbuf_mtod(frame, uint8_t *);
	struct uroce_udp *udp = (struct uroce_udp *)(at + origin->hdr_len - sizeof(*udp));
	const uint16_t udp_len = (uint16_t)(len + sizeof(*udp));
	struct uroce_ipv4 *ipv4 = (struct uroce_ipv4 *)(at + sizeof(struct uroce_eth));
	struct uroce_ipv6 *ipv6 = (struct uroce_ipv6 *)ipv4;
	uint16_t checksum;

	memcpy(at, origin->hdr, origin->hdr_len);
	udp->len = be16_make(udp_len);
	if (origin->is_ipv6) {
		ipv6->payload_len = be16_make(udp_len);
	} else {
		ipv4->total_len = be16_make((uint16_t)(udp_len + sizeof(*ipv4)));
		checksum = (uint16_t)~rte_raw_cksum(ipv4, sizeof(*ipv4));
		memcpy(&ipv4->checksum, &checksum, sizeof(checksum));
	}
	frame->data_len = (uint16_t)(origin->hdr_len + len);
	frame->pkt_len = frame->data_len;
}
