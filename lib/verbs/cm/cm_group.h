/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_GROUP_H
#define UROCE_VERBS_CM_CM_GROUP_H

/**
 * @file
 * The multicast groups of an id. The caller must not hold uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Leave all groups of an id. No event of the id may be pending or unacknowledged, because events
 * refer to the groups, which are freed.
 */
void uroce_vcm_group_leave_all(struct uroce_vcm_id *id);

/** Detach the QP of an id from all groups of the id, because the QP is about to be destroyed. */
void uroce_vcm_group_detach_all(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_GROUP_H */
