/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_CQ_H
#define UROCE_VERBS_CM_ID_CQ_H

/**
 * @file
 * The CQs that an id makes for its QP, or for its XRC SRQ, each with a completion channel. The lock
 * must not be held.
 */

#include "verbs/cm/id.h"

/**
 * Make the send CQ, or the receive CQ, of an id. An id that has it already is left alone.
 * @return 0, or -errno
 */
int uroce_vcm_id_make_send_cq(struct uroce_vcm_id *id, uint32_t nb_wr);
int uroce_vcm_id_make_recv_cq(struct uroce_vcm_id *id, uint32_t nb_wr);

/** Destroy the CQs that no QP or SRQ of the id uses. */
void uroce_vcm_id_free_cqs(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_ID_CQ_H */
