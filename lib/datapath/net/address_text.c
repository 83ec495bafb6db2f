/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes IP addresses as text. */

#include "datapath/net/address_text.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "wire/hdr.h"

static const char *
write_address(int family, const void *ip, char text[INET6_ADDRSTRLEN])
{
	if (!inet_ntop(family, ip, text, INET6_ADDRSTRLEN))
		(void)snprintf(text, INET6_ADDRSTRLEN, "?");
	return text;
}

const char *
uroce_address_text(const uint8_t ip[16], char text[INET6_ADDRSTRLEN])
{
	return uroce_ip_is_v4(ip) ? write_address(AF_INET, ip + 12, text)
				  : write_address(AF_INET6, ip, text);
}

const char *
uroce_address_text_of_peer(const struct uroce_path *path, char text[INET6_ADDRSTRLEN])
{
	const uint8_t *const ip = path->hdr + path->ip_off;

	return path->is_ipv6 ? write_address(AF_INET6, ((const struct uroce_ipv6 *)ip)->dst, text)
			     : write_address(AF_INET, ((const struct uroce_ipv4 *)ip)->dst, text);
}
