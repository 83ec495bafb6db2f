/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_QP_STATE_H
#define UROCE_VERBS_CM_CM_QP_STATE_H

/**
 * @file
 * The moves of the QP of an id. The lock must not be held, since a move may wait for the MAC of the
 * peer. All calls return 0 or -errno.
 */

#include "verbs/cm/id.h"

/** Move a new QP to INIT; that of an id for datagrams to RTS. */
int uroce_vcm_qp_begin(struct uroce_vcm_id *id, struct ibv_qp *qp);

/**
 * Move the QP of an id to RTR and RTS. An id without QP is left alone.
 * @param responder_resources, initiator_depth  limits of READs and atomics
 */
int uroce_vcm_qp_connect(struct uroce_vcm_id *id, uint8_t responder_resources,
			 uint8_t initiator_depth);

/** Move the QP of an id to ERR. An id without QP, or with one for datagrams, is left alone. */
int uroce_vcm_qp_end(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_QP_STATE_H */
