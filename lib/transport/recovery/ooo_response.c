/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of lost responses: what the requester does with responses that arrive ahead of a missing
 * one. [IBA 9.7.5.2.3] calls such an arrival an implied NAK.
 *
 * A peer responds in order. So a response, an ACK or a NAK that arrives with a later PSN than a
 * missing response shows two things: the peer has executed every request before this later PSN, and
 * the missing response is lost or late. The oldest unacknowledged PSN (una_psn) stays at the first
 * missing response, and the requester keeps the responses that follow. A response from the middle
 * of the READ at una_psn is placed in memory, because base and length are known. The last response
 * of that READ, and all responses of later requests, are buffered and processed in order. A
 * duplicate is dropped. Where there is no room, a response is dropped as if it had been lost.
 *
 * Only missing responses are requested again. For each READ chunk one request covers the range from
 * the first missing response to the last. An atomic, or another request that gets a single
 * response, is retransmitted, and the peer repeats its response. The missing responses of a chunk
 * are requested when the last response of the chunk or a later response has arrived, and reordering
 * is ruled out (reorder_window.h). While an earlier part of a chunk is being requested, no later
 * part is requested: a peer may remember a READ only from the PSN on at which the READ was last
 * requested.
 *
 * A repeated request, or the responses to it, may also be lost. The peer responds in the order of
 * the requests. So a response to a later request proves that responses which are still missing are
 * lost, and they are requested once more. Where no later request exists, a probe requests the
 * missing responses (loss_recovery.c).
 *
 * The file has more than 500 lines: every function acts on the one state of the recovery of
 * responses.
 */
#include "transport/recovery/ooo_response.h"

#include "transport/requester/completer.h"
#include "transport/recovery/loss_recovery.h"
#include "transport/recovery/ooo_response_state.h"
#include "transport/requester/position.h"
#include "transport/recovery/psn_gap.h"
#include "transport/recovery/retry.h"
#include "wire/psn.h"

void
uroce_ooo_response_count_implied(struct uroce_qpc *qpc)
{
	qpc->stats.implied_naks++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_IMPLIED_NAK_SEQ_ERR, 1);
}

static void
open_response_gap(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &req->ooo_responses;

	if (answers->state != UROCE_OOO_RESPONSE_IN_ORDER)
		return;
	uroce_ooo_response_count_implied(qpc);
	(void)uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_GAP);
	answers->reorder_window.since_ns = now_ns;
	answers->seen_psn = req->una_psn;
	answers->ask.begin = req->una_psn;
	answers->resume_psn = req->una_psn;
	answers->round_psn = req->una_psn;
	answers->proof_psn = req->una_psn;
	req->rtt.sample_ns = 0;
	/*
	 * the requester is going back N (go-back-N), so the requests that it retransmits cover all
	 * responses from the send position on
	 */
	if (req->next_psn != req->max_psn)
		uroce_ooo_response_note_rewind(qpc);
}

static bool
is_response_here(const struct uroce_qpc *qpc, uint32_t psn)
{
	const struct uroce_psn_gap *gap = qpc->req.ooo_responses.gap;

	return gap && uroce_psn_in(psn, qpc->req.una_psn, UROCE_PSN_GAP_SPAN) &&
	       uroce_psn_gap_has(gap, psn);
}

/* Begin to request the missing responses again, because the reordering window has passed. */
static void
request_missing(struct uroce_qpc *qpc)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;

	if (uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_LOST) !=
	    UROCE_OOO_RESPONSE_DO_ASK)
		return;
	if (!uroce_psn_before(qpc->req.una_psn, answers->round_psn) ||
	    !uroce_psn_before(answers->round_max_psn, answers->seen_psn))
		return;
	answers->again = (struct uroce_psn_range){ qpc->req.una_psn, answers->round_psn };
	answers->round_psn = answers->ask.begin;
	answers->round_max_psn = qpc->req.max_psn;
}

/*
 * Check whether missing responses have to be requested again, after the peer has executed more
 * requests (seen_psn) or a missing response has arrived (una_psn).
 */
