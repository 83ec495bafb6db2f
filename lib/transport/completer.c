/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completer [IBA 9.7.5.2, 9.7.6]: responses move the requester's window.
 *
 * Every response names a PSN and with it acknowledges all requests before it, but for READs and
 * atomics, which only their data can answer. So each response is handled in two steps: advance to
 * its PSN, which completes what it acknowledges; then do what it says there. If a READ or atomic is
 * in the way of the first step, its response was lost: that is an implied NAK, and the requester
 * goes back.
 */
#include "transport/role.h"

#include <assert.h>
#include <string.h>

#include "transport/completion.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* How a request ends that the peer refuses, by NAK code [IBA 9.7.5.2.8, 11.6.2]. */
static const uint8_t nak_status[] = {
	[UROCE_NAK_INV_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
	[UROCE_NAK_REM_ACCESS] = IBV_WC_REM_ACCESS_ERR,
	[UROCE_NAK_REM_OP] = IBV_WC_REM_OP_ERR,
	[UROCE_NAK_INV_RD_REQUEST] = IBV_WC_REM_INV_RD_REQ_ERR,
};

/* Requests that complete at once. */
struct batch {
	bool is_open;      /* some are signaled */
	unsigned nb_sends; /* SENDs */
};

/* The oldest request, all of whose PSNs are acknowledged, completes; it is popped by the caller. */
static void
retire_request(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct batch *batch,
	       uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	batch->nb_sends += (wqe->flags & UROCE_WQE_SEND) != 0;
	if (wqe->flags & UROCE_WQE_SIGNALED) {
		if (!batch->is_open)
			uroce_completion_send_begin(qpc);
		batch->is_open = true;
		uroce_completion_send(qpc, wqe, IBV_WC_SUCCESS, 0, now_ns);
	}
	req->una_psn = uroce_psn_add(wqe->first_psn, wqe->nb_psn);
	req->una_idx++;
}

/* Local requests have nothing to wait for but those before them. */
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

/* Give the slots of the requests from `una_idx` on back, and end the batch of their completions. */
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
		uroce_req_check_drained(qpc);
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
	uroce_req_check_drained(qpc);
	return !is_blocked;
}

/* A response was lost, or the peer saw a gap: go back, once for each place where that happens. */
static void
recover_or_rewind(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (qpc->req.is_rewound || qpc->req.is_rnr_wait)
		return;
	qpc->req.is_rewound = true;
	uroce_loss_recovery_reduce_cwnd(qpc);
	uroce_retry_rewind(qpc);
	uroce_retry_arm(qpc, now_ns);
}

/* An answer passed by one that is missing, where nothing is held. */
static enum uroce_verdict
imply_nak(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_ooo_response_count_implied(qpc);
	recover_or_rewind(qpc, now_ns);
	return UROCE_VERDICT_RESPONSE_GAP;
}

static enum uroce_verdict
fail_bad_response(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_req_fail(qpc, IBV_WC_BAD_RESP_ERR, UROCE_VERDICT_BAD_RESPONSE, now_ns);
	return UROCE_VERDICT_BAD_RESPONSE;
}

/* The oldest request got its last response. */
static void
retire_answered(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint64_t now_ns)
{
	const uint32_t una_idx = qpc->req.una_idx;
	struct batch batch = { 0 };

	retire_request(qpc, wqe, &batch, now_ns);
	retire_local(qpc, &batch, now_ns);
	end_retired(qpc, una_idx, &batch);
}

void
uroce_completer_end_rd(struct uroce_req *req)
{
	if (req->nb_rd_out)
		req->nb_rd_out--;
}

/*
 * Whether a response may be the last of its READ request: at the end of a chunk it is, and elsewhere
 * only if a part was asked for again.
 */
static bool
is_position_right(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt, bool is_chunk_end)
{
	const struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const bool is_last = pkt->op->flags & UROCE_OPF_LAST;

	return is_last == is_chunk_end ||
	       (is_last && answers->is_open && uroce_psn_before(pkt->psn, answers->requested_psn));
}

