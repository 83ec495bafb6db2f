/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_CQ_H
#define UROCE_VERBS_CM_ID_CQ_H

/**
 * @file
 * The CQs that the library makes for the QP of an id, or for its XRC SRQ, each with a completion
 * channel. The caller must not hold uroce_vcm_lock.
 */

#include "verbs/cm/id.h"

/**
 * Make the send CQ, or the receive CQ, of an id. If the library has made this CQ before, the call
 * does nothing.
 * @return 0, or -errno
 */
int uroce_vcm_id_make_send_cq(struct uroce_vcm_id *id, uint32_t nb_wr);
int uroce_vcm_id_make_recv_cq(struct uroce_vcm_id *id, uint32_t nb_wr);

/**
 * Destroy the CQs that the library has made for an id, except for those that a QP or an SRQ uses.
 */
void uroce_vcm_id_free_cqs(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_ID_CQ_H */
