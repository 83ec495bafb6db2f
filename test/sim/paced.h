/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_PACED_H
#define TEST_SIM_PACED_H

/**
 * @file
 * The part of the oracle that checks congestion control: marks, CNPs, rates.
 *
 * The oracle takes the rate from the transport, and checks that the QP does not exceed the rate. A
 * credit in bits grows at the rate up to the configured burst size. A frame may be sent if the
 * credit is not negative; its length is subtracted.
 */

#include "qp.h"

struct frame;

/** To be called before a QP receives a frame. */
void paced_received(struct qp *qp, const struct uroce_pkt *pkt);

/** To be called after any call on a QP. */
void paced_check(struct qp *qp);

/** To be called when a QP sends a frame. */
void paced_sent(struct qp *qp, const struct frame *frame, const struct uroce_pkt *pkt);

/** To be called at the end of a run, when no events are left. */
void paced_end(const struct qp *qp);

#endif /* TEST_SIM_PACED_H */
