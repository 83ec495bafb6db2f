/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_COMPLETION_CHECK_H
#define TEST_SIM_COMPLETION_CHECK_H

/**
 * @file
 * The oracle's book of completions: each request completes once, in order, with a status that there
 * is a reason for; each message ends up whole in the receive request whose turn it is.
 */

#include "oracle.h"

/**
 * Poll both queues of a QP and judge what they hold.
 * @param view  the frame that was handed over just now; NULL: none
 */
void ledger_collect(struct qp *qp, const struct oracle_view *view);

/** Nothing happens any more: nothing is left undone. */
void ledger_end(struct qp *qp);

/** oracle.c: packets below `upto` are acknowledged. */
void oracle_settle(struct qp *flow, uint32_t upto);

#endif /* TEST_SIM_COMPLETION_CHECK_H */
