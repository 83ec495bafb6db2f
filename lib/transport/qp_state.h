/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QP_STATE_H
#define UROCE_TRANSPORT_QP_STATE_H

/**
 * @file
 * The QP state machine as a table [IBA 10.3.1, 11.2.5.2]: for each pair of states and each transport
 * service, the attributes that a modify must name and those that it may name.
 */

#include <infiniband/verbs.h>

/**
 * Whether `mask` is legal for a QP of this type that goes from `from` to `to`.
 * IBV_QP_STATE and IBV_QP_CUR_STATE themselves are checked by the caller's choice of from and to,
 * and by the table.
 * @return 0 or -EINVAL
 */
int uroce_qp_state_check(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
			 int mask);

#endif /* UROCE_TRANSPORT_QP_STATE_H */
