/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_NEW_H
#define UROCE_VERBS_CM_ID_NEW_H

/**
 * @file
 * Allocating and freeing ids. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/event_queue.h"

/**
 * Allocate an id in state IDLE, whose events go to `channel`.
 * @return the id; NULL: there is no memory
 */
struct uroce_vcm_id *uroce_vcm_id_new(struct uroce_vcm_channel *channel, void *context,
				      enum rdma_port_space ps, enum ibv_qp_type qp_type);

/** Free an id. The id must have no events in a channel, and no ends (struct uroce_vcm_end). */
void uroce_vcm_id_free(struct uroce_vcm_id *id);

/**
 * Set the device of an id, and the fields by which the program sees the device: context, PD and
 * port.
 */
void uroce_vcm_id_set_device(struct uroce_vcm_id *id, struct uroce_vcm_device *device);

#endif /* UROCE_VERBS_CM_ID_NEW_H */
