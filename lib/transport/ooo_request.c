/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that arrive ahead of a hole [IBA 9.7.5.1.1 asks for a NAK, and lets them be dropped].
 *
 * A packet from the middle of the WRITE that is being received now is placed: its base and its length
 * are known, so all packets up to it belong to the same message and were granted with it. The same goes
 * for the WRITEs right behind it (ddp.c). Everything else is held as it is, and executed in PSN order
 * when the hole is filled. So the first packet of a message and its last come after all before them,
 * and a repetition of what was placed is not placed again.
 *
 * Much may have been held, and much of it is no longer in the cache. So it is executed a slice at a time,
 * and each slice is acknowledged: the peer goes on meanwhile. Until that is done the packet at epsn is
 * there, and there is no hole to report.
 *
 * The hole is reported by a NAK when a packet ahead of it arrives and reordering is ruled out by
 * reorder_window.h. Behind a filled hole there may be the next. A peer that repeats its whole window will pass by
 * it anyway, so it is reported when another packet ahead of it arrives; or, if none does, after the
 * time that the last repair took.
 *
 * How far ahead? Whoever forges a packet has to guess a PSN that is taken. What is far ahead of all else that is here
 * is not what a peer sends that has lost something: it sends one packet after the other, and most arrive. So as much is
 * taken as UROCE_OOO_WINDOW_MIN, and twice the PSNs that are here already, or were behind an earlier hole that was filled, or that
 * one READ asked for. Packets that follow a loss widen the window as they come, each by more than it needs itself. What is
 * beyond is dropped and counted, and comes again with the repair.
 *
 * What came ahead is not believed as what comes in order is. Two packets of one PSN that are not the same are not both
 * the peer's, and nothing says which one is: what is here of that PSN is forgotten, it is asked for again, and what comes
 * in order decides. Where the first of them was executed meanwhile, all that is left is to say so. A held packet that is
 * refused at its turn, as one that may end the QP, is forgotten and asked for again, too: if the peer means it, it comes
 * again.
 *
 * What filled a hole? A packet that asks for an ACK: the requester repairs one packet and asks, or its
 * probe came before our NAK. A packet that is followed by the one behind it, which we have: the
 * requester goes back N. If it is followed by itself, or by one that is new, it was late.
 */
#include "transport/ooo_request.h"

#include <string.h>

#include "transport/aeth.h"
#include "transport/ahead.h"
#include "transport/completion.h"
#include "transport/ddp.h"
#include "transport/execute.h"
#include "transport/position.h"
#include "transport/psn_gap.h"
#include "wire/crc32.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* Held packets that are executed at a time. */
#define DRAIN_BURST 32

/* Whether the packet at epsn is here, and waits for its turn. */
static bool
is_epsn_ready(const struct uroce_resp *resp)
{
	return resp->gap && resp->gap->is_ready;
}

/* Where a packet from the middle of a WRITE goes; NULL: it is not one, or refused, or not known. */
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

static void
count_conflict(struct uroce_qpc *qpc)
{
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_PSN_CONFLICT, 1);
	qpc->events |= UROCE_QPC_PSN_CONFLICT;
}

/* Whether a request is always the same when it comes again: a READ may ask for a part of what it did. */
static bool
is_retransmit_identical(const struct uroce_pkt *pkt)
{
	return pkt->op->operation != UROCE_OPERATION_READ;
}

/* Whether two requests of one PSN are the same, but for what a repetition changes. */
static bool
is_same_request(const struct uroce_pkt *a, const struct uroce_pkt *b)
{
	if (a->opcode != b->opcode)
		return false;
	return !is_retransmit_identical(a) ||
	       (a->payload_len == b->payload_len && !memcmp(a->ext, b->ext, a->op->ext_len) &&
		!memcmp(a->payload, b->payload, a->payload_len));
}

/* What is in a request, in one word. */
static uint32_t
hash_request(const struct uroce_pkt *pkt)
{
	const uint32_t sum = uroce_crc32(pkt->opcode, pkt->ext, pkt->op->ext_len);

	return uroce_crc32(sum, pkt->payload, pkt->payload_len);
}

