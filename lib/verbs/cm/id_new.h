/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_NEW_H
#define UROCE_VERBS_CM_ID_NEW_H

/**
 * @file
 * The memory of an id. The caller holds uroce_vcm_lock.
 */

#include "verbs/cm/event_queue.h"

/**
 * Make an id in state IDLE, whose events go to a channel.
 * @return NULL: no memory
 */
struct uroce_vcm_id *uroce_vcm_id_new(struct uroce_vcm_channel *channel, void *context,
				      enum rdma_port_space ps, enum ibv_qp_type qp_type);

/** Free an id that has neither ends nor events. */
void uroce_vcm_id_free(struct uroce_vcm_id *id);

/** Bind an id to a device, as its program sees it. */
void uroce_vcm_id_set_device(struct uroce_vcm_id *id, struct uroce_vcm_device *device);

#endif /* UROCE_VERBS_CM_ID_NEW_H */
