/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_PORT_SPACE_H
#define UROCE_CM_PORT_SPACE_H

/**
 * @file
 * Port spaces of RDMA CM: which CM id has which address and port. The rules are those of TCP ports:
 * a wildcard overlaps the addresses of its IP version; the IPv6 wildcard overlaps IPv4, too, unless
 * it is v6only.
 */

#include "cm/context.h"

/** Whether an address is IPv4 in the form of IPv6, ::ffff:192.0.2.1. */
bool uroce_cm_port_is_mapped_ipv4(const struct uroce_cm_addr *addr);

/**
 * Bind a CM id to an address and a port. The parameters and the result are those of
 * uroce_cme_bind().
 */
int uroce_cm_port_bind(struct uroce_cm *cm, struct uroce_cm_conn *conn,
		       const struct uroce_cm_addr *addr, bool is_v6only, bool is_shared);

/** Free the port of a CM id, if the id has one. */
void uroce_cm_port_release(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** Whether a bound CM id may listen: no other id has the port at an address that overlaps. */
bool uroce_cm_port_may_listen(const struct uroce_cm *cm, const struct uroce_cm_conn *conn);

/**
 * Add a bound CM id, which begins to listen, to the table that uroce_cm_port_find_listener()
 * searches.
 */
void uroce_cm_port_listen(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Find the listener for a REQ or SIDR_REQ that names `service_id` and the destination address
 * `dst`. At most one listener fits, since the addresses of listeners at one port do not overlap.
 * @return the listener; UROCE_CM_NO_ID if there is no listener
 */
uint32_t uroce_cm_port_find_listener(const struct uroce_cm *cm, uint64_t service_id,
				     const struct uroce_cm_addr *dst, bool is_datagram);

#endif /* UROCE_CM_PORT_SPACE_H */