/*
 * Whether a packet is another than what is here of its PSN. Of what was placed only the packet that opened the hole is
 * known; the memory may have been changed since by who may.
 */
static bool
is_psn_conflict(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_pkt *held =
		uroce_reorder_buffer_find(qpc->reorder_buffer, qpc->resp.gap, pkt->psn);

	if (held)
		return !is_same_request(held, pkt);
	if (pkt->op->operation != UROCE_OPERATION_WRITE ||
	    (pkt->op->flags & (UROCE_OPF_FIRST | UROCE_OPF_LAST)))
		return true;
	return pkt->psn == qpc->ooo_first_psn && qpc->ooo_first_sum != hash_request(pkt);
}

/*
 * What is here of this PSN does not count. If it is the first packet of a WRITE, what is behind it may have been placed by
 * what it says, and does not count either.
 */
static void
forget_psn(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_psn_gap *gap = qpc->resp.gap;
	const struct uroce_pkt *held = uroce_reorder_buffer_find(qpc->reorder_buffer, gap, psn);
	const bool is_base = held && gap->ddp.nb && held->op->flags & UROCE_OPF_FIRST;

	uroce_reorder_buffer_drop(qpc->reorder_buffer, gap, psn);
	if (is_base || !gap->nb)
		uroce_ahead_discard(qpc);
}

/* There is a packet of that PSN. If it is another, neither counts. */
static enum uroce_verdict
compare_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (!is_psn_conflict(qpc, pkt))
		return UROCE_VERDICT_DUPLICATE;
	count_conflict(qpc);
	forget_psn(qpc, pkt->psn);
	return UROCE_VERDICT_PSN_GAP;
}

/* Packets of this PSN that come again have to be the same. */
static void
remember_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (!is_retransmit_identical(pkt))
		return;
	qpc->ooo_first_psn = pkt->psn;
	qpc->ooo_first_sum = hash_request(pkt);
}

void
uroce_ooo_request_compare(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	/* PSNs come round */
	const bool is_of_then = uroce_psn_dist(pkt->psn, qpc->resp.epsn) < UROCE_PSN_GAP_SPAN;

	if (is_of_then && qpc->ooo_first_sum == hash_request(pkt))
		return;
	if (is_of_then)
		count_conflict(qpc);
	qpc->ooo_first_psn = UROCE_OOO_PSN_NONE;
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
		return compare_request(qpc, pkt);
	void *dst = find_placement(qpc, pkt, ahead);

	if (dst) {
		uroce_ddp_copy_around(qpc, pkt->psn, dst, pkt->payload, pkt->payload_len);
		uroce_psn_gap_mark(resp->gap, pkt->psn);
		return UROCE_VERDICT_OOO_PLACED;
	}
	if (uroce_reorder_buffer_insert(qpc->reorder_buffer, resp->gap, pkt))
		return UROCE_VERDICT_OOO_BUFFERED;
	if (!resp->gap->nb)
		uroce_ahead_discard(qpc);
	return UROCE_VERDICT_PSN_GAP;
}

/*
 * A packet is held. If it is a READ, what follows it is as far ahead as it has responses. Not if its key is wrong: who
 * forges one without a key would open the whole map by its length.
 */
static void
note_buffered(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	if (pkt->op->operation == UROCE_OPERATION_READ && uroce_execute_may_read(qpc, pkt))
		qpc->resp.gap->nb_reads +=
			uroce_min(uroce_msg_packets(qpc, be32_get(uroce_pkt_reth(pkt)->dma_len)),
				  UROCE_PSN_GAP_SPAN);
}

static void
schedule_seq_nak(struct uroce_resp *resp)
{
	resp->nak_deadline = UROCE_NEVER;
	if (!resp->is_nak_sent)
		uroce_aeth_schedule_nak(
			resp, uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_PSN_SEQ), resp->epsn);
}

