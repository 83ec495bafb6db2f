/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_SOCKADDR_H
#define UROCE_VERBS_CM_SOCKADDR_H

/**
 * @file
 * Conversions between the three forms of an address: the sockaddr of programs; struct uroce_cm_addr
 * of lib/cm, an IP address and a port, in which an IPv4 address follows twelve zero bytes; and the
 * GID, in which an IPv4 address has its IPv4-mapped form.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>

#include "cm/cm.h"

/**
 * Parse an address of a program. An IPv4-mapped IPv6 address becomes an IPv4 address.
 * @param[out] scope  scope ID of an IPv6 address; 0: the address has no scope ID
 * @return 0; -EAFNOSUPPORT: neither AF_INET nor AF_INET6
 */
int uroce_vcm_sockaddr_parse(const struct sockaddr *sa, struct uroce_cm_addr *addr,
			     uint32_t *scope);

/** Convert `addr` to a sockaddr for the program, with the scope ID `scope`. */
void uroce_vcm_sockaddr_put(struct sockaddr_storage *sa, const struct uroce_cm_addr *addr,
			    uint32_t scope);

/** Get the length of a sockaddr of an address family; 0: neither AF_INET nor AF_INET6. */
socklen_t uroce_vcm_sockaddr_len(int family);

/** Get the port of an address of a program, in network byte order. */
__be16 uroce_vcm_sockaddr_port(const struct sockaddr *sa);

void uroce_vcm_addr_to_gid(const struct uroce_cm_addr *addr, union ibv_gid *gid);
void uroce_vcm_addr_from_gid(const uint8_t gid[16], uint16_t port, struct uroce_cm_addr *addr);

/**
 * Whether an address is the wildcard, a loopback address (127.0.0.0/8 or ::1), a link-local
 * address, or a multicast address.
 */
bool uroce_vcm_addr_is_any(const struct uroce_cm_addr *addr);
bool uroce_vcm_addr_is_loopback(const struct uroce_cm_addr *addr);
bool uroce_vcm_addr_is_link_local(const struct uroce_cm_addr *addr);
bool uroce_vcm_addr_is_group(const struct uroce_cm_addr *addr);

#endif /* UROCE_VERBS_CM_SOCKADDR_H */
