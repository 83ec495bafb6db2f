/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer moves the requester's window when responses arrive [IBA 9.7.5.2, 9.7.6]. Every
 * response has a PSN, and acknowledges all requests before this PSN. But READs, atomics and other
 * requests with a response of their own are completed only by that response.
 */
#include "transport/requester/completer.h"

#include <assert.h>
#include <string.h>

#include "transport/completion.h"
#include "transport/error.h"
#include "transport/requester/pipeline.h"
#include "transport/requester/position.h"
#include "transport/recovery/retry.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

/* A batch of send requests that complete together. */
struct batch {
	/* a batch of CQ entries is open, because at least one of the requests is signaled */
	bool is_open;
	unsigned nb_sends; /* number of SENDs among the requests of the batch */
};

/* Write the completion of a send request, if the request is signaled. */
static inline void
complete_request(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct batch *batch,
		 uint64_t now_ns)
{
	batch->nb_sends += (wqe->flags & UROCE_WQE_SEND) != 0;
	if (!(wqe->flags & UROCE_WQE_SIGNALED))
		return;
	if (!batch->is_open)
		uroce_completion_send_begin(qpc);
	batch->is_open = true;
	uroce_completion_send(qpc, wqe, IBV_WC_SUCCESS, 0, now_ns);
}

/*
 * Move the beginning of the requester's window behind a completed request. The caller removes the
 * request from the send queue.
 */
static inline void
move_behind(struct uroce_req *req, const struct uroce_send_wqe *wqe, uint32_t idx)
{
	req->una_psn = uroce_psn_add(wqe->first_psn, wqe->nb_psn);
	req->una_idx = idx + 1;
}

/* Complete the oldest request. All of its PSNs are acknowledged. */
static void
retire_request(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct batch *batch,
	       uint64_t now_ns)
{
	complete_request(qpc, wqe, batch, now_ns);
	move_behind(&qpc->req, wqe, qpc->req.una_idx);
}

/*
 * Complete local requests (requests without packets) that were executed, as long as they are the
 * oldest requests in the send queue. A local request completes only after all requests before it.
 */
static void
retire_local(struct uroce_qpc *qpc, struct batch *batch, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	while (req->una_idx != req->begun_idx) {
		const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx);

		if (!(wqe->flags & UROCE_WQE_EXECUTED))
			return;
		retire_request(qpc, wqe, batch, now_ns);
	}
}

/*
 * End a batch of completed requests: free their slots in the send queue, which begin at `una_idx`,
 * and publish their completions.
 */
static void
end_retired(struct uroce_qpc *qpc, uint32_t una_idx, const struct batch *batch)
{
	if (qpc->req.una_idx != una_idx)
		uroce_ring_pop(&qpc->sq->ring, qpc->req.una_idx - una_idx);
	if (batch->is_open)
		uroce_completion_send_end(qpc);
	if (batch->nb_sends)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RDMA_SENDS, batch->nb_sends);
}

void
uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const uint32_t una_idx = qpc->req.una_idx;
	struct batch batch = { 0 };

	qpc->req.is_local_done = false;
	retire_local(qpc, &batch, now_ns);
	end_retired(qpc, una_idx, &batch);
	if (qpc->req.una_idx != una_idx)
		uroce_completer_check_drained(qpc);
}

bool
uroce_completer_advance(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t una_psn = req->una_psn, una_idx = req->una_idx;
	struct batch batch = { 0 };
	bool is_blocked = false;

	while (req->una_psn != psn) {
		const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx);

		is_blocked = uroce_wqe_needs_response(wqe);
		if (is_blocked)
			break;
		if (uroce_psn_in(psn, wqe->first_psn, wqe->nb_psn)) {
			req->una_psn = psn;
			break;
		}
		retire_request(qpc, wqe, &batch, now_ns);
	}
	if (req->una_idx != una_idx)
		retire_local(qpc, &batch, now_ns);
	end_retired(qpc, una_idx, &batch);
	if (req->una_psn != una_psn)
		uroce_retry_progress(qpc, now_ns);
	uroce_completer_check_drained(qpc);
	return !is_blocked;
}

void
uroce_completer_retire_answered(struct uroce_qpc *qpc, uint32_t nb, uint64_t now_ns)
{
	const uint32_t una_idx = qpc->req.una_idx;
	struct batch batch = { 0 };

	for (uint32_t i = 0; i < nb; i++)
		complete_request(qpc, uroce_req_wqe(qpc, una_idx + i), &batch, now_ns);
	move_behind(&qpc->req, uroce_req_wqe(qpc, una_idx + nb - 1), una_idx + nb - 1);
	retire_local(qpc, &batch, now_ns);
	end_retired(qpc, una_idx, &batch);
}