/* There is a hole: report it, now or when it cannot be a late packet any more. */
static void
report_gap(struct uroce_resp *resp, uint64_t now_ns)
{
	const uint64_t delay_ns =
		resp->is_peer_gbn ? 0 : uroce_reorder_window_delay_ns(&resp->reorder_window);

	if (!resp->reorder_window.since_ns)
		resp->reorder_window.since_ns = now_ns;
	if (now_ns - resp->reorder_window.since_ns >= delay_ns)
		schedule_seq_nak(resp);
	else if (!resp->is_nak_sent)
		resp->nak_deadline = resp->reorder_window.since_ns + delay_ns;
}

static void
note_dropped(struct uroce_resp *resp, uint32_t end_psn)
{
	if (!resp->has_dropped || uroce_psn_before(resp->dropped_psn, end_psn))
		resp->dropped_psn = end_psn;
	resp->has_dropped = true;
}

enum uroce_verdict
uroce_ooo_request_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const uint32_t ahead = uroce_psn_dist(resp->epsn, pkt->psn);
	enum uroce_verdict verdict = UROCE_VERDICT_PSN_GAP;

	qpc->stats.ooo_requests++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_SEQUENCE, 1);
	/* after an RNR NAK the peer sends everything again */
	if (resp->is_rnr_sent)
		return verdict;
	if (qpc->reorder_buffer && !qpc->is_resp_gbn) {
		if (uroce_ahead_is_in_window(qpc, ahead))
			verdict = place_or_buffer_request(qpc, pkt, ahead);
		else
			uroce_count_in(qpc->counters, UROCE_COUNTER_RX_BEYOND_WINDOW, 1);
	}
	if (verdict == UROCE_VERDICT_OOO_BUFFERED)
		note_buffered(qpc, pkt);
	/* who forges a packet among those that come in order opens a hole by it */
	if ((verdict == UROCE_VERDICT_OOO_BUFFERED || verdict == UROCE_VERDICT_OOO_PLACED) &&
	    resp->gap->nb == 1)
		remember_request(qpc, pkt);
	if (verdict == UROCE_VERDICT_PSN_GAP)
		note_dropped(resp, uroce_psn_add(pkt->psn, 1));
	if (!is_epsn_ready(resp))
		report_gap(resp, now_ns);
	return verdict;
}

void
uroce_ooo_request_classify_fill(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_known = uroce_psn_before(psn, resp->epsn);
	const uint32_t behind = uroce_psn_dist(resp->fill_psn, psn);

	/* other repetitions say nothing of this hole */
	if (is_known && behind > 1)
		return;
	resp->is_fill_doubtful = false;
	resp->is_peer_gbn = is_known && behind == 1;
	if (resp->is_peer_gbn)
		uroce_reorder_window_shrink(&resp->reorder_window);
	else
		uroce_reorder_window_grow(&resp->reorder_window, resp->fill_ns);
}

/* The hole is being filled: by what? @return how long it was there */
static void
learn_gap_cause(struct uroce_resp *resp, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const uint64_t age_ns = now_ns - resp->reorder_window.since_ns;

	resp->fill_psn = resp->epsn;
	resp->fill_ns = age_ns < UINT32_MAX ? (uint32_t)age_ns : UINT32_MAX;
	/* if nothing was kept, the peer has to repeat what followed, and would look like that */
	if (!resp->gap)
		return;
	/* one that asks is a repair, or a probe that came before our NAK: we waited for too long */
	if (pkt->has_ack_req)
		uroce_reorder_window_shrink(&resp->reorder_window);
	else
		resp->is_fill_doubtful = true;
}

/* The packet at epsn was placed when it came. */
static void
skip_placed_request(struct uroce_qpc *qpc)
{
	struct uroce_resp *resp = &qpc->resp;

	uroce_psn_gap_clear(resp->gap, resp->epsn);
	resp->epsn = uroce_psn_add(resp->epsn, 1);
	resp->msg_len += 1u << qpc->mtu_shift;
	qpc->stats.rx_bytes += 1u << qpc->mtu_shift;
}

