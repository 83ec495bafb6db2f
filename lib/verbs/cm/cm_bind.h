/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_BIND_H
#define UROCE_VERBS_CM_CM_BIND_H

/**
 * @file
 * Binding of an id to a local address and port, at the connection manager of one device or at those
 * of all devices. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Bind an id in state IDLE to an address, and move the id to state BOUND.
 * @param addr  an address of a device, a loopback address, or the wildcard
 * @return 0, or -errno as uroce_cm_bind_addr(): the id is not bound
 */
int uroce_vcm_bind(struct uroce_vcm_id *id, const struct uroce_cm_addr *addr, uint32_t scope);

/**
 * Bind an id to the source address of a route. An id that is bound to the wildcard keeps its port.
 * If the id is already bound to a device, the call does nothing.
 * @return 0, or -errno: the id is not bound any more
 */
int uroce_vcm_bind_to_route(struct uroce_vcm_id *id, const struct uroce_vcm_route *route);

#endif /* UROCE_VERBS_CM_CM_BIND_H */