static void
check_missing(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const bool is_new = !uroce_psn_before(answers->seen_psn, answers->resume_psn);
	const bool is_round_over = uroce_psn_before(req->una_psn, answers->round_psn) &&
				   uroce_psn_before(answers->round_max_psn, answers->seen_psn);

	if ((!is_new && !is_round_over) ||
	    uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_MORE) !=
		    UROCE_OOO_RESPONSE_DO_ARM)
		return;
	const bool is_first = !uroce_psn_before(req->una_psn, answers->ask.begin);

	answers->ask.end = answers->seen_psn;
	answers->deadline = (is_first ? answers->reorder_window.since_ns : now_ns) +
			    uroce_reorder_window_delay_ns(&answers->reorder_window);
	if (now_ns >= answers->deadline)
		request_missing(qpc);
}

void
uroce_ooo_response_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (now_ns >= qpc->req.ooo_responses.deadline)
		request_missing(qpc);
}

void
uroce_ooo_response_note_executed(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;

	open_response_gap(qpc, now_ns);
	if (uroce_psn_before(answers->seen_psn, psn))
		answers->seen_psn = psn;
	check_missing(qpc, now_ns);
}

bool
uroce_ooo_response_recv_nak(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_req *req = &qpc->req;

	if (req->loss_recovery.peer != UROCE_PEER_ARQ_SELECTIVE || req->next_psn != req->max_psn)
		return false;
	req->ooo_responses.due |= UROCE_OOO_RESPONSE_DUE_NAK;
	req->ooo_responses.nak_psn = psn;
	return true;
}

static enum uroce_verdict
place_or_buffer_response(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &req->ooo_responses;
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, pkt->psn);

	if (!answers->gap)
		answers->gap = uroce_reorder_buffer_alloc_gap(qpc->reorder_buffer);
	if (!answers->gap || !uroce_psn_in(pkt->psn, req->una_psn, UROCE_PSN_GAP_SPAN))
		return UROCE_VERDICT_RESPONSE_GAP;
	if (uroce_psn_gap_has(answers->gap, pkt->psn))
		return UROCE_VERDICT_GHOST;
	if (wqe->opcode == IBV_WR_RDMA_READ && nth + 1 < wqe->nb_psn &&
	    pkt->op->operation == UROCE_OPERATION_READ_RESPONSE &&
	    !uroce_sge_is_ordered(qpc->mrs, uroce_send_wqe_data(wqe), wqe->nb_sge)) {
		const enum uroce_verdict verdict = uroce_completer_place(qpc, pkt, now_ns);

		if (verdict != UROCE_VERDICT_RESPONSE)
			return verdict;
		uroce_psn_gap_mark(answers->gap, pkt->psn);
		return UROCE_VERDICT_OOO_PLACED;
	}
	return uroce_reorder_buffer_insert(qpc->reorder_buffer, answers->gap, pkt)
		       ? UROCE_VERDICT_OOO_BUFFERED
		       : UROCE_VERDICT_RESPONSE_GAP;
}

/*
 * Whether a response may belong to the first transmission of its request, and not to a repeated
 * request: it has the opcode of a response to a request for the whole READ chunk.
 */
static bool
looks_original(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, pkt->psn);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, pkt->psn);
	const bool is_first = pkt->op->flags & UROCE_OPF_FIRST;
	const bool is_last = pkt->op->flags & UROCE_OPF_LAST;

	return wqe->opcode != IBV_WR_RDMA_READ ||
	       (is_first == (nth % qpc->chunk_psns == 0) &&
		is_last == (uroce_req_chunk_left(qpc, wqe, nth) == 1));
}

/*
 * Learn from a response to a repeated request how soon such a response can arrive. If the requester
 * has no round-trip sample yet, this response gives the first one.
 */
static void
note_response(struct uroce_req *req, uint64_t now_ns)
{
	struct uroce_ooo_responses *answers = &req->ooo_responses;
	const uint64_t ns = now_ns - answers->requested_ns;

	uroce_reorder_window_shrink(&answers->reorder_window);
	if (!answers->requested_ns)
		return;
	if (!answers->min_response_ns || ns < answers->min_response_ns)
		answers->min_response_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	if (req->rtt.srtt_ns)
		return;
	req->rtt.is_ambiguous = false;
	(void)uroce_rtt_update(&req->rtt, ns);
}

