/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_FRAME_H
#define UROCE_DATAPATH_UDP_FRAME_H

/**
 * @file
 * Frames of received datagrams: the headers that the kernel has taken away are written again.
 */

#include "datapath/udp/udp_queue.h"

/** What the control messages of a received message say. */
struct uroce_udp_arrival {
	struct sockaddr_in6 from; /* or a struct sockaddr_in */
	uint8_t dest[16];         /* destination address, in network form of the family */
	uint8_t tclass;
	uint8_t ttl;
	uint32_t segment_len; /* length of each datagram but the last; 0: there is one datagram */
	uint32_t len;         /* length of the message */
};

/** Make the headers of the datagrams of a message, without lengths and checksum. */
void uroce_udp_make_origin(const struct uroce_port *port, bool is_ipv6,
			   const struct uroce_udp_arrival *arrival,
			   struct uroce_udp_origin *origin);

/**
 * Complete a frame whose datagram is in its place: write the headers and the lengths.
 * @param len  length of the datagram
 */
void uroce_udp_finish_frame(const struct uroce_udp_origin *origin, struct rte_mbuf *frame,
			    uint32_t len);

#endif /* UROCE_DATAPATH_UDP_FRAME_H */
