/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_ADDR_H
#define UROCE_CM_ADDR_H

/**
 * @file
 * Conversion between IP addresses and GIDs. The GID of a RoCEv2 port is an IPv6 address, or an IPv4
 * address in the form of IPv6, ::ffff:192.0.2.1.
 */

#include "cm/cm.h"

/** Get the IP address that a GID represents. The port of the result is 0. */
struct uroce_cm_addr uroce_cm_addr_of_gid(const uint8_t gid[16]);

/**
 * Whether a GID represents the IP address of an endpoint. The port of the endpoint is not compared.
 */
bool uroce_cm_addr_is_of_gid(const struct uroce_cm_addr *addr, const uint8_t gid[16]);

#endif /* UROCE_CM_ADDR_H */