/*
 * Process a response to a repeated request, which has the PSN `psn` and is ahead of a missing
 * response. The missing responses before `psn` were requested before the response that has arrived.
 * So they are lost, unless they were requested once more in the meantime.
 */
static void
prove_lost(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;

	if (uroce_psn_before(psn, answers->proof_psn) ||
	    uroce_reorder_window_delay_ns(&answers->reorder_window))
		return;
	if (uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_LOST) !=
	    UROCE_OOO_RESPONSE_DO_ASK)
		return;
	answers->proof_psn = answers->ask.begin;
	answers->again = (struct uroce_psn_range){ qpc->req.una_psn, psn };
	answers->ask.end = answers->seen_psn;
}

/* Restart the ACK timer and the probe timer, because a response shows that the peer is alive. */
static void
extend_timers(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_loss_recovery_progress(qpc, now_ns);
	if (qpc->req.ack_deadline != UROCE_NEVER)
		uroce_retry_arm(qpc, now_ns);
}

enum uroce_verdict
uroce_ooo_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, pkt->psn);

	/*
	 * Drop a response whose PSN belongs to a request that gets only an ACK. The oldest
	 * unacknowledged PSN (una_psn) advances past such a PSN, so a frame that was buffered for
	 * it would never be released.
	 */
	if (!wqe || !uroce_wqe_needs_response(wqe))
		return UROCE_VERDICT_GHOST;
	open_response_gap(qpc, now_ns);
	const enum uroce_verdict verdict = place_or_buffer_response(qpc, pkt, now_ns);

	/*
	 * if no response gap is open any more, the response has put the QP into ERR, which discards
	 * the kept responses
	 */
	if (!uroce_req_has_answer_gap(&qpc->req))
		return verdict;
	if (verdict == UROCE_VERDICT_OOO_PLACED || verdict == UROCE_VERDICT_OOO_BUFFERED) {
		if (uroce_psn_before(pkt->psn, qpc->req.ooo_responses.ask.begin) &&
		    !looks_original(qpc, pkt)) {
			note_response(&qpc->req, now_ns);
			prove_lost(qpc, pkt->psn);
		}
		extend_timers(qpc, now_ns);
	}
	uroce_ooo_response_note_executed(qpc, uroce_psn_add(pkt->psn, 1), now_ns);
	return verdict;
}

void
uroce_ooo_response_note_arrival(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const bool was_asked = uroce_psn_before(qpc->req.una_psn, answers->ask.begin);
	uint32_t soonest_ns = qpc->req.rtt.min_rtt_ns;

	/*
	 * A response to a repeated request does not wait behind other responses. So such a response
	 * may arrive sooner than the shortest round trip.
	 */
	if (answers->min_response_ns && (!soonest_ns || answers->min_response_ns < soonest_ns))
		soonest_ns = answers->min_response_ns;
	if (was_asked && !looks_original(qpc, pkt))
		note_response(&qpc->req, now_ns);
	else if (was_asked && now_ns - answers->requested_ns >= soonest_ns / 4 * 3)
		uroce_reorder_window_shrink(&answers->reorder_window);
	else
		uroce_reorder_window_grow(&answers->reorder_window,
					  now_ns - answers->reorder_window.since_ns);
}

/*
 * Advance una_psn, the oldest unacknowledged PSN, past a response whose data was placed on arrival.
 * Such a response is never the last one of its READ.
 */
static void
skip_placed_response(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;
	const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, req->una_psn);

	uroce_psn_gap_clear(req->ooo_responses.gap, req->una_psn);
	if (uroce_req_chunk_left(qpc, wqe, nth) == 1)
		uroce_completer_end_rd(req, 1);
	req->una_psn = uroce_psn_add(req->una_psn, 1);
}

/*
 * Process the response at the oldest unacknowledged PSN (una_psn), if it has arrived.
 * @return false: the response has not arrived, or it has put the QP into ERR
 */
