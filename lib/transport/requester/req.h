/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REQ_H
#define UROCE_TRANSPORT_REQ_H

/**
 * @file
 * The functions that build the packet at the send position (the next packet to send) from its
 * request.
 */

#include "transport/requester/position.h"

/** Reset the requester. After this call nothing is in flight, and no timer is armed. */
void uroce_req_reset(struct uroce_qpc *qpc);

/**
 * Build the packet at the send position. The caller has checked that the packet may be sent.
 * @param nb  number of PSNs of the packet: for a READ the number of responses to request, all in one
 *	READ chunk (the part of a READ that one READ request can request); otherwise 1
 * @return false: the packet cannot be built, so the request will fail (`fault` is set)
 */
bool uroce_req_put(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd);

/**
 * Whether the next packet is a new one, and only the window and max_rd_atomic can prevent its
 * transmission.
 */
static inline bool
uroce_req_is_fast_path(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return qpc->state == IBV_QPS_RTS && req->next_psn == req->max_psn && !req->fault &&
	       !uroce_req_has_answer_gap(req) && !qpc->cc.is_limited;
}

/**
 * Fill up to `max` descriptors with the next requests, as long as each of them is a single packet.
 * The caller has checked uroce_req_is_fast_path(), and the send position is at the first packet of
 * a request.
 * @return the number of descriptors that were filled; the next request may still be a single packet
 */
unsigned uroce_req_put_run(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/** Whether the service and the attributes of the QP allow the operation of a request. */
static inline bool
uroce_req_is_possible(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	if (uroce_wqe_needs_response(wqe))
		return uroce_qpc_is_reliable(qpc) && qpc->attr.max_rd_atomic;
	return uroce_qpc_is_reliable(qpc) || wqe->opcode != IBV_WR_SEND_WITH_INV;
}

#endif /* UROCE_TRANSPORT_REQ_H */
