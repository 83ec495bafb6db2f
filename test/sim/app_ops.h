/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_APP_OPS_H
#define TEST_SIM_APP_OPS_H

/**
 * @file
 * Operations of applications on a QP other than posts, while requests are in flight. Each operation
 * checks its results:
 *
 * - A cancelled request sends nothing and completes in its order. A request that was begun cannot
 *   be cancelled. The returned count is that of the cancelled requests. Outside of SQD the call is
 *   refused.
 * - In SQD attributes are accepted when the send queue has drained, and not before.
 * - Nothing is written or read through the key of a region or of a window after the key was
 *   withdrawn. A region is deregistered. A window (type 1, 2A, 2B, also zero-based) is invalidated,
 *   bound again or deallocated.
 */

#include "qp.h"

/**
 * Cancel one request of the QP.
 * @return whether a request was cancelled
 */
bool conduct_cancel(struct qp *qp);

/**
 * Modify attributes of the QP without a change of its state.
 * @return whether the attributes were accepted
 */
bool conduct_tune(struct qp *qp);

/**
 * Create a further key to the QP's memory, which the peer uses until conduct_withdraw().
 * @param kind  0: key of a region; else enum uroce_mw_kind
 */
void conduct_make_mortal(struct qp *qp, uint8_t kind, bool is_zero_based);

/**
 * Withdraw the key that conduct_make_mortal() created.
 * @return whether there was a key
 */
bool conduct_withdraw(struct qp *qp);

#endif /* TEST_SIM_APP_OPS_H */
