/* SPDX-License-Identifier: BSD-3-Clause */
#include "address.h"

#include <string.h>
#include <infiniband/ib.h>

static const struct {
	sa_family_t family;
	size_t len;
} families[] = {
	{ AF_INET, sizeof(struct sockaddr_in) },
	{ AF_INET6, sizeof(struct sockaddr_in6) },
	{ AF_IB, sizeof(struct sockaddr_ib) },
};

static sa_family_t
family_of(const void *addr)
{
	sa_family_t family;

	memcpy(&family, addr, sizeof(family));
	return family;
}

size_t
address_len(const void *addr, size_t room)
{
	const sa_family_t family = family_of(addr);

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (families[i].family == family)
			return families[i].len <= room ? families[i].len : 0;
	return 0;
}

void
address_gid(const void *addr, uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *const bytes = addr;

	memset(gid, 0, 16);
	if (family_of(addr) == AF_INET) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + sizeof(mapped), bytes + offsetof(struct sockaddr_in, sin_addr), 4);
	} else if (family_of(addr) == AF_INET6) {
		memcpy(gid, bytes + offsetof(struct sockaddr_in6, sin6_addr), 16);
	}
}

uint16_t
address_port(const void *addr)
{
	const sa_family_t family = family_of(addr);
	struct sockaddr_in ip;

	/* the port is at the same offset in struct sockaddr_in and struct sockaddr_in6 */
	if (family != AF_INET && family != AF_INET6)
		return 0;
	memcpy(&ip, addr, sizeof(ip));
	return ntohs(ip.sin_port);
}
