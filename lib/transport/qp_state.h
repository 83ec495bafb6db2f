/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QP_STATE_H
#define UROCE_TRANSPORT_QP_STATE_H

/**
 * @file
 * The QP state machine as a table [IBA 10.3.1, 11.2.5.2]. For each pair of states and each type of
 * QP, the table has the attributes that a modify must set, and those that it may set.
 */

#include <infiniband/verbs.h>

/**
 * Check the attribute mask of a modify that leads a QP of this type from the state `from` to the
 * state `to`.
 * @return 0: the modify is legal; -EINVAL: the mask or the transition is not legal
 */
int uroce_qp_state_check(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
			 int mask);

#endif /* UROCE_TRANSPORT_QP_STATE_H */
