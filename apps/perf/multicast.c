/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses multicast groups, and parses the argument of --MGID. */

#include "multicast.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* the default group of IPv4: 239.255.85.82 is of the organization-local scope [RFC 2365] */
static const uint8_t group_ipv4[16] = { [10] = 0xff, [11] = 0xff, 239, 255, 85, 82 };
/* the default group of IPv6: ff15::5552 is a transient group of the site-local scope [RFC 4291] */
static const uint8_t group_ipv6[16] = { 0xff, 0x15, [14] = 0x55, [15] = 0x52 };

/*
 * Parse a group in the form of perftest: 16 numbers, separated by colons, such as 255:1:0: ... :0.
 */
static bool
parse_numbers(const char *text, uint8_t raw[16])
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned number;
		int len;

		if (sscanf(text, "%u%n", &number, &len) != 1 || number > UINT8_MAX ||
		    text[len] != (i < 15 ? ':' : '\0'))
			return false;
		raw[i] = (uint8_t)number;
		text += len + 1;
	}
	return true;
}

static bool
parse_group(const char *text, uint8_t raw[16])
{
	if (parse_numbers(text, raw) || inet_pton(AF_INET6, text, raw) == 1)
		return true;
	memcpy(raw, group_ipv4, 12);
	return inet_pton(AF_INET, text, raw + 12) == 1;
}

static bool
is_group(const uint8_t raw[16])
{
	return raw[0] == 0xff || (memcmp(raw, group_ipv4, 12) == 0 && (raw[12] & 0xf0) == 0xe0);
}

int
multicast_group(const struct options *opt, bool is_ipv4, bool is_client, union ibv_gid *group)
{
	memcpy(group->raw, is_ipv4 ? group_ipv4 : group_ipv6, 16);
	if (opt->mgid != NULL && (!parse_group(opt->mgid, group->raw) || !is_group(group->raw))) {
		fprintf(stderr,
			"uroce-perf: --MGID %s: no multicast group; allowed: an address of "
			"224.0.0.0/4 or ff00::/8, or 16 numbers from 0 to 255 with colons\n",
			opt->mgid);
		return -1;
	}
	group->raw[15] ^= is_client;
	return 0;
}
