/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QP_STATE_H
#define UROCE_TRANSPORT_QP_STATE_H

/**
 * @file
 * The QP state machine as a table [IBA 10.3.1, 11.2.5.2]. For each pair of states and each service,
 * the table has the attributes that a modify must name, and those that it may name.
 */

#include <infiniband/verbs.h>

/**
 * Check `mask` for a QP of this type that goes from `from` to `to`. The caller derives `from` and
 * `to` from IBV_QP_STATE and IBV_QP_CUR_STATE.
 * @return 0, or -EINVAL: the mask or the transition is not legal
 */
int uroce_qp_state_check(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
			 int mask);

#endif /* UROCE_TRANSPORT_QP_STATE_H */
