/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_GROUP_H
#define UROCE_VERBS_CM_CM_GROUP_H

/**
 * @file
 * The multicast groups of an id. The lock must not be held.
 */

#include "verbs/cm/id.h"

/** Leave all groups of an id that has no events. */
void uroce_vcm_group_leave_all(struct uroce_vcm_id *id);

/** The QP of an id is about to be destroyed: detach it from all groups. */
void uroce_vcm_group_detach_all(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_GROUP_H */
