/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_RESOLVE_H
#define UROCE_VERBS_CM_CM_RESOLVE_H

/**
 * @file
 * Resolutions of addresses in progress: the MAC of the next hop is looked up until it is known, or
 * the timeout of the resolution expires. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Begin the resolution of a route for an id in state IDLE or BOUND. uroce_vcm_resolve_step() ends
 * the resolution later, and raises ADDR_RESOLVED or ADDR_ERROR.
 * @param scope  scope ID in the destination address that the program sees
 */
void uroce_vcm_resolve_begin(struct uroce_vcm_id *id, const struct uroce_vcm_route *route,
			     uint32_t scope, int timeout_ms);

/**
 * End the resolution of an id without an event. If the id has no resolution, the call does nothing.
 */
void uroce_vcm_resolve_cancel(struct uroce_vcm_id *id);

/**
 * Look up the MACs of all addresses that are being resolved, and end the resolutions that succeed
 * or fail.
 * @return when to call again, in nanoseconds from now; UROCE_CM_NEVER: there is no resolution
 */
uint64_t uroce_vcm_resolve_step(void);

#endif /* UROCE_VERBS_CM_CM_RESOLVE_H */
