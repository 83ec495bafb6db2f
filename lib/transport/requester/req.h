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
 * Build the packet at the send position, where the request must not be a READ. The caller has
 * checked that it may be sent.
 * @return false: the packet cannot be built, and the request has a fault
 */
bool uroce_req_put(struct uroce_qpc *qpc, struct uroce_txd *txd);

/** Write the ATOMICETH of an atomic request. */
void uroce_req_put_atomiceth(struct uroce_atomiceth *eth, const struct uroce_send_wqe *wqe);

/**
 * Build a READ request for the next `nb` responses, which are of one chunk. The request at the send
 * position must be a READ.
 */
void uroce_req_put_read(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd);

/**
 * Whether the next packet is the first of a request, and only the window can prevent its
 * transmission.
 */
static inline bool
uroce_req_is_streaming(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return qpc->state == IBV_QPS_RTS && req->next_idx == req->begun_idx &&
	       req->next_psn == req->max_psn && !req->fault && !uroce_req_has_answer_gap(req) &&
	       !qpc->cc.is_limited;
}

/**
 * Fill up to `max` descriptors with the next requests, as long as these are short SENDs and WRITEs
 * of one packet. Only while uroce_req_is_streaming().
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
