/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_QP_LOG_H
#define UROCE_VERBS_QP_LOG_H

/**
 * @file
 * Log lines about control operations of a QP. Lines about refused calls name the wrong attribute
 * and the allowed values. These lines have the level WARNING and are limited in number. All other
 * lines have the level DEBUG.
 */

#include "transport/refusal.h"
#include "verbs/object.h"

/**
 * Log that a call of uroce_modify_qp() was refused by the state table or by the range of a value.
 */
void uroce_qp_log_refusal(const struct uroce_vqp *qp, const struct uroce_refusal *refusal);

/**
 * Log that a call of uroce_modify_qp() was refused because there is no path to the peer.
 * @param err  the result of uroce_dev_resolve(), -errno
 */
void uroce_qp_log_no_path(const struct uroce_vqp *qp, const struct ibv_ah_attr *av, int err);

/**
 * Log a call of uroce_modify_qp() that has succeeded: the new state, and the peer if the call set
 * it.
 */
void uroce_qp_log_modified(const struct uroce_vqp *qp, const struct ibv_qp_attr *attr, int mask);

/** Log that a QP was created, with its type and the lengths of its queues. */
void uroce_qp_log_created(const struct uroce_vqp *qp);

#endif /* UROCE_VERBS_QP_LOG_H */
