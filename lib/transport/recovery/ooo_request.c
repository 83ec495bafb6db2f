/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processing of requests that arrive behind a PSN gap. [IBA 9.7.5.1.1] requires a NAK, and allows a
 * responder to drop these requests.
 *
 * The payload of a Middle packet of the WRITE that is being received is placed in memory on
 * arrival. Base and length of the WRITE are known, so all packets before the Middle packet belong
 * to the same message, and access was granted. Middle packets of WRITEs that directly follow are
 * placed, too (ddp.c). Every other packet is buffered unchanged, and executed in PSN order when the
 * gap is filled. So the first and the last packet of a message are visible only after everything
 * before them, and a duplicate of a placed packet is not placed again.
 *
 * Many packets may be buffered, and few of them are still in the cache. So the buffered packets are
 * executed in several parts. Each part is acknowledged, so that the peer can send new packets
 * meanwhile. Until the last part is executed, the packet with the expected PSN (epsn) is present
 * and no gap is reported.
 *
 * ooo_request_state.c is the table of the states of the reception. A NAK reports the gap when a
 * packet behind it arrives and reordering is ruled out (reorder_window.h). Behind a filled gap
 * there may be another gap. A peer that goes back N fills this next gap without a NAK. So the next
 * gap is reported when another packet behind it arrives, or after the time that the last gap was
 * open.
 *
 * A window limits how far ahead of epsn a packet may be, because an attacker who forges packets
 * must not find accepted PSNs easily. A peer sends one packet after the other, and most of them
 * arrive, so a packet far ahead of all others is not the peer's. The window is UROCE_OOO_WINDOW_MIN
 * PSNs, plus twice the largest of three numbers: the PSNs that have arrived out of order, the PSNs
 * behind an earlier gap, and the responses of one READ. Each packet that arrives behind a gap
 * widens this window by more than the one PSN of the packet. A packet beyond the window is dropped
 * and counted, and the peer retransmits it.
 *
 * If two packets of one PSN differ, psn_conflict.c discards both. A buffered packet that is refused
 * when it is executed might end the QP, and may be forged. So it is also discarded, and its PSN is
 * requested again. If the packet was the peer's, the peer retransmits it.
 *
 * The responder learns whether a gap was loss or reordering from the packet that fills the gap. A
 * packet that requests an ACK is a retransmission, or a probe that came before the NAK. For any
 * other packet, the packet after it decides. If that packet is a duplicate of the packet behind the
 * gap, which was kept, the peer goes back N. If that packet is a duplicate of the packet that
 * filled the gap, or a new packet, then the gap was reordering.
 */
#include "transport/recovery/ooo_request.h"

#include "transport/responder/aeth.h"
#include "transport/recovery/ahead.h"
#include "transport/completion.h"
#include "transport/recovery/ddp.h"
#include "transport/responder/execute.h"
#include "transport/recovery/ooo_request_state.h"
#include "transport/requester/position.h"
#include "transport/recovery/psn_conflict.h"
#include "transport/recovery/psn_gap.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/*
 * Number of buffered packets that are executed at once, before the worker processes other packets.
 */
#define DRAIN_BURST 32

/*
 * Whether the request with the expected PSN (epsn) is buffered or placed, and waits for its
 * execution.
 */
static bool
is_draining(const struct uroce_resp *resp)
{
	return resp->ooo_state == UROCE_OOO_REQUEST_DRAINING;
}

static bool
is_nak_sent(const struct uroce_resp *resp)
{
	return resp->ooo_state == UROCE_OOO_REQUEST_NAK_SENT ||
	       resp->ooo_state == UROCE_OOO_REQUEST_RNR_NAK_SENT;
}

/*
 * Find the memory where the payload of a Middle packet of a WRITE can be placed.
 * @return NULL: the packet is of another kind, access is refused, or the memory is not known yet
 */
static void *
find_placement(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint32_t ahead)
{
	const struct uroce_resp *resp = &qpc->resp;
	const uint32_t mtu = 1u << qpc->mtu_shift;
	const uint64_t at = resp->msg_len + ((uint64_t)ahead << qpc->mtu_shift);

	if (qpc->srqs || pkt->op->operation != UROCE_OPERATION_WRITE ||
	    (pkt->op->flags & (UROCE_OPF_FIRST | UROCE_OPF_LAST)) || pkt->payload_len != mtu)
		return NULL;
	if (resp->operation != UROCE_OPERATION_WRITE || at + mtu >= resp->write_len)
		return uroce_ddp_place(qpc, pkt->psn);
	return uroce_rkey_resolve(qpc->mrs, resp->write_rkey, qpc->pdn, qpc->qpn,
				  resp->write_va + at, mtu, IBV_ACCESS_REMOTE_WRITE);
}

