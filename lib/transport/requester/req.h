/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REQ_H
#define UROCE_TRANSPORT_REQ_H

/**
 * @file
 * Request packets: builds the packet at the send position from its request.
 */

#include "transport/requester/position.h"

/** Reset the requester: nothing is in flight, and no timer is armed. */
void uroce_req_reset(struct uroce_qpc *qpc);

/**
 * Build the packet at the send position. The caller has checked that it may be sent.
 * @param nb  number of PSNs: READ: of the responses to request, which are of one chunk; else 1
 * @return false: the packet cannot be built, and the request has a fault
 */
bool uroce_req_put(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd);

/**
 * Whether only the window and max_rd_atomic can prevent the transmission of the next packet, and it
 * was not sent before.
 */
static inline bool
uroce_req_is_fast_path(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return qpc->state == IBV_QPS_RTS && req->next_psn == req->max_psn && !req->fault &&
	       !uroce_req_has_answer_gap(req) && !qpc->cc.is_limited;
}

/**
 * Fill up to `max` descriptors with the next requests, as long as these are of one packet. Only
 * while uroce_req_is_fast_path(), and at the first packet of a request.
 * @return how many; a request that follows may still be of one packet
 */
unsigned uroce_req_put_run(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/** Whether the QP's service and attributes allow the operation of a request. */
static inline bool
uroce_req_is_possible(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	if (uroce_wqe_needs_response(wqe))
		return uroce_qpc_is_reliable(qpc) && qpc->attr.max_rd_atomic;
	return uroce_qpc_is_reliable(qpc) || wqe->opcode != IBV_WR_SEND_WITH_INV;
}

#endif /* UROCE_TRANSPORT_REQ_H */
