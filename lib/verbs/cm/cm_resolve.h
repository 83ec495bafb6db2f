/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_RESOLVE_H
#define UROCE_VERBS_CM_CM_RESOLVE_H

/**
 * @file
 * Resolutions of addresses in progress: the MAC of the next hop is looked up until it is known, or
 * the time of the resolution is over. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Begin the resolution of a route, in state IDLE or BOUND. The end is reported by ADDR_RESOLVED or
 * ADDR_ERROR, not before uroce_vcm_resolve_step().
 * @param scope  scope ID of the destination, for the program
 */
void uroce_vcm_resolve_begin(struct uroce_vcm_id *id, const struct uroce_vcm_route *route,
			     uint32_t scope, int timeout_ms);

/** End the resolution of an id without an event. An id without resolution is left alone. */
void uroce_vcm_resolve_cancel(struct uroce_vcm_id *id);

/**
 * Look for the MACs of all resolutions.
 * @return when to call again, in nanoseconds from now; UROCE_CM_NEVER: there is no resolution
 */
uint64_t uroce_vcm_resolve_step(void);

#endif /* UROCE_VERBS_CM_CM_RESOLVE_H */
