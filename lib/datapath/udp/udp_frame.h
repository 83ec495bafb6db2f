/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_FRAME_H
#define UROCE_DATAPATH_UDP_FRAME_H

/**
 * @file
 * Ethernet frames of received UDP datagrams. The kernel delivers a datagram without its headers, so
 * these functions write headers in front of the datagram.
 */

#include "datapath/udp/udp_queue.h"

/**
 * The properties of a received message, which is one datagram, or several that the kernel delivered
 * together (UDP_GRO). Most of the properties are in control messages of recvmsg().
 */
struct uroce_udp_arrival {
	struct sockaddr_in6 from; /* source address; for IPv4 a struct sockaddr_in */
	/* destination address in wire order: 4 bytes for IPv4, 16 for IPv6 */
	uint8_t dest[16];
	uint8_t tclass;
	uint8_t ttl;
	/* length in bytes of each datagram but the last; `len` if the message has one datagram */
	uint32_t segment_len;
	uint32_t len; /* length of the message in bytes */
};

/** Write the headers that all datagrams of a message get, without lengths and checksum. */
void uroce_udp_make_origin(const struct uroce_port *port, bool is_ipv6,
			   const struct uroce_udp_arrival *arrival,
			   struct uroce_udp_origin *origin);

/**
 * Complete a frame whose mbuf contains the datagram already: write the headers and the lengths.
 * @param len  length of the datagram
 */
void uroce_udp_finish_frame(const struct uroce_udp_origin *origin, struct rte_mbuf *frame,
			    uint32_t len);

#endif /* UROCE_DATAPATH_UDP_FRAME_H */
