/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MIDDLE_H
#define UROCE_TRANSPORT_MIDDLE_H

/**
 * @file
 * The packets between the first and the last of long messages, in both directions.
 */

#include "transport/context.h"

/** Fill descriptors with packets from the middle of the request at the position. @return how many */
unsigned uroce_middle_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/** The same with responses from the middle of a READ, the oldest that is pending. @return how many */
unsigned uroce_middle_put_responses(struct uroce_qpc *qpc, struct uroce_rd_res *res,
				    struct uroce_txd *out, unsigned max);

/**
 * Of `nb` requests, the first of which passed the checks that are the same for all: execute as many from
 * the first on as are expected in the middle of the message that is being received.
 * @return how many; the next one may still be right
 */
unsigned uroce_middle_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				    unsigned nb);

/** The same with responses, of the READ that is being answered. */
unsigned uroce_middle_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				     unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_MIDDLE_H */