static bool
take_next_response(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const uint32_t psn = qpc->req.una_psn;

	if (!answers->gap || !uroce_psn_gap_has(answers->gap, psn))
		return false;
	const struct uroce_pkt *pkt =
		uroce_reorder_buffer_find(qpc->reorder_buffer, answers->gap, psn);

	if (!pkt) {
		skip_placed_response(qpc);
		return true;
	}
	if (uroce_completer_take(qpc, pkt, now_ns) != UROCE_VERDICT_RESPONSE)
		return false;
	uroce_reorder_buffer_drop(qpc->reorder_buffer, answers->gap, psn);
	return true;
}

void
uroce_ooo_response_drain(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &req->ooo_responses;
	const uint32_t una_psn = req->una_psn;

	while (uroce_req_has_answer_gap(req) && uroce_psn_before(req->una_psn, answers->seen_psn)) {
		uroce_completer_advance(qpc, answers->seen_psn, now_ns);
		if (!take_next_response(qpc, now_ns))
			break;
	}
	if (!uroce_req_has_answer_gap(req))
		return;
	if (req->una_psn != una_psn)
		uroce_retry_progress(qpc, now_ns);
	if (!uroce_psn_before(req->una_psn, answers->seen_psn)) {
		uroce_ooo_response_discard(qpc);
		return;
	}
	answers->reorder_window.since_ns = now_ns;
	check_missing(qpc, now_ns);
}

uint32_t
uroce_ooo_response_nb_missing(const struct uroce_qpc *qpc, uint32_t psn, uint32_t nb)
{
	while (nb && is_response_here(qpc, uroce_psn_add(psn, nb - 1)))
		nb--;
	return nb;
}

uint32_t
uroce_ooo_response_nb_present(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	const struct uroce_req *req = &qpc->req;
	const uint32_t seen_psn = req->ooo_responses.seen_psn;
	uint32_t nb = 0;

	if (req->next_psn == req->max_psn || wqe->flags & UROCE_WQE_LOCAL)
		return 0;
	if (uroce_wqe_needs_response(wqe)) {
		const uint32_t left = uroce_req_chunk_left(qpc, wqe, req->next_pkt);

		while (nb < left && is_response_here(qpc, uroce_psn_add(req->next_psn, nb)))
			nb++;
		return nb;
	}
	if (!uroce_psn_before(req->next_psn, seen_psn))
		return 0;
	nb = uroce_psn_dist(req->next_psn, seen_psn);
	return nb < wqe->nb_psn - req->next_pkt ? nb : wqe->nb_psn - req->next_pkt;
}

/*
 * Find the next missing responses in the PSN range `range`, to request them again. READ chunks that
 * end behind the range are left out. The beginning of the range moves behind the responses that
 * were found.
 * @return whether there are missing responses
 */
static bool
next_missing(const struct uroce_qpc *qpc, struct uroce_psn_range *range,
	     struct uroce_retransmit *out)
{
	if (uroce_psn_before(range->begin, qpc->req.una_psn))
		range->begin = qpc->req.una_psn;
	while (uroce_psn_before(range->begin, range->end)) {
		uint32_t first = range->begin;
		const struct uroce_send_wqe *wqe = uroce_position_request(qpc, first);
		const uint32_t pkt = uroce_psn_dist(wqe->first_psn, first);

		if (!uroce_wqe_needs_response(wqe)) {
			range->begin = uroce_psn_add(first, wqe->nb_psn - pkt);
			continue;
		}
		uint32_t nb = uroce_req_chunk_left(qpc, wqe, pkt);
		const uint32_t chunk_end_psn = uroce_psn_add(first, nb);

		if (uroce_psn_before(range->end, chunk_end_psn))
			return false;
		range->begin = chunk_end_psn;
		for (; nb && is_response_here(qpc, first); nb--)
			first = uroce_psn_add(first, 1);
		nb = uroce_ooo_response_nb_missing(qpc, first, nb);
		*out = (struct uroce_retransmit){ first, nb, true };
		if (nb)
			return true;
	}
	return false;
}

/*
 * Record that missing responses were requested again, so that a later response can show that they
 * were lost again.
 */
