/* SPDX-License-Identifier: BSD-3-Clause */

/* Parser and builder of the header of RDMA IP CM [IBA A11]. */

#include "cm/ip_header.h"

#include <assert.h>
#include <string.h>

#include "base/be.h"

struct ip_header {
	uint8_t cm_version; /* major version of RDMA IP CM:4 bits, minor version:4 bits */
	uint8_t ip_version; /* IP version:4 bits, reserved:4 bits */
	be16 src_port;
	uint8_t src[16];
	uint8_t dst[16];
};
static_assert(sizeof(struct ip_header) == UROCE_CM_IP_LEN, "IP header of RDMA IP CM is 36 bytes");

#define CM_VERSION       0
#define IP_VERSION_SHIFT 4

/*
 * Get the number of zero bytes before an IP address in its field of 16 bytes: 12 for IPv4, 0 for
 * IPv6.
 */
static size_t
address_from(uint8_t ip_version)
{
	return ip_version == 4 ? 12 : 0;
}

static void
copy_address(uint8_t ip_version, const uint8_t from[16], uint8_t to[16])
{
	const size_t begin = address_from(ip_version);

	memset(to, 0, begin);
	memcpy(to + begin, from + begin, 16 - begin);
}

enum uroce_cm_verdict
uroce_cm_ip_parse(const uint8_t bytes[UROCE_CM_IP_LEN], struct uroce_cm_ip *ip)
{
	const struct ip_header *header = (const struct ip_header *)bytes;
	const uint8_t ip_version = header->ip_version >> IP_VERSION_SHIFT;

	if (header->cm_version != CM_VERSION)
		return UROCE_CM_VERDICT_BAD_IP_CM_VERSION;
	if (ip_version != 4 && ip_version != 6)
		return UROCE_CM_VERDICT_BAD_IP_VERSION;
	memset(ip, 0, sizeof(*ip));
	ip->ip_version = ip_version;
	ip->src_port = be16_get(header->src_port);
	copy_address(ip_version, header->src, ip->src);
	copy_address(ip_version, header->dst, ip->dst);
	return UROCE_CM_VERDICT_ACCEPTED;
}

void
uroce_cm_ip_build(const struct uroce_cm_ip *ip, uint8_t bytes[UROCE_CM_IP_LEN])
{
	struct ip_header *header = (struct ip_header *)bytes;

	header->cm_version = CM_VERSION;
	header->ip_version = (uint8_t)(ip->ip_version << IP_VERSION_SHIFT);
	header->src_port = be16_make(ip->src_port);
	copy_address(ip->ip_version, ip->src, header->src);
	copy_address(ip->ip_version, ip->dst, header->dst);
}
