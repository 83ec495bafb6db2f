/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses IP addresses with ports, and formats them as text. */

#include "addr.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
addr_parse_ip(const char *text, struct sockaddr_storage *addr)
{
	struct sockaddr_in *const sin = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *const sin6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		return 0;
	}
	if (inet_pton(AF_INET6, text, &sin6->sin6_addr) != 1)
		return -1;
	sin6->sin6_family = AF_INET6;
	return 0;
}

static int
set_port(struct sockaddr_storage *addr, const char *text)
{
	char *end;
	const unsigned long port = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || port < 1 || port > UINT16_MAX)
		return -1;
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
	return 0;
}

int
addr_parse(const char *text, struct sockaddr_storage *addr)
{
	const char *const colon = strrchr(text, ':');
	const size_t len = colon ? (size_t)(colon - text) : 0;
	const bool has_brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	char ip[INET6_ADDRSTRLEN];

	if (len == 0 || len - 2 * has_brackets >= sizeof(ip))
		return -1;
	(void)snprintf(ip, sizeof(ip), "%.*s", (int)(len - 2 * has_brackets), text + has_brackets);
	/*
	 * An IPv6 address needs brackets. Without brackets a parser cannot find where the address
	 * ends and the port begins.
	 */
	if (addr_parse_ip(ip, addr) != 0 || (addr->ss_family == AF_INET6) != has_brackets)
		return -1;
	return set_port(addr, colon + 1);
}

struct addr_text
addr_format(const struct sockaddr *addr)
{
	const struct sockaddr_in *const sin = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *const sin6 = (const struct sockaddr_in6 *)addr;
	struct addr_text out = { "no address" };
	char ip[INET6_ADDRSTRLEN];

	if (addr->sa_family == AF_INET && inet_ntop(AF_INET, &sin->sin_addr, ip, sizeof(ip)))
		(void)snprintf(out.text, sizeof(out.text), "%s:%u", ip, ntohs(sin->sin_port));
	if (addr->sa_family == AF_INET6 && inet_ntop(AF_INET6, &sin6->sin6_addr, ip, sizeof(ip)))
		(void)snprintf(out.text, sizeof(out.text), "[%s]:%u", ip, ntohs(sin6->sin6_port));
	return out;
}
