/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REQ_H
#define UROCE_TRANSPORT_REQ_H

/**
 * @file
 * Request packets: the packet at the position of the requester is built from its request.
 */

#include "transport/position.h"

/** RESET: nothing sent, nothing due. */
void uroce_req_reset(struct uroce_qpc *qpc);

/** Build the packet at the position, which is in no READ, without asking whether it may be sent. @return false: a fault */
bool uroce_req_put(struct uroce_qpc *qpc, struct uroce_txd *txd);

/** The ATOMICETH of an atomic. */
void uroce_req_put_atomiceth(struct uroce_atomiceth *eth, const struct uroce_send_wqe *wqe);

/** The position is in a READ: a request for the next `nb` responses, which are of one chunk. */
void uroce_req_put_read(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd);

/** Whether the next packet is the first of a request, and nothing but the window decides about it. */
static inline bool
uroce_req_is_streaming(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return qpc->state == IBV_QPS_RTS && req->next_idx == req->begun_idx &&
	       req->next_psn == req->max_psn && !req->fault && !uroce_req_has_answer_gap(req) &&
	       !qpc->cc.is_limited;
}

/**
 * Fill descriptors with short SENDs and WRITEs of one packet that are next, where uroce_req_is_streaming().
 * @return how many: what is next may still be one
 */
unsigned uroce_req_put_run(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/** Whether this QP can do at all what the request asks for. */
static inline bool
uroce_req_is_possible(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	if (uroce_wqe_needs_response(wqe))
		return uroce_qpc_is_reliable(qpc) && qpc->attr.max_rd_atomic;
	return uroce_qpc_is_reliable(qpc) || wqe->opcode != IBV_WR_SEND_WITH_INV;
}

#endif /* UROCE_TRANSPORT_REQ_H */
