/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_COMPLETION_CHECK_H
#define TEST_SIM_COMPLETION_CHECK_H

/**
 * @file
 * The oracle's check of completions. Each request completes once, in order, with a status for which
 * there is a reason. Each message is received completely into the next receive request in order.
 */

#include "oracle.h"

/**
 * Poll both completion queues of a QP and check their entries.
 * @param view  the frame that was delivered just before; NULL: none
 */
void ledger_collect(struct qp *qp, const struct oracle_view *view);

/** Check the end of a run: every posted request has completed. */
void ledger_end(struct qp *qp);

/** Count the packets below `upto` as acknowledged. The function is in oracle.c. */
void oracle_settle(struct qp *flow, uint32_t upto);

#endif /* TEST_SIM_COMPLETION_CHECK_H */
