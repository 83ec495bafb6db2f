/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_PACED_H
#define TEST_SIM_PACED_H

/**
 * @file
 * The part of the oracle that watches congestion control: marks, notifications, rates.
 *
 * The rate is the engine's own word; whether it keeps to it is what is checked, by an account in bits
 * that is filled at that rate up to the burst, and overdrawn by one frame at most.
 */

#include "qp.h"

struct frame;

/** A frame is about to be handed to a QP. */
void paced_received(struct qp *qp, const struct uroce_pkt *pkt);

/** After any call. */
void paced_check(struct qp *qp);

/** A frame leaves a QP. */
void paced_sent(struct qp *qp, const struct frame *frame, const struct uroce_pkt *pkt);

/** Nothing happens any more. */
void paced_end(const struct qp *qp);

#endif /* TEST_SIM_PACED_H */