static void
note_requested(struct uroce_req *req, uint64_t now_ns)
{
	struct uroce_ooo_responses *answers = &req->ooo_responses;

	answers->requested_ns = now_ns;
	if (uroce_psn_before(req->una_psn, answers->round_psn) &&
	    answers->round_max_psn != req->max_psn)
		return;
	answers->round_psn = answers->ask.begin;
	answers->round_max_psn = req->max_psn;
}

/*
 * Get the request that the peer has reported as missing by a NAK, in order to retransmit it.
 * @return false: the request is not in flight any more
 */
static bool
next_naked(struct uroce_qpc *qpc, struct uroce_retransmit *out)
{
	const uint32_t psn = qpc->req.ooo_responses.nak_psn;
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, psn);

	qpc->req.ooo_responses.due &= (uint8_t)~UROCE_OOO_RESPONSE_DUE_NAK;
	if (!wqe || uroce_psn_before(psn, qpc->req.una_psn))
		return false;
	const uint32_t pkt = uroce_psn_dist(wqe->first_psn, psn);

	*out = (struct uroce_retransmit){ psn, uroce_req_chunk_left(qpc, wqe, pkt), true };
	return true;
}

/*
 * Request the response at the oldest unacknowledged PSN (una_psn) again, as a probe. If it belongs
 * to a READ, the other missing responses of its READ chunk are requested, too.
 * @return false: there is no response to request
 */
static bool
next_probe(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &req->ooo_responses;
	const uint32_t psn = req->una_psn;
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, psn);

	answers->due &= (uint8_t)~UROCE_OOO_RESPONSE_DUE_PROBE;
	if (!wqe || !uroce_wqe_needs_response(wqe))
		return false;
	const uint32_t pkt = uroce_psn_dist(wqe->first_psn, psn);
	struct uroce_psn_range chunk = { psn,
					 uroce_psn_add(psn, uroce_req_chunk_left(qpc, wqe, pkt)) };

	if (!next_missing(qpc, &chunk, out))
		return false;
	if (!uroce_req_is_fast_retx(req))
		uroce_loss_recovery_note_retransmit(qpc, uroce_psn_add(chunk.begin, UROCE_PSN_MASK),
						    now_ns);
	if (uroce_req_has_answer_gap(req)) {
		if (uroce_psn_before(answers->ask.begin, chunk.begin))
			answers->ask.begin = chunk.begin;
		note_requested(req, now_ns);
	}
	return true;
}

/*
 * Get the PSN that seen_psn has to reach before missing responses from `psn` on are requested
 * again: the end of the request or of the READ chunk that `psn` belongs to.
 */
static uint32_t
next_request_end(const struct uroce_qpc *qpc, uint32_t psn)
{
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, psn);

	if (!wqe || !uroce_wqe_needs_response(wqe))
		return uroce_psn_add(psn, 1);
	return uroce_psn_add(psn,
			     uroce_req_chunk_left(qpc, wqe, uroce_psn_dist(wqe->first_psn, psn)));
}

bool
uroce_ooo_response_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ooo_responses *answers = &req->ooo_responses;

	if (answers->state != UROCE_OOO_RESPONSE_LOST && !answers->due)
		return false;
	/*
	 * the requester is going back N, so the retransmitted requests cover all missing responses
	 */
	if (req->next_psn != req->max_psn) {
		uroce_ooo_response_note_rewind(qpc);
		return false;
	}
	if ((answers->due & UROCE_OOO_RESPONSE_DUE_NAK) && next_naked(qpc, out))
		return true;
	if ((answers->due & UROCE_OOO_RESPONSE_DUE_PROBE) && next_probe(qpc, out, now_ns))
		return true;
	while (answers->state == UROCE_OOO_RESPONSE_LOST) {
		if (next_missing(qpc, &answers->again, out) ||
		    next_missing(qpc, &answers->ask, out)) {
			note_requested(req, now_ns);
			return true;
		}
		(void)uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_ASKED);
		answers->resume_psn = next_request_end(qpc, answers->ask.begin);
		check_missing(qpc, now_ns);
	}
	return false;
}
