/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fast path of the requester for responses to READs of one packet and to atomics. Such requests are
 * often posted in lists, and their responses arrive in bursts. The first response of a burst is
 * processed on the general path (completer.c). As long as the packets that follow are responses to
 * the next READs or atomics, only their data has to be placed.
 */
#include "transport/requester/rd_atomic_req.h"

#include "base/copy.h"
#include "transport/requester/completer.h"
#include "transport/fast_path.h"
#include "transport/requester/position.h"
#include "transport/recovery/retry.h"
#include "wire/psn.h"

/*
 * Place the data of a response in the memory of its request.
 * @return false: there is no data, or the memory is in several pieces or not accessible
 */
static inline bool
place_fetched(const struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, const void *data,
	      uint32_t len, struct uroce_mr_view *view)
{
	const struct ibv_sge *sge = uroce_send_wqe_data(wqe);

	if (wqe->nb_sge != 1 || !len || len > sge->length)
		return false;
	void *to = uroce_mr_view_resolve(view, qpc->mrs, sge->lkey, qpc->pdn, sge->addr, len,
					 IBV_ACCESS_LOCAL_WRITE);

	if (!to)
		return false;
	uroce_copy(to, data, len);
	return true;
}

/*
 * Place the data of a packet, if `wqe` is a READ and the packet is its response.
 * @return whether the data was placed
 */
static inline bool
take_single_response(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
		     struct uroce_send_wqe *wqe, struct uroce_mr_view *view)
{
	return wqe->opcode == IBV_WR_RDMA_READ && pkt->payload_len == wqe->len &&
	       place_fetched(qpc, wqe, pkt->payload, wqe->len, view);
}

/*
 * Place the original value that a packet carries, if `wqe` is an atomic and the packet is its
 * response.
 * @return whether the value was placed
 */
static inline bool
take_atomic_ack(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
		struct uroce_send_wqe *wqe, struct uroce_mr_view *view)
{
	const uint64_t orig = be64_get(uroce_pkt_atomicacketh(pkt)->orig);

	return (wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) &&
	       place_fetched(qpc, wqe, &orig, sizeof(orig), view);
}

/*
 * Whether the fast path can process the responses that follow a response whose opcode has the lower
 * 5 bits `low`: the response is a READ response of one packet or an atomic acknowledgement, no
 * response is missing, and no request is being retransmitted.
 */
static bool
is_response_fast_path(const struct uroce_qpc *qpc, uint8_t low)
{
	const struct uroce_req *req = &qpc->req;

	return (low == UROCE_OP_READ_RESPONSE_ONLY || low == UROCE_OP_ATOMIC_ACK) &&
	       req->next_psn == req->max_psn && !uroce_req_has_answer_gap(req) &&
	       !uroce_req_is_rnr_wait(req);
}

unsigned
uroce_rd_atomic_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
			       const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	const bool is_read = tmpl->op->operation == UROCE_OPERATION_READ_RESPONSE;
	const uint32_t una_psn = req->una_psn;
	struct uroce_mr_view view = { 0 };
	uint64_t nb_bytes = 0;
	unsigned n;

	if (!is_response_fast_path(qpc, tmpl->opcode & 0x1f))
		return 0;
	nb = uroce_min(nb, uroce_psn_dist(una_psn, req->max_psn));
	for (n = 0; n < nb && uroce_fast_path_matches(&pkts[n], tmpl); n++) {
		struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx + n);
		const uint32_t psn = uroce_psn_add(una_psn, n);

		if (pkts[n].psn != psn || wqe->first_psn != psn || wqe->nb_psn != 1)
			break;
		if (!(is_read ? take_single_response(qpc, &pkts[n], wqe, &view)
			      : take_atomic_ack(qpc, &pkts[n], wqe, &view)))
			break;
		nb_bytes += pkts[n].payload_len;
	}
	if (!n)
		return 0;
	qpc->stats.rx_packets += n;
	qpc->stats.rx_bytes += nb_bytes;
	uroce_completer_end_rd(&qpc->req, n);
	uroce_completer_retire_answered(qpc, n, now_ns);
	uroce_retry_progress(qpc, now_ns);
	uroce_completer_check_drained(qpc);
	return n;
}