static enum uroce_verdict
place_or_buffer_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint32_t ahead)
{
	struct uroce_resp *resp = &qpc->resp;

	if (!resp->gap)
		resp->gap = uroce_reorder_buffer_alloc_gap(qpc->reorder_buffer);
	if (!resp->gap)
		return UROCE_VERDICT_PSN_GAP;
	if (uroce_psn_gap_has(resp->gap, pkt->psn))
		return uroce_psn_conflict_check(qpc, pkt);
	void *dst = find_placement(qpc, pkt, ahead);

	if (dst) {
		uroce_ddp_copy_around(qpc, pkt->psn, dst, pkt->payload, pkt->payload_len);
		uroce_psn_gap_mark(resp->gap, pkt->psn);
		return UROCE_VERDICT_OOO_PLACED;
	}
	if (uroce_reorder_buffer_insert(qpc->reorder_buffer, resp->gap, pkt))
		return UROCE_VERDICT_OOO_BUFFERED;
	if (!resp->gap->nb)
		uroce_ooo_request_discard(qpc);
	return UROCE_VERDICT_PSN_GAP;
}

/*
 * Count the response packets of a READ that was buffered. Each response packet uses a PSN, so the
 * PSNs of later requests are higher by this number, and a higher PSN must be accepted. A READ with
 * a wrong key is not counted: otherwise an attacker without a key could raise the accepted PSN by a
 * forged length.
 */
static void
note_buffered(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (pkt->op->operation == UROCE_OPERATION_READ && uroce_execute_may_read(qpc, pkt))
		qpc->resp.gap->nb_reads +=
			uroce_min(uroce_msg_packets(qpc, be32_get(uroce_pkt_reth(pkt)->dma_len)),
				  UROCE_PSN_GAP_SPAN);
}

/*
 * Process an event of the reception of requests, and carry out the action that the state machine
 * (ooo_request_state.c) returns.
 * @param deadline_ns  deadline of the timer, if the event starts the timer
 */
static void
step_reception(struct uroce_qpc *qpc, enum uroce_ooo_request_event event, uint64_t deadline_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const enum uroce_ooo_request_action action = uroce_ooo_request_step(qpc, event);

	if (action == UROCE_OOO_REQUEST_DO_ARM)
		resp->nak_deadline = deadline_ns;
	else if (action == UROCE_OOO_REQUEST_DO_NAK)
		uroce_aeth_schedule_nak(
			resp, uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_PSN_SEQ), resp->epsn);
}

static void
report_loss(struct uroce_qpc *qpc)
{
	step_reception(qpc, UROCE_OOO_REQUEST_ON_LOST, UROCE_NEVER);
}

/*
 * Report the PSN gap at the expected PSN (epsn) by a NAK: at once if reordering is ruled out,
 * otherwise at the end of the reordering window.
 */
static void
report_gap(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint64_t delay_ns =
		resp->is_peer_gbn ? 0 : uroce_reorder_window_delay_ns(&resp->reorder_window);

	if (!resp->reorder_window.since_ns)
		resp->reorder_window.since_ns = now_ns;
	if (now_ns - resp->reorder_window.since_ns >= delay_ns)
		report_loss(qpc);
	else
		step_reception(qpc, UROCE_OOO_REQUEST_ON_GAP,
			       resp->reorder_window.since_ns + delay_ns);
}

static bool
has_dropped(const struct uroce_resp *resp)
{
	return resp->dropped_end != UROCE_OOO_PSN_NONE;
}

static void
note_dropped(struct uroce_resp *resp, uint32_t psn)
{
	const uint32_t end = uroce_psn_add(psn, 1);

	if (!has_dropped(resp) || uroce_psn_before(resp->dropped_end, end))
		resp->dropped_end = end;
}

