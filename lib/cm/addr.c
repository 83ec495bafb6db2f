/* SPDX-License-Identifier: BSD-3-Clause */

/* Conversions between IP addresses and GIDs. */

#include "cm/addr.h"

#include <string.h>

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

struct uroce_cm_addr
uroce_cm_addr_of_gid(const uint8_t gid[16])
{
	const bool is_ipv4 = !memcmp(gid, ipv4_prefix, sizeof(ipv4_prefix));
	struct uroce_cm_addr addr = { .ip_version = is_ipv4 ? 4 : 6 };

	if (is_ipv4)
		memcpy(addr.ip + 12, gid + 12, 4);
	else
		memcpy(addr.ip, gid, 16);
	return addr;
}

bool
uroce_cm_addr_is_of_gid(const struct uroce_cm_addr *addr, const uint8_t gid[16])
{
	const struct uroce_cm_addr of_gid = uroce_cm_addr_of_gid(gid);

	return addr->ip_version == of_gid.ip_version && !memcmp(addr->ip, of_gid.ip, 16);
}
