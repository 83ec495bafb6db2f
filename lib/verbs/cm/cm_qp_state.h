/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_QP_STATE_H
#define UROCE_VERBS_CM_CM_QP_STATE_H

/**
 * @file
 * Moving the QP of an id from state to state. The caller must not hold uroce_vcm_lock, because a
 * move to RTR may wait until the MAC address of the peer is resolved. All calls return 0 or -errno.
 */

#include "verbs/cm/id.h"

/** Move a new QP of an id to INIT, or to RTS if the id is for datagrams. */
int uroce_vcm_qp_begin(struct uroce_vcm_id *id, struct ibv_qp *qp);

/**
 * Move the QP of an id to RTR and RTS. If the id has no QP, the call does nothing.
 * @param responder_resources, initiator_depth  limits of READs and atomics
 */
int uroce_vcm_qp_connect(struct uroce_vcm_id *id, uint8_t responder_resources,
			 uint8_t initiator_depth);

/** Move the QP of an id to ERR. If the id has no QP, or is for datagrams, the call does nothing. */
int uroce_vcm_qp_end(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_QP_STATE_H */
