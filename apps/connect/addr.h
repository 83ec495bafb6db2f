/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_CONNECT_ADDR_H
#define APPS_CONNECT_ADDR_H

/**
 * @file
 * Parses the IP addresses of the command line, and formats addresses as text.
 */

#include <netinet/in.h>
#include <sys/socket.h>

/** An address and its port as text: "192.0.2.1:7471", "[2001:db8::1]:7471". */
struct addr_text {
	char text[INET6_ADDRSTRLEN + sizeof("[]:65535")];
};

/** Parse an IPv4 or IPv6 address. @return 0, or -1 */
int addr_parse_ip(const char *text, struct sockaddr_storage *addr);

/** Parse ADDRESS:PORT or [ADDRESS]:PORT. @return 0, or -1 */
int addr_parse(const char *text, struct sockaddr_storage *addr);

struct addr_text addr_format(const struct sockaddr *addr);

#endif /* APPS_CONNECT_ADDR_H */