/* Forget what is marked in `[psn, epsn)`: a READ answers to as many PSNs as it has responses. */
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

/* The packet at epsn was held, and is refused. If the peer sent it, it is the same when it comes again. */
static void
request_retransmit(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	remember_request(qpc, pkt);
	forget_psn(qpc, resp->epsn);
	resp->reorder_window.since_ns = now_ns;
	schedule_seq_nak(resp);
}

/* Execute a slice of what is there in order. @return false: refused, nothing is held any more */
static bool
drain_requests(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	unsigned nb = 0;

	uroce_reorder_buffer_set_ready(qpc->reorder_buffer, resp->gap, false);
	while (uroce_psn_gap_has(resp->gap, resp->epsn)) {
		const uint32_t psn = resp->epsn;
		const struct uroce_pkt *pkt =
			uroce_reorder_buffer_find(qpc->reorder_buffer, resp->gap, psn);

		if (!pkt) {
			skip_placed_request(qpc);
			continue;
		}
		if (nb++ == DRAIN_BURST) {
			uroce_reorder_buffer_set_ready(qpc->reorder_buffer, resp->gap, true);
			break;
		}
		const enum uroce_verdict verdict = uroce_execute_held(qpc, pkt, now_ns);

		if (!resp->gap) /* the QP is in ERR */
			return false;
		if (resp->is_rnr_sent) {
			uroce_ahead_discard(qpc);
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

/* Execute a slice of what was held, and see what comes next. */
static void
resume_drain(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (!drain_requests(qpc, now_ns))
		return;
	uroce_aeth_schedule_ack(resp);
	if (!resp->gap->nb) {
		uroce_ahead_discard(qpc);
	} else if (resp->gap->is_ready) {
		resp->nak_deadline = now_ns + 1;
	} else {
		const uint64_t wait_ns =
			resp->fill_ns + uroce_reorder_window_delay_ns(&resp->reorder_window);

		resp->reorder_window.since_ns = now_ns;
		resp->nak_deadline = now_ns + (wait_ns ? wait_ns : 1);
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
		uroce_ooo_request_compare(qpc, pkt);
	resp->reorder_window.since_ns = 0;
	resp->nak_deadline = UROCE_NEVER;
	const enum uroce_verdict verdict = uroce_execute_expected(qpc, pkt, now_ns);

	if (!resp->gap)
		return verdict;
	if (verdict != UROCE_VERDICT_REQUEST) {
		uroce_ahead_discard(qpc);
		return verdict;
	}
	drop_passed(qpc, psn);
	uroce_ahead_note(qpc, resp->gap->nb);
	resume_drain(qpc, now_ns);
	return verdict;
}

/* What was behind a hole and dropped is the next one, of which the peer has not been told. */
static void
report_dropped(struct uroce_resp *resp)
{
	if (is_epsn_ready(resp))
		return;
	if (uroce_psn_before(resp->epsn, resp->dropped_psn))
		schedule_seq_nak(resp);
	else
		resp->has_dropped = false;
}

enum uroce_verdict
uroce_ooo_request_fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_reported = resp->is_nak_sent && !resp->has_aeth;

	if (is_epsn_ready(resp))
		return UROCE_VERDICT_DUPLICATE;
	const enum uroce_verdict verdict = fill_gap(qpc, pkt, now_ns);

	if (!resp->has_dropped)
		return verdict;
	/* a peer that was told of the hole sends all that was behind it again; one that was not ... */
	if (is_reported || verdict != UROCE_VERDICT_REQUEST)
		resp->has_dropped = false;
	else
		report_dropped(resp);
	return verdict;
}

void
uroce_ooo_request_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (now_ns < resp->nak_deadline)
		return;
	if (!is_epsn_ready(resp)) {
		schedule_seq_nak(resp);
		return;
	}
	resp->nak_deadline = UROCE_NEVER;
	resume_drain(qpc, now_ns);
	uroce_completion_recv_end(qpc);
	if (resp->has_dropped)
		report_dropped(resp);
}
