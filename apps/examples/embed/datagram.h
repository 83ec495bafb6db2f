/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EXAMPLES_EMBED_DATAGRAM_H
#define APPS_EXAMPLES_EMBED_DATAGRAM_H

/**
 * @file
 * The traffic of the application itself: UDP datagrams that one host sends to another one, which
 * echoes them.
 */

#include <stdbool.h>
#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

/** UDP port of the datagrams that the receiver has to echo. */
#define ECHO_PORT 7

struct datagram {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	rte_be16_t number; /* number of the datagram, which the sender chooses */
	char text[30];
};

/** The addresses of a datagram. */
struct datagram_path {
	struct rte_ether_addr src_mac, dst_mac;
	rte_be32_t src_ip, dst_ip;
};

/**
 * Make a datagram in an mbuf of a pool.
 * @return the frame, which the caller owns; NULL if the pool is empty
 */
static inline struct rte_mbuf *
datagram_make(struct rte_mempool *pool, const struct datagram_path *path, uint16_t number)
{
	const uint16_t ip_len = sizeof(struct datagram) - sizeof(struct rte_ether_hdr);
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);

	if (!frame)
		return NULL;
	struct datagram *datagram = (void *)rte_pktmbuf_append(frame, sizeof(*datagram));

	*datagram = (struct datagram){
		.eth = {
			.src_addr = path->src_mac,
			.dst_addr = path->dst_mac,
			.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4),
		},
		.ip = {
			.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16(ip_len),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_UDP,
			.src_addr = path->src_ip,
			.dst_addr = path->dst_ip,
		},
		.udp = {
			.src_port = RTE_BE16(1024),
			.dst_port = RTE_BE16(ECHO_PORT),
			.dgram_len = rte_cpu_to_be_16(ip_len - sizeof(struct rte_ipv4_hdr)),
		},
		.number = rte_cpu_to_be_16(number),
		.text = "who is there?",
	};
	datagram->ip.hdr_checksum = rte_ipv4_cksum(&datagram->ip);
	return frame;
}

/**
 * Get the datagram in a frame.
 * @return NULL if the frame is not a UDP datagram over IPv4, or is too short
 */
static inline struct datagram *
datagram_of(struct rte_mbuf *frame)
{
	struct datagram *datagram = rte_pktmbuf_mtod(frame, struct datagram *);

	if (frame->data_len < sizeof(*datagram) ||
	    datagram->eth.ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
	    datagram->ip.next_proto_id != IPPROTO_UDP)
		return NULL;
	return datagram;
}

/**
 * Whether a datagram is a request, which the receiver has to echo. All other datagrams are echoes.
 */
static inline bool
datagram_is_request(const struct datagram *datagram)
{
	return datagram->udp.dst_port == RTE_BE16(ECHO_PORT);
}

/**
 * Make an echo of a datagram: swap its addresses and ports. The checksums stay valid, because a sum
 * does not depend on the order of the addresses and ports.
 */
static inline void
datagram_turn_round(struct datagram *datagram)
{
	RTE_SWAP(datagram->eth.src_addr, datagram->eth.dst_addr);
	RTE_SWAP(datagram->ip.src_addr, datagram->ip.dst_addr);
	RTE_SWAP(datagram->udp.src_port, datagram->udp.dst_port);
}

#endif /* APPS_EXAMPLES_EMBED_DATAGRAM_H */
