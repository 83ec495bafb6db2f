/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Search for the request in flight that a PSN belongs to. The search begins at the oldest request,
 * because loss recovery mostly looks for PSNs near una_psn.
 */
#include "transport/requester/position.h"

#include "wire/psn.h"

bool
uroce_position_find(const struct uroce_qpc *qpc, uint32_t psn, uint32_t *idx)
{
	for (*idx = qpc->req.una_idx; *idx != qpc->req.begun_idx; ++*idx) {
		const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, *idx);

		if (uroce_psn_in(psn, wqe->first_psn, wqe->nb_psn))
			return true;
	}
	return false;
}

const struct uroce_send_wqe *
uroce_position_request(const struct uroce_qpc *qpc, uint32_t psn)
{
	uint32_t idx;

	return uroce_position_find(qpc, psn, &idx) ? uroce_req_wqe(qpc, idx) : NULL;
}

uint32_t
uroce_position_first_answer(const struct uroce_qpc *qpc, uint32_t psn)
{
	/*
	 * the first response has another PSN than `psn` only if the packet is one of a READ, so
	 * without READs in flight no search is needed
	 */
	const struct uroce_send_wqe *wqe =
		qpc->req.nb_rd_out ? uroce_position_request(qpc, psn) : NULL;

	if (!wqe || wqe->opcode != IBV_WR_RDMA_READ)
		return psn;
	const uint32_t pkt = uroce_psn_dist(wqe->first_psn, psn);

	return uroce_psn_add(wqe->first_psn, pkt - pkt % qpc->chunk_psns);
}