enum uroce_verdict
uroce_ooo_request_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint32_t ahead = uroce_psn_dist(resp->epsn, pkt->psn);
	enum uroce_verdict verdict = UROCE_VERDICT_PSN_GAP;

	qpc->stats.ooo_requests++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_SEQUENCE, 1);
	/* after an RNR NAK the peer retransmits everything, so this request is dropped */
	if (resp->ooo_state == UROCE_OOO_REQUEST_RNR_NAK_SENT)
		return verdict;
	if (qpc->reorder_buffer && !qpc->is_resp_gbn) {
		if (uroce_ahead_is_in_window(qpc, ahead))
			verdict = place_or_buffer_request(qpc, pkt, ahead);
		else
			uroce_count_in(qpc->counters, UROCE_COUNTER_RX_BEYOND_WINDOW, 1);
	}
	if (verdict == UROCE_VERDICT_OOO_BUFFERED)
		note_buffered(qpc, pkt);
	/*
	 * remember the packet that opened the gap, because it may be forged: a forged packet among
	 * packets in order opens a gap
	 */
	if ((verdict == UROCE_VERDICT_OOO_BUFFERED || verdict == UROCE_VERDICT_OOO_PLACED) &&
	    resp->gap->nb == 1)
		uroce_psn_conflict_remember(qpc, pkt);
	if (verdict == UROCE_VERDICT_PSN_GAP)
		note_dropped(resp, pkt->psn);
	if (!is_draining(resp))
		report_gap(qpc, now_ns);
	return verdict;
}

void
uroce_ooo_request_classify_fill(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_known = uroce_psn_before(psn, resp->epsn);
	const uint32_t behind = uroce_psn_dist(resp->fill_psn, psn);

	/*
	 * most duplicates do not show what filled the gap: only a duplicate of the packet that
	 * filled the gap, or of the packet behind that one, does
	 */
	if (is_known && behind > 1)
		return;
	resp->is_fill_doubtful = false;
	resp->is_peer_gbn = is_known && behind == 1;
	if (resp->is_peer_gbn)
		uroce_reorder_window_shrink(&resp->reorder_window);
	else
		uroce_reorder_window_grow(&resp->reorder_window, resp->fill_ns);
}

/*
 * Learn from the packet that fills a PSN gap whether the packet is a retransmission or was only
 * late. Store the time for which the gap was open.
 */
static void
learn_gap_cause(struct uroce_resp *resp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const uint64_t age_ns = now_ns - resp->reorder_window.since_ns;

	resp->fill_psn = resp->epsn;
	resp->fill_ns = age_ns < UINT32_MAX ? (uint32_t)age_ns : UINT32_MAX;
	/*
	 * if no packets were kept behind the gap, nothing is learnt: the peer has to retransmit
	 * these packets, as if it went back N
	 */
	if (!resp->gap)
		return;
	/*
	 * A packet that requests an ACK is a retransmission, or a probe that the peer sent before
	 * the NAK arrived. So the reordering window was too long.
	 */
	if (pkt->has_ack_req)
		uroce_reorder_window_shrink(&resp->reorder_window);
	else
		resp->is_fill_doubtful = true;
}

/* Advance the expected PSN (epsn) past a packet whose payload was placed on arrival. */
static void
skip_placed_request(struct uroce_qpc *qpc)
{
	struct uroce_resp *resp = &qpc->resp;

	uroce_psn_gap_clear(resp->gap, resp->epsn);
	uroce_aeth_advance(resp, 1, 0, false);
	resp->msg_len += 1u << qpc->mtu_shift;
	qpc->stats.rx_bytes += 1u << qpc->mtu_shift;
}

/*
 * Discard the packets with PSNs in `[psn, epsn)` that were kept behind a PSN gap. A READ that was
 * executed advances epsn, the expected PSN, by the number of its responses. Packets with these PSNs
 * cannot be requests of a correct peer.
 */
static void
drop_passed(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_resp *resp = &qpc->resp;
	uint32_t nb = uroce_psn_dist(psn, resp->epsn);

	for (nb = nb < UROCE_PSN_GAP_SPAN ? nb : UROCE_PSN_GAP_SPAN; nb && resp->gap->nb; nb--) {
		if (uroce_psn_gap_has(resp->gap, psn))
			uroce_reorder_buffer_drop(qpc->reorder_buffer, resp->gap, psn);
		psn = uroce_psn_add(psn, 1);
	}
}

/*
 * Let the peer retransmit the packet with the expected PSN (epsn), because the packet that was
 * buffered for this PSN is refused. If the buffered packet came from the peer, the retransmission
 * is identical to it.
 */
static void
request_retransmit(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uroce_psn_conflict_remember(qpc, pkt);
	uroce_psn_conflict_discard(qpc, qpc->resp.epsn);
	qpc->resp.reorder_window.since_ns = now_ns;
	report_loss(qpc);
}