enum uroce_verdict
uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, qpc->req.una_idx);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, pkt->psn);
	/* FLUSH and ATOMIC_WRITE are answered like a READ of nothing [IBA A19] */
	const bool is_read = wqe->opcode == IBV_WR_RDMA_READ;
	const uint32_t len = is_read ? uroce_msg_payload(qpc, wqe->len, nth) : 0;

	if (pkt->payload_len != len ||
	    !is_position_right(qpc, pkt, uroce_req_chunk_left(qpc, wqe, nth) == 1))
		return fail_bad_response(qpc, now_ns);
	bool is_bad = false;

	if (uroce_sge_scatter(qpc->mrs, qpc->pdn, uroce_send_wqe_data(wqe), wqe->nb_sge,
			      (uint64_t)nth << qpc->mtu_shift, pkt->payload, len, &is_bad)) {
		uroce_req_fail(qpc, IBV_WC_LOC_PROT_ERR, 0, now_ns);
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
		uroce_completer_end_rd(req);
	if (nth + 1 == wqe->nb_psn)
		retire_answered(qpc, wqe, now_ns);
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
		uroce_req_fail(qpc, IBV_WC_LOC_PROT_ERR, 0, now_ns);
		return UROCE_VERDICT_LOCAL_FAULT;
	}
	uroce_completer_end_rd(&qpc->req);
	retire_answered(qpc, wqe, now_ns);
	return UROCE_VERDICT_RESPONSE;
}

/* Whether a request is answered by an atomic acknowledgement. */
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
		return fail_bad_response(qpc, now_ns);
	const enum uroce_verdict verdict = is_atomic ? take_atomic_response(qpc, pkt, wqe, now_ns)
						     : take_read_response(qpc, pkt, wqe, now_ns);

	if (verdict == UROCE_VERDICT_RESPONSE) {
		uroce_retry_progress(qpc, now_ns);
		uroce_req_check_drained(qpc);
	}
	return verdict;
}

/* A response with data, for the request that una_psn is in. */
static enum uroce_verdict
take_data_response(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;

	if (!uroce_completer_advance(qpc, pkt->psn, now_ns)) {
		if (!qpc->is_req_gbn)
			return uroce_ooo_response_recv(qpc, pkt, now_ns);
		return imply_nak(qpc, now_ns);
	}
	if (!answers->is_open)
		return uroce_completer_take(qpc, pkt, now_ns);
	uroce_ooo_response_note_arrival(qpc, pkt, now_ns);
	const enum uroce_verdict verdict = uroce_completer_take(qpc, pkt, now_ns);

	uroce_ooo_response_drain(qpc, now_ns);
	return verdict;
}

/* @param psn  of the request that found no receive request */
static enum uroce_verdict
take_rnr_nak(struct uroce_qpc *qpc, uint32_t psn, uint8_t timer_code, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	qpc->stats.naks_rnr++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_RCVD_RNR_ERR, 1);
	/* if it is true, the peer is not silent: it says so each time that it is asked */
	if (now_ns < req->rnr_ignore_ns) {
		req->retry_left = qpc->attr.retry_cnt;
		uroce_retry_arm(qpc, now_ns);
		return UROCE_VERDICT_NAK_RNR;
	}
	if (!req->is_rnr_wait && !req->rnr_left) {
		uroce_req_fail(qpc, IBV_WC_RNR_RETRY_EXC_ERR, 0, now_ns);
		return UROCE_VERDICT_NAK_RNR;
	}
	uroce_count_in(qpc->counters, UROCE_COUNTER_RNR_NAK_RETRY_ERR, 1);
	if (req->is_rnr_wait)
		return UROCE_VERDICT_NAK_RNR;
	if (req->rnr_left != 7) /* 7: without limit [IBA 9.7.5.2.8] */
		req->rnr_left--;
	uroce_retry_rewind(qpc);
	req->is_rewound = false;
	req->is_rnr_wait = true;
	req->rnr_ns = now_ns;
	req->rnr_psn = psn;
	req->rnr_deadline = now_ns + uroce_rnr_timer_ns(timer_code);
	req->ack_deadline = UROCE_NEVER;
	return UROCE_VERDICT_NAK_RNR;
}

