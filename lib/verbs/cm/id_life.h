/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_LIFE_H
#define UROCE_VERBS_CM_ID_LIFE_H

/**
 * @file
 * Creating ids. In RDMA_PS_IB the caller chooses the QP type of an id. The caller must not hold
 * uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Create an id.
 * @param channel  gets the events of the id; NULL: the id is synchronous
 * @return 0, or -errno as uroce_cm_create_id()
 */
int uroce_vcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
			enum ibv_qp_type qp_type, struct uroce_vcm_id **id);

#endif /* UROCE_VERBS_CM_ID_LIFE_H */
