/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_APP_OPS_H
#define TEST_SIM_APP_OPS_H

/**
 * @file
 * What applications do with a QP beside posting: in the middle of traffic, at a time that does not suit
 * it. Each checks what comes of it.
 *
 *	- a cancelled request sends nothing and completes in its turn; what was begun cannot be cancelled;
 *	  the count is that of the requests that were; in another state than SQD it is refused
 *	- in SQD attributes are taken when the queue has drained, and not before
 *	- nothing lands, and nothing is read, through a key after it was withdrawn: of a region that was
 *	  deregistered, of a window (types 1, 2A, 2B, zero-based too) that was invalidated, bound anew or
 *	  deallocated
 */

#include "qp.h"

/** Cancel one of its requests. @return whether one was */
bool conduct_cancel(struct qp *qp);

/** Modify attributes but the state. @return whether they were taken */
bool conduct_tune(struct qp *qp);

/**
 * Give the peer one more key to its memory, which will be withdrawn.
 * @param kind  0: of a region; else enum uroce_mw_kind
 */
void conduct_make_mortal(struct qp *qp, uint8_t kind, bool is_zero_based);

/** Withdraw it. @return whether there was one */
bool conduct_withdraw(struct qp *qp);

#endif /* TEST_SIM_APP_OPS_H */