static void
count_nak_seq(struct uroce_qpc *qpc)
{
	qpc->stats.naks_seq++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_PACKET_SEQ_ERR, 1);
}

static enum uroce_verdict
take_nak(struct uroce_qpc *qpc, uint8_t code, uint64_t now_ns)
{
	if (code == UROCE_NAK_PSN_SEQ) {
		count_nak_seq(qpc);
		if (!uroce_loss_recovery_on_ack(qpc, true, now_ns))
			recover_or_rewind(qpc, now_ns);
		return UROCE_VERDICT_NAK_SEQ;
	}
	if (code >= sizeof(nak_status))
		return fail_bad_response(qpc, now_ns);
	uroce_req_fail(qpc, (enum ibv_wc_status)nak_status[code],
		       uroce_syndrome_make(UROCE_AETH_NAK, code), now_ns);
	return UROCE_VERDICT_NAK_FATAL;
}

/* It acknowledges what is before `upto`, but an answer of before is missing. */
static enum uroce_verdict
take_ack_ahead(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint32_t upto, uint64_t now_ns)
{
	const uint8_t syndrome = uroce_pkt_aeth(pkt)->syndrome;
	const uint8_t value = uroce_syndrome_value(syndrome);
	const bool is_nak_seq =
		uroce_syndrome_kind(syndrome) == UROCE_AETH_NAK && value == UROCE_NAK_PSN_SEQ;

	if (is_nak_seq)
		count_nak_seq(qpc);
	if (qpc->is_req_gbn)
		return imply_nak(qpc, now_ns);
	uroce_ooo_response_note_executed(qpc, upto, now_ns);
	if (uroce_syndrome_kind(syndrome) == UROCE_AETH_RNR)
		return take_rnr_nak(qpc, upto, value, now_ns);
	if (is_nak_seq && !uroce_ooo_response_recv_nak(qpc, upto))
		recover_or_rewind(qpc, now_ns);
	return UROCE_VERDICT_RESPONSE_GAP;
}

static enum uroce_verdict
take_ack(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	const uint8_t syndrome = uroce_pkt_aeth(pkt)->syndrome;
	const enum uroce_aeth_kind kind = uroce_syndrome_kind(syndrome);
	/* an ACK acknowledges its PSN, a NAK what is before it */
	const uint32_t upto = uroce_psn_add(pkt->psn, kind == UROCE_AETH_ACK);

	if (!uroce_completer_advance(qpc, upto, now_ns))
		return take_ack_ahead(qpc, pkt, upto, now_ns);
	switch (kind) {
	case UROCE_AETH_ACK:
		if (req->loss_recovery.is_open && !uroce_loss_recovery_on_ack(qpc, false, now_ns))
			uroce_loss_recovery_go_back_n(qpc);
		return UROCE_VERDICT_RESPONSE;
	case UROCE_AETH_RNR:
		return take_rnr_nak(qpc, upto, uroce_syndrome_value(syndrome), now_ns);
	case UROCE_AETH_NAK:
		return take_nak(qpc, uroce_syndrome_value(syndrome), now_ns);
	case UROCE_AETH_RESERVED:
		break;
	}
	return fail_bad_response(qpc, now_ns);
}

enum uroce_verdict
uroce_completer_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t nb_out = uroce_psn_dist(req->una_psn, req->max_psn);

	/* no other service has responses: its QPs never see one */
	assert(uroce_qpc_is_reliable(qpc) && qpc->sq);
	if (!uroce_psn_in(pkt->psn, req->una_psn, nb_out))
		return UROCE_VERDICT_GHOST;
	if (pkt->op->operation == UROCE_OPERATION_ACK)
		return take_ack(qpc, pkt, now_ns);
	return take_data_response(qpc, pkt, now_ns);
}
