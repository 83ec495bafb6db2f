/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversions between the forms of an address, and functions that determine the kind of an address.
 */

#include "verbs/cm/sockaddr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define IPV4_AT 12 /* offset of an IPv4 address in the 16 bytes of an IP address */

static const uint8_t mapped_prefix[IPV4_AT] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

int
uroce_vcm_sockaddr_parse(const struct sockaddr *sa, struct uroce_cm_addr *addr, uint32_t *scope)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	*scope = 0;
	if (sa->sa_family == AF_INET) {
		memcpy(&sin, sa, sizeof(sin));
		*addr = (struct uroce_cm_addr){ .ip_version = 4, .port = ntohs(sin.sin_port) };
		memcpy(addr->ip + IPV4_AT, &sin.sin_addr, 4);
		return 0;
	}
	if (sa->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	memcpy(&sin6, sa, sizeof(sin6));
	uroce_vcm_addr_from_gid(sin6.sin6_addr.s6_addr, ntohs(sin6.sin6_port), addr);
	if (addr->ip_version == 6)
		*scope = sin6.sin6_scope_id;
	return 0;
}

void
uroce_vcm_sockaddr_put(struct sockaddr_storage *sa, const struct uroce_cm_addr *addr,
		       uint32_t scope)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(addr->port) };
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(addr->port),
		.sin6_scope_id = uroce_vcm_addr_is_link_local(addr) ? scope : 0,
	};

	memset(sa, 0, sizeof(*sa));
	if (addr->ip_version == 4) {
		memcpy(&sin.sin_addr, addr->ip + IPV4_AT, 4);
		memcpy(sa, &sin, sizeof(sin));
	} else if (addr->ip_version == 6) {
		memcpy(&sin6.sin6_addr, addr->ip, 16);
		memcpy(sa, &sin6, sizeof(sin6));
	}
}

socklen_t
uroce_vcm_sockaddr_len(int family)
{
	if (family == AF_INET)
		return sizeof(struct sockaddr_in);
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

__be16
uroce_vcm_sockaddr_port(const struct sockaddr *sa)
{
	/* the port is at the same offset in struct sockaddr_in and struct sockaddr_in6 */
	struct sockaddr_in sin;

	if (uroce_vcm_sockaddr_len(sa->sa_family) == 0)
		return 0;
	memcpy(&sin, sa, sizeof(sin));
	return sin.sin_port;
}

void
uroce_vcm_addr_to_gid(const struct uroce_cm_addr *addr, union ibv_gid *gid)
{
	memcpy(gid->raw, addr->ip, 16);
	if (addr->ip_version == 4)
		memcpy(gid->raw, mapped_prefix, IPV4_AT);
}

void
uroce_vcm_addr_from_gid(const uint8_t gid[16], uint16_t port, struct uroce_cm_addr *addr)
{
	const bool is_v4 = memcmp(gid, mapped_prefix, IPV4_AT) == 0;

	*addr = (struct uroce_cm_addr){ .ip_version = is_v4 ? 4 : 6, .port = port };
	if (is_v4)
		memcpy(addr->ip + IPV4_AT, gid + IPV4_AT, 4);
	else
		memcpy(addr->ip, gid, 16);
}

bool
uroce_vcm_addr_is_any(const struct uroce_cm_addr *addr)
{
	static const uint8_t any[16];

	return memcmp(addr->ip, any, sizeof(any)) == 0;
}

bool
uroce_vcm_addr_is_loopback(const struct uroce_cm_addr *addr)
{
	if (addr->ip_version == 4)
		return addr->ip[IPV4_AT] == 127;
	return memcmp(addr->ip, &in6addr_loopback, 16) == 0;
}

bool
uroce_vcm_addr_is_link_local(const struct uroce_cm_addr *addr)
{
	return addr->ip_version == 6 && addr->ip[0] == 0xfe && (addr->ip[1] & 0xc0) == 0x80;
}

bool
uroce_vcm_addr_is_group(const struct uroce_cm_addr *addr)
{
	if (addr->ip_version == 4)
		return (addr->ip[IPV4_AT] & 0xf0) == 0xe0;
	return addr->ip[0] == 0xff;
}
