/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MIDDLE_H
#define UROCE_TRANSPORT_MIDDLE_H

/**
 * @file
 * Fast path that sends and receives Middle packets, which are the packets between the First and the
 * Last packet of long messages.
 */

#include "transport/context.h"

/**
 * Fill up to `max` descriptors with Middle packets of the send request at the send position. The
 * caller has checked uroce_req_is_fast_path(), and the first packet of the request was sent.
 * @return the number of descriptors that were filled
 */
unsigned uroce_middle_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/**
 * Fill up to `max` descriptors with Middle packets of the response to `res`, the oldest pending
 * READ.
 * @return the number of descriptors that were filled
 */
unsigned uroce_middle_put_responses(struct uroce_qpc *qpc, struct uroce_rd_res *res,
				    struct uroce_txd *out, unsigned max);

/**
 * Execute Middle packets of the message that is being received. The first of the `nb` packets has
 * passed the checks that are common to all packets. The call stops at the first packet that is not
 * the next Middle packet in order.
 * @return the number of packets that were executed; the next packet may still be valid
 */
unsigned uroce_middle_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				    unsigned nb);

/**
 * Place the payload of Middle packets of the READ response that is being received. The first of the
 * `nb` packets has passed the checks that are common to all packets. The call stops at the first
 * packet that is not the next Middle packet in order.
 * @return the number of packets that were placed; the next packet may still be valid
 */
unsigned uroce_middle_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				     unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_MIDDLE_H */
