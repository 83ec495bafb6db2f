/* SPDX-License-Identifier: BSD-3-Clause */

/* Parsers of numbers and addresses in the configuration string of a device. */

#include "datapath/device/conf_value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/build.h"

#define V4_PREFIX_BASE 96 /* length of the common prefix ::ffff:0:0/96 of IPv4-mapped addresses */

int
uroce_conf_value_number(const char *text, unsigned long min, unsigned long max,
			unsigned long *number)
{
	char *end;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return -EINVAL;
	*number = value;
	return 0;
}

int
uroce_conf_value_ip(const char *text, bool has_loopback, uint8_t ip[16])
{
	uint8_t v4[4];

	memset(ip, 0, 16);
	if (inet_pton(AF_INET, text, v4) == 1) {
		/* Refuse the ranges this-network (0/8), loopback, multicast and reserved. */
		if (v4[0] == 0 || (v4[0] == 127 && !has_loopback) || v4[0] >= 224)
			return -EINVAL;
		ip[10] = ip[11] = 0xff;
		memcpy(ip + 12, v4, sizeof(v4));
		return 0;
	}
	if (inet_pton(AF_INET6, text, ip) != 1)
		return -EINVAL;
	if (ip[0] == 0xff || IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)ip) ||
	    (IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)ip) && !has_loopback) ||
	    uroce_ip_is_v4(ip))
		return -EINVAL;
	return 0;
}

/*
 * Parse the length of the network prefix of an address. For the port `udp` the length may be
 * missing, because the kernel has the routes. A missing length is read as the length of the whole
 * address.
 * @param text  the length as a decimal number; NULL: none is given
 */
static int
parse_prefix_len(const char *text, bool is_needed, struct uroce_addr *addr)
{
	const bool is_v4 = uroce_ip_is_v4(addr->ip);
	unsigned long len = is_v4 ? 32 : 128;

	if (text ? uroce_conf_value_number(text, 1, len, &len) < 0 : is_needed)
		return -EINVAL;
	addr->prefix_len = (uint8_t)(len + (is_v4 ? V4_PREFIX_BASE : 0));
	return 0;
}

int
uroce_conf_value_addr(const char *value, bool is_udp, struct uroce_addr *addr)
{
	const size_t text_len = strcspn(value, "/");
	const char *prefix = value[text_len] ? value + text_len + 1 : NULL;
	struct uroce_addr parsed;
	char text[INET6_ADDRSTRLEN];

	if (text_len >= sizeof(text))
		return -EINVAL;
	memcpy(text, value, text_len);
	text[text_len] = '\0';
	if (uroce_conf_value_ip(text, is_udp, parsed.ip) < 0 ||
	    parse_prefix_len(prefix, !is_udp, &parsed) < 0)
		return -EINVAL;
	*addr = parsed;
	return 0;
}
