/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ADDRESS_TEXT_H
#define UROCE_DATAPATH_ADDRESS_TEXT_H

/**
 * @file
 * IP addresses as text, for log lines.
 */

#include <stdint.h>
#include <netinet/in.h>

#include "wire/build.h"

/**
 * Write an address as text. An IPv4 address is ::ffff:a.b.c.d, as in a GID, and is written
 * without its prefix.
 * @return `text`
 */
const char *uroce_address_text(const uint8_t ip[16], char text[INET6_ADDRSTRLEN]);

/**
 * Write the destination address of a path as text: the address of the peer of a connected QP.
 * @return `text`
 */
const char *uroce_address_text_of_peer(const struct uroce_path *path, char text[INET6_ADDRSTRLEN]);

#endif /* UROCE_DATAPATH_ADDRESS_TEXT_H */