/*
 * Execute up to DRAIN_BURST of the packets that were kept behind a filled gap and are in order.
 * @return false: a packet was refused, so no more packets can be executed now
 */
static bool
drain_requests(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	unsigned nb = 0;

	while (uroce_psn_gap_has(resp->gap, resp->epsn)) {
		const uint32_t psn = resp->epsn;
		const struct uroce_pkt *pkt =
			uroce_reorder_buffer_find(qpc->reorder_buffer, resp->gap, psn);

		if (!pkt) {
			skip_placed_request(qpc);
			continue;
		}
		if (nb++ == DRAIN_BURST)
			break;
		const enum uroce_verdict verdict = uroce_execute_held(qpc, pkt, now_ns);

		/*
		 * if no PSN gap is open any more, the packet has put the QP into ERR, which
		 * discards the kept packets
		 */
		if (!resp->gap)
			return false;
		if (resp->ooo_state == UROCE_OOO_REQUEST_RNR_NAK_SENT) {
			uroce_ooo_request_discard(qpc);
			return false;
		}
		if (verdict != UROCE_VERDICT_REQUEST) {
			request_retransmit(qpc, pkt, now_ns);
			return false;
		}
		drop_passed(qpc, psn);
	}
	return true;
}

/*
 * Execute some of the packets that were kept behind a filled gap. If more of them are in order,
 * schedule the next call of this function; if there is another gap, schedule the NAK that reports
 * it.
 */
static void
resume_drain(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (!drain_requests(qpc, now_ns))
		return;
	uroce_aeth_schedule_ack(resp);
	if (!resp->gap->nb) {
		uroce_ooo_request_discard(qpc);
	} else if (uroce_psn_gap_has(resp->gap, resp->epsn)) {
		step_reception(qpc, UROCE_OOO_REQUEST_ON_FILLED, now_ns + 1);
	} else {
		const uint64_t wait_ns =
			resp->fill_ns + uroce_reorder_window_delay_ns(&resp->reorder_window);

		resp->reorder_window.since_ns = now_ns;
		step_reception(qpc, UROCE_OOO_REQUEST_ON_GAP, now_ns + (wait_ns ? wait_ns : 1));
	}
}

static enum uroce_verdict
fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint32_t psn = resp->epsn;

	if (resp->reorder_window.since_ns)
		learn_gap_cause(resp, pkt, now_ns);
	if (psn == qpc->ooo_first_psn)
		uroce_psn_conflict_compare(qpc, pkt);
	resp->reorder_window.since_ns = 0;
	const enum uroce_verdict verdict = uroce_execute_expected(qpc, pkt, now_ns);

	if (!resp->gap)
		return verdict;
	if (verdict != UROCE_VERDICT_REQUEST) {
		uroce_ooo_request_discard(qpc);
		return verdict;
	}
	drop_passed(qpc, psn);
	uroce_ahead_note(qpc, resp->gap->nb);
	resume_drain(qpc, now_ns);
	return verdict;
}

/*
 * If a packet that was dropped is still missing, report it by a NAK, because the peer does not know
 * that the packet is missing.
 */
static void
report_dropped(struct uroce_qpc *qpc)
{
	struct uroce_resp *resp = &qpc->resp;

	if (is_draining(resp))
		return;
	if (uroce_psn_before(resp->epsn, resp->dropped_end))
		report_loss(qpc);
	else
		resp->dropped_end = UROCE_OOO_PSN_NONE;
}

enum uroce_verdict
uroce_ooo_request_fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_reported = is_nak_sent(resp) && !resp->has_aeth;

	if (is_draining(resp))
		return UROCE_VERDICT_DUPLICATE;
	const enum uroce_verdict verdict = fill_gap(qpc, pkt, now_ns);

	if (!has_dropped(resp))
		return verdict;
	/*
	 * If a NAK reported the gap, the peer retransmits everything behind the gap, including the
	 * packets that were dropped. Otherwise a NAK has to report the dropped packets.
	 */
	if (is_reported || verdict != UROCE_VERDICT_REQUEST)
		resp->dropped_end = UROCE_OOO_PSN_NONE;
	else
		report_dropped(qpc);
	return verdict;
}

void
uroce_ooo_request_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (now_ns < resp->nak_deadline)
		return;
	if (!is_draining(resp)) {
		report_loss(qpc);
		return;
	}
	resume_drain(qpc, now_ns);
	uroce_completion_recv_end(qpc);
	if (has_dropped(resp))
		report_dropped(qpc);
}
