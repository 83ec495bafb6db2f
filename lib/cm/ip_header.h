/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_IP_HEADER_H
#define UROCE_CM_IP_HEADER_H

/**
 * @file
 * Header of RDMA IP CM: the IP addresses and the source port of a connection [IBA A11]. The header
 * is at the beginning of the private data of a REQ and of a SIDR_REQ. The consumer's private data
 * follows the header. The destination port is in the service ID (cm/service_id.h).
 *
 * | major:4 | minor:4 | ip version:4 | resv:4 |  source port:16  | |  source address:128  | 
 * destination address:128  |
 *
 * An IPv4 address is in the last four of its 16 bytes; the twelve bytes before are zero.
 */

#include <stdint.h>

#include "cm/verdict.h"

#define UROCE_CM_IP_LEN 36u

struct uroce_cm_ip {
	uint8_t ip_version; /* IP version of the addresses: 4 or 6 */
	uint16_t src_port;
	/*
	 * source address as on the wire; an IPv4 address is in bytes 12 to 15, after twelve zero
	 * bytes
	 */
	uint8_t src[16];
	uint8_t dst[16];
};

/**
 * Parse the header of RDMA IP CM. The reserved bits and, for IPv4, the twelve bytes before each
 * address are ignored.
 * @param[out] ip  filled if the header is accepted; bytes that no field uses are zero
 * @return UROCE_CM_VERDICT_ACCEPTED, BAD_IP_CM_VERSION or BAD_IP_VERSION
 */
enum uroce_cm_verdict uroce_cm_ip_parse(const uint8_t bytes[UROCE_CM_IP_LEN],
					struct uroce_cm_ip *ip);

/** Build the header of RDMA IP CM. `ip` must be a header that the parser would return. */
void uroce_cm_ip_build(const struct uroce_cm_ip *ip, uint8_t bytes[UROCE_CM_IP_LEN]);

#endif /* UROCE_CM_IP_HEADER_H */
