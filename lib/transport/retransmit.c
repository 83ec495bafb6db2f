/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was sent before, once more, by itself: the position of the requester stays where it is.
 */
#include "transport/role.h"

#include "wire/psn.h"

static bool
find_in_flight(const struct uroce_qpc *qpc, uint32_t psn, uint32_t *idx)
{
	for (*idx = qpc->req.una_idx; *idx != qpc->req.begun_idx; ++*idx) {
		const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, *idx);

		if (uroce_psn_in(psn, wqe->first_psn, wqe->nb_psn))
			return true;
	}
	return false;
}

const struct uroce_send_wqe *
uroce_retransmit_find_request(const struct uroce_qpc *qpc, uint32_t psn)
{
	uint32_t idx;

	return find_in_flight(qpc, psn, &idx) ? uroce_req_wqe(qpc, idx) : NULL;
}

bool
uroce_retransmit_put(struct uroce_qpc *qpc, uint32_t psn, uint32_t nb, bool is_asking,
		     struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t next_psn = req->next_psn, next_idx = req->next_idx, next_pkt = req->next_pkt;
	const uint8_t since_ack_req = req->since_ack_req;
	const uint8_t nb_rd_out = req->nb_rd_out;
	const bool is_ack_wanted = req->is_ack_wanted;
	bool is_built = true;
	uint32_t idx;

	if (!find_in_flight(qpc, psn, &idx))
		return false;
	const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, idx);

	req->next_psn = psn;
	req->next_idx = idx;
	req->next_pkt = uroce_psn_dist(wqe->first_psn, psn);
	req->since_ack_req = 0;
	req->is_ack_wanted = is_asking;
	if (wqe->opcode == IBV_WR_RDMA_READ)
		uroce_req_put_read(qpc, nb, txd);
	else
		is_built = uroce_req_put(qpc, txd);
	req->next_psn = next_psn;
	req->next_idx = next_idx;
	req->next_pkt = next_pkt;
	req->since_ack_req = since_ack_req;
	req->nb_rd_out = nb_rd_out;
	req->is_ack_wanted = is_ack_wanted;
	/* its memory is gone: that is found where the request is sent in its turn */
	if (!is_built)
		uroce_retry_rewind(qpc);
	return is_built;
}
