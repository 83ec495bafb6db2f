/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QP_STATE_H
#define UROCE_TRANSPORT_QP_STATE_H

/**
 * @file
 * The QP state machine as a table [IBA 10.3.1, 11.2.5.2]. For each pair of states and each type of
 * QP, the table has the attributes that a modify must set, and those that it may set.
 */

#include <stdbool.h>
#include <infiniband/verbs.h>

/**
 * Get the attributes of a transition, as masks of enum ibv_qp_attr_mask.
 * @param[out] required  the attributes that a modify must set
 * @param[out] allowed  the attributes that a modify may set, including the required ones and
 *	IBV_QP_STATE
 * @return whether the transition exists; if not, the outputs are unchanged
 */
bool uroce_qp_state_attrs(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
			  int *required, int *allowed);

#endif /* UROCE_TRANSPORT_QP_STATE_H */
