/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To retransmit a single packet, the send position is set to the packet, the packet is built like a
 * new one, and the send position is restored.
 */
#include "transport/recovery/retransmit.h"

#include "transport/requester/position.h"
#include "transport/requester/req.h"
#include "transport/recovery/retry.h"
#include "wire/psn.h"

bool
uroce_retransmit_put(struct uroce_qpc *qpc, const struct uroce_retransmit *what,
		     struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t next_psn = req->next_psn, next_idx = req->next_idx, next_pkt = req->next_pkt;
	const uint8_t since_ack_req = req->since_ack_req;
	const uint8_t nb_rd_out = req->nb_rd_out;
	const bool is_ack_wanted = req->is_ack_wanted;
	bool is_built;
	uint32_t idx;

	if (!uroce_position_find(qpc, what->psn, &idx))
		return false;
	const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, idx);

	uroce_position_set(req, what->psn, idx, uroce_psn_dist(wqe->first_psn, what->psn));
	req->since_ack_req = 0;
	req->is_ack_wanted = what->is_asking;
	is_built = uroce_req_put(qpc, wqe->opcode == IBV_WR_RDMA_READ ? what->nb : 1, txd);
	uroce_position_set(req, next_psn, next_idx, next_pkt);
	req->since_ack_req = since_ack_req;
	req->nb_rd_out = nb_rd_out;
	req->is_ack_wanted = is_ack_wanted;
	/*
	 * If the packet is not built, the memory of its request is not accessible any more. The
	 * request fails when the send position reaches the request.
	 */
	if (!is_built)
		uroce_retry_rewind(qpc);
	return is_built;
}