void
uroce_completer_end_rd(struct uroce_req *req, uint32_t nb)
{
	req->nb_rd_out = (uint8_t)(req->nb_rd_out > nb ? req->nb_rd_out - nb : 0);
}

/*
 * Whether the opcode of a READ response fits the position of the response. The response at the end
 * of a READ chunk, which is what one READ request requests, must have the opcode of a last
 * response. Another response may have the opcode of a last response only if a part of the chunk was
 * requested again.
 */
static bool
is_position_right(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt, bool is_chunk_end)
{
	const struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const bool is_last = pkt->op->flags & UROCE_OPF_LAST;

	return is_last == is_chunk_end || (is_last && uroce_req_has_answer_gap(&qpc->req) &&
					   uroce_psn_before(pkt->psn, answers->ask.begin));
}

enum uroce_verdict
uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, qpc->req.una_idx);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, pkt->psn);
	/* the response of FLUSH and ATOMIC_WRITE is that of a READ of length 0 [IBA A19] */
	const bool is_read = wqe->opcode == IBV_WR_RDMA_READ;
	const uint32_t len = is_read ? uroce_msg_payload(qpc, wqe->len, nth) : 0;

	if (pkt->payload_len != len ||
	    !is_position_right(qpc, pkt, uroce_req_chunk_left(qpc, wqe, nth) == 1))
		return uroce_error_bad_response(qpc, now_ns);
	bool is_bad = false;

	if (uroce_sge_scatter(qpc->mrs, qpc->pdn, uroce_send_wqe_data(wqe), wqe->nb_sge,
			      (uint64_t)nth << qpc->mtu_shift, pkt->payload, len, &is_bad)) {
		uroce_error_fail_request(qpc, IBV_WC_LOC_PROT_ERR, 0, now_ns);
		return UROCE_VERDICT_LOCAL_FAULT;
	}
	if (is_bad)
		uroce_pipeline_stop(qpc);
	qpc->stats.rx_bytes += len;
	return UROCE_VERDICT_RESPONSE;
}

static enum uroce_verdict
take_read_response(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, struct uroce_send_wqe *wqe,
		   uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, pkt->psn);
	const enum uroce_verdict verdict = uroce_completer_place(qpc, pkt, now_ns);

	if (verdict != UROCE_VERDICT_RESPONSE)
		return verdict;
	if (uroce_req_chunk_left(qpc, wqe, nth) == 1)
		uroce_completer_end_rd(req, 1);
	if (nth + 1 == wqe->nb_psn)
		uroce_completer_retire_answered(qpc, 1, now_ns);
	else
		req->una_psn = uroce_psn_add(pkt->psn, 1);
	return verdict;
}

static enum uroce_verdict
take_atomic_response(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, struct uroce_send_wqe *wqe,
		     uint64_t now_ns)
{
	const uint64_t orig = be64_get(uroce_pkt_atomicacketh(pkt)->orig);

	if (uroce_sge_scatter(qpc->mrs, qpc->pdn, uroce_send_wqe_data(wqe), wqe->nb_sge, 0, &orig,
			      sizeof(orig), NULL)) {
		uroce_error_fail_request(qpc, IBV_WC_LOC_PROT_ERR, 0, now_ns);
		return UROCE_VERDICT_LOCAL_FAULT;
	}
	uroce_completer_end_rd(&qpc->req, 1);
	uroce_completer_retire_answered(qpc, 1, now_ns);
	return UROCE_VERDICT_RESPONSE;
}

/* Whether the response to a request is an atomic acknowledgement. */
static bool
is_fetching(const struct uroce_send_wqe *wqe)
{
	return wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

enum uroce_verdict
uroce_completer_take(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, qpc->req.una_idx);
	const bool is_atomic = pkt->op->operation == UROCE_OPERATION_ATOMIC_ACK;

	if (!uroce_wqe_needs_response(wqe) || is_atomic != is_fetching(wqe))
		return uroce_error_bad_response(qpc, now_ns);
	const enum uroce_verdict verdict = is_atomic ? take_atomic_response(qpc, pkt, wqe, now_ns)
						     : take_read_response(qpc, pkt, wqe, now_ns);

	if (verdict == UROCE_VERDICT_RESPONSE) {
		uroce_retry_progress(qpc, now_ns);
		uroce_completer_check_drained(qpc);
	}
	return verdict;
}

void
uroce_completer_check_drained(struct uroce_qpc *qpc)
{
	if (!qpc->req.is_draining || qpc->req.una_idx != qpc->req.begun_idx)
		return;
	qpc->req.is_draining = false;
	if (qpc->attr.en_sqd_async_notify || qpc->is_stopped)
		qpc->events |= UROCE_QPC_SQ_DRAINED;
}
