/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repair by a requester whose peer only ever names the first packet that it misses.
 *
 * A NAK opens a hole at una_psn: that packet is sent once more, asks for an ACK, and new ones follow as
 * if nothing had happened. What the peer says next tells what it did with those behind the hole. If
 * it goes on after more than the one packet, it HOLDS them; and if it stops short of what had been
 * sent before the repair, there is the next hole, known without a NAK. If it goes on with exactly
 * the next packet, it most likely DROPS them: then the requester goes back N, and so from then on,
 * unless an answer overtakes what it has sent again.
 *
 * Each hole is found a round trip after the one before. From the third in what was in flight at once,
 * and from the first if there were as many the last time, what lies behind them is sent again, once, but
 * only with capacity that new packets leave: when the window is full or the queue is empty.
 *
 * A peer that drops makes waste of all that is in flight behind a hole. Where a part of it only stands in line
 * somewhere, so that round trips are longer than the shortest, it does no good either. So from then on little
 * is in flight at first, and with each round trip more, until one is half as long again as the shortest;
 * that is kept up from there on. The next QP to the same host begins with what this one has found out.
 *
 * Nothing came for two round trips: the first packet is sent once more and asks, and so is the last. A peer
 * that drops would have told of a hole by a NAK, so all that it lacks is the end: it is sent the last alone.
 * If it is silent after that, the NAK was lost, and it is sent the first, at which it tells of all that it has.
 * These probes are no retries: those are counted by the ACK timeout. If the answer comes, and it is to the
 * first and to nothing behind it, the peer may know of no hole: it was sent an RNR NAK that was lost, or
 * nothing at all arrived. Then the next probe follows at once; and if that brings no more, everything is
 * sent again, or each packet would wait for a probe of its own.
 */
#include "transport/loss_recovery.h"

#include <string.h>

#include "transport/peer_cache.h"
#include "transport/position.h"
#include "transport/recovery_state.h"
#include "wire/psn.h"

/* Repairs, each followed by a hole at the next packet, after which the peer is doubted again. */
#define ADJACENT_MAX 4
#define BACKOFF_MAX  10
/* Holes in a round trip, from which on what lies behind them is sent again. */
#define GAPS_MANY 3
/* Packets that probes bring one by one, before the rest is sent again. */
#define PROBE_STEPS_MAX 2
/* Packets that may come late, one behind the other, to a peer that drops. */
#define REORDER_MAX 3
/* The least that is in flight: one half is under way while the ACK of the other comes. */
#define CWND_MIN 16

/* Whether the packet at una_psn can be sent again by itself. */
static bool
is_retransmittable(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, req->una_psn);

	return !qpc->is_req_gbn && req->next_psn == req->max_psn && req->una_psn != req->max_psn &&
	       !uroce_req_is_rnr_wait(req) && wqe && !uroce_wqe_needs_response(wqe);
}

static void
open_request_gap(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *repair = &req->loss_recovery;

	if (!repair->nb_gaps || !uroce_psn_before(req->una_psn, repair->round_psn)) {
		repair->is_lossy = repair->nb_gaps >= GAPS_MANY;
		repair->nb_gaps = 0;
		repair->round_psn = req->max_psn;
	}
	repair->nb_gaps += repair->nb_gaps < UINT8_MAX;
	if (repair->peer == UROCE_PEER_ARQ_SELECTIVE &&
	    (repair->is_lossy || repair->nb_gaps >= GAPS_MANY))
		repair->due |= UROCE_RECOVERY_DUE_BEHIND;
	/* no probe has to find it */
	if (repair->nb_probe_steps)
		repair->probe_deadline = UROCE_NEVER;
	repair->nb_probe_steps = 0;
	if (uroce_recovery_step(repair, UROCE_RECOVERY_ON_GAP) == UROCE_RECOVERY_DO_RETRANSMIT)
		repair->due |= UROCE_RECOVERY_DUE_FIRST;
	repair->retransmit_ns = 0;
	repair->gap_psn = req->una_psn;
	repair->inflation_psns = 0;
	req->rtt.sample_ns = 0;
}

/* The gap at una_psn is closed, or there is none: the packet need not be sent again. */
static void
close_request_gap(struct uroce_loss_recovery *repair)
{
	(void)uroce_recovery_step(repair, UROCE_RECOVERY_ON_GAP_CLOSED);
	repair->due &= (uint8_t)~UROCE_RECOVERY_DUE_FIRST;
}

/* Whether an answer can be to what was sent again by itself: it took long enough. */
static bool
is_rtt_plausible(const struct uroce_req *req, uint64_t now_ns)
{
	return now_ns - req->loss_recovery.retransmit_ns >= req->rtt.min_rtt_ns / 4 * 3;
}

/* The peer went on with the packet behind the one that was repaired. @return whether to go back N */
static bool
is_go_back_n_peer(struct uroce_loss_recovery *repair)
{
	if (repair->peer == UROCE_PEER_ARQ_SELECTIVE && ++repair->nb_adjacent < ADJACENT_MAX)
		return false;
	repair->nb_adjacent = 0;
	repair->peer = repair->peer == UROCE_PEER_ARQ_SELECTIVE ? UROCE_PEER_ARQ_UNKNOWN
								: UROCE_PEER_ARQ_GO_BACK_N;
	return true;
}

/*
 * An ACK, or a NAK of a PSN sequence error, has moved una_psn to where it is.
 * @return false: go back N
 */
static bool
respond(struct uroce_qpc *qpc, bool is_nak, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *repair = &req->loss_recovery;
	const uint32_t moved = uroce_psn_dist(repair->gap_psn, req->una_psn);
	bool is_gap = is_nak;

	if (!is_retransmittable(qpc) || (is_nak && repair->peer == UROCE_PEER_ARQ_GO_BACK_N))
		return false;
	if (uroce_req_is_fast_retx(req) && !moved)
		return true;
	if (uroce_req_is_fast_retx(req) && !(repair->due & UROCE_RECOVERY_DUE_FIRST)) {
		/* sooner than a round trip: the packet was only late, and nothing is known */
		const bool is_answer = is_rtt_plausible(req, now_ns);
		const bool is_last = repair->recover_psn == req->max_psn;

		/* the peer has seen what followed the repair, too, and tells of a hole by a NAK */
		if (moved == 1 && !is_nak && !is_last)
			return true;
		if (moved > 1) {
			repair->peer = UROCE_PEER_ARQ_SELECTIVE;
			repair->nb_adjacent = 0;
		} else if ((is_answer || repair->is_ambiguous) && is_go_back_n_peer(repair)) {
			return false;
		}
		repair->is_ambiguous = moved == 1 && !is_answer;
		is_gap = is_nak || (is_answer && is_last && req->una_psn != req->max_psn);
	}
	close_request_gap(repair);
	if (is_gap)
		open_request_gap(qpc);
	return true;
}

/* An ACK showed that the peer dropped what was behind a hole. */
static enum uroce_recovery_action
fall_back(struct uroce_qpc *qpc)
{
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;
	enum uroce_recovery_action action = UROCE_RECOVERY_DO_NOTHING;

	/* nothing is in flight, or what is will be answered: then there is nothing to go back to */
	if (repair->peer != UROCE_PEER_ARQ_SELECTIVE && is_retransmittable(qpc)) {
		action = uroce_recovery_step(repair, UROCE_RECOVERY_ON_LOSS);
		uroce_loss_recovery_reduce_cwnd(qpc);
	}
	close_request_gap(repair);
	return action;
}

enum uroce_recovery_action
uroce_loss_recovery_ack(struct uroce_qpc *qpc, uint64_t now_ns)
{
	return respond(qpc, false, now_ns) ? UROCE_RECOVERY_DO_NOTHING : fall_back(qpc);
}

enum uroce_recovery_action
uroce_loss_recovery_lose(struct uroce_qpc *qpc)
{
	const enum uroce_recovery_action action =
		uroce_recovery_step(&qpc->req.loss_recovery, UROCE_RECOVERY_ON_LOSS);

	if (action == UROCE_RECOVERY_DO_GO_BACK_N)
		uroce_loss_recovery_reduce_cwnd(qpc);
	return action;
}

enum uroce_recovery_action
uroce_loss_recovery_nak(struct uroce_qpc *qpc, uint64_t now_ns)
{
	return respond(qpc, true, now_ns) ? UROCE_RECOVERY_DO_NOTHING
					  : uroce_loss_recovery_lose(qpc);
}

/* The address of the peer, in one word. */
static uint64_t
hash_peer_address(const struct uroce_path *path)
{
	const uint8_t *ip = path->hdr + path->ip_off;
	uint64_t half[2] = { 0 };

	if (path->is_ipv6)
		memcpy(half, ((const struct uroce_ipv6 *)ip)->dst, sizeof(half));
	else
		memcpy(half, ((const struct uroce_ipv4 *)ip)->dst, 4);
	/* the last bytes tell neighbours apart, the first bits of a product are made of all */
	return ((half[0] ^ half[1]) * UINT64_C(0x9e3779b97f4a7c15)) >> 6;
}

void
uroce_loss_recovery_start(struct uroce_qpc *qpc)
{
	const struct uroce_peer_metrics *note;

	if (qpc->is_req_gbn || !uroce_qpc_is_reliable(qpc))
		return;
	qpc->req.rtt = (struct uroce_rtt){ 0 };
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_UNKNOWN;
	note = uroce_peer_cache_find(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer),
				     hash_peer_address(&qpc->path));
	if (!note)
		return;
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	qpc->req.rtt.cwnd = (uint16_t)uroce_min(note->cwnd, qpc->window_psns);
	qpc->req.rtt.was_queueing = true;
	qpc->req.rtt.min_rtt_ns = note->min_rtt_ns;
}

/* What is known now, for this QP and to begin with for the next one to the same host. */
static void
save_peer_metrics(const struct uroce_qpc *qpc)
{
	const struct uroce_peer_metrics note = {
		.host = hash_peer_address(&qpc->path),
		.min_rtt_ns = qpc->req.rtt.is_min_uncertain ? 0 : qpc->req.rtt.min_rtt_ns,
		.cwnd = qpc->req.rtt.cwnd,
	};

	uroce_peer_cache_update(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer), &note);
}

void
uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	if (!uroce_recovery_is_loss(&req->loss_recovery) ||
	    req->loss_recovery.peer != UROCE_PEER_ARQ_GO_BACK_N)
		return;
	/* what was thought lost may have been late; and less than all may have been sent again before */
	if (req->una_psn != req->max_psn ||
	    uroce_psn_dist(req->next_psn, req->una_psn) <= REORDER_MAX)
		return;
	req->loss_recovery.peer = UROCE_PEER_ARQ_SELECTIVE;
	req->rtt.cwnd = 0;
	save_peer_metrics(qpc);
}

void
uroce_loss_recovery_reduce_cwnd(struct uroce_qpc *qpc)
{
	struct uroce_rtt *rtt = &qpc->req.rtt;

	if (qpc->req.loss_recovery.peer != UROCE_PEER_ARQ_GO_BACK_N)
		return;
	if (!rtt->cwnd) {
		rtt->cwnd = (uint16_t)uroce_min(CWND_MIN, qpc->window_psns);
		rtt->was_queueing = false;
		/* the shortest was with a whole window in flight */
		rtt->min_rtt_ns = 0;
	} else if (rtt->is_queueing && rtt->cwnd > CWND_MIN) {
		rtt->cwnd = rtt->cwnd / 2 > CWND_MIN ? rtt->cwnd / 2 : CWND_MIN;
	}
	rtt->is_queueing = false;
	save_peer_metrics(qpc);
}

/*
 * An answer took so long: more may be in flight until it stands in line, twice as much until it did once, if as much
 * as may be was. Where so little stands in line, it is the path that has become longer: the shortest round trip is
 * believed less with each.
 */
static void
adjust_cwnd(struct uroce_qpc *qpc)
{
	struct uroce_rtt *rtt = &qpc->req.rtt;
	const uint32_t step = rtt->cwnd / 8, window = qpc->window_psns;

	rtt->was_queueing |= rtt->is_queueing;
	if (rtt->is_queueing && rtt->cwnd - step >= CWND_MIN)
		rtt->cwnd -= step;
	else if (rtt->is_queueing)
		rtt->min_rtt_ns += rtt->min_rtt_ns / 32 + 1;
	else if (rtt->is_cwnd_used)
		rtt->cwnd = (uint16_t)uroce_min(rtt->cwnd + (rtt->was_queueing ? step : rtt->cwnd),
						window);
	/* unless another QP found out meanwhile that it holds */
	if (uroce_peer_cache_find(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer),
				  hash_peer_address(&qpc->path)))
		save_peer_metrics(qpc);
}

/*
 * A probe comes before the ACK timeout, which may be the last, and leaves an answer the time that the
 * attribute gives it: the timeout takes at most four of those.
 */
static void
arm_probe(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;
	const uint64_t timeout_ns = uroce_qpc_ack_timeout_ns(qpc);
	uint64_t ns = uroce_rtt_pto_ns(&qpc->req.rtt) << qpc->req.nb_probes;

	if (timeout_ns && ns > 3 * timeout_ns)
		ns = 3 * timeout_ns;
	repair->probe_deadline = UROCE_NEVER;
	if (!qpc->is_req_gbn && qpc->req.rtt.srtt_ns && qpc->req.una_psn != qpc->req.max_psn)
		repair->probe_deadline = now_ns + ns;
}

void
uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns)
{
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;

	repair->retransmit_ns = now_ns;
	repair->recover_psn = qpc->req.max_psn;
	if (uroce_req_is_fast_retx(&qpc->req))
		return;
	(void)uroce_recovery_step(repair, UROCE_RECOVERY_ON_PROBE_SENT);
	repair->gap_psn = psn;
}

/*
 * una_psn has moved: only because of the probe, with more in flight? If that was sooner than a round trip it
 * may have been late, and what is behind it, too: that has the time of a probe.
 */
static void
count_probe_step(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;

	const bool is_probed = uroce_recovery_is_probing(repair);

	if (is_probed && !uroce_psn_before(repair->gap_psn, req->una_psn))
		return;
	/* of what was sent after the probe the peer tells by a NAK */
	const bool is_step = is_probed && req->una_psn == uroce_psn_add(repair->gap_psn, 1) &&
			     req->una_psn != req->max_psn && req->max_psn == repair->recover_psn &&
			     !uroce_req_has_answer_gap(req);

	(void)uroce_recovery_step(repair, UROCE_RECOVERY_ON_PROBE_ACKED);
	repair->nb_probe_steps = is_step ? repair->nb_probe_steps + 1 : 0;
	if (is_step && is_rtt_plausible(req, now_ns))
		repair->probe_deadline = now_ns;
}

void
uroce_loss_recovery_progress(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_rtt *rtt = &req->rtt;

	if (rtt->sample_ns && uroce_psn_before(rtt->sample_psn, req->una_psn)) {
		if (uroce_rtt_update(rtt, now_ns - rtt->sample_ns) && rtt->cwnd)
			adjust_cwnd(qpc);
	}
	if (uroce_psn_before(req->loss_recovery.retransmit_psn, req->una_psn))
		req->loss_recovery.retransmit_psn = req->una_psn;
	req->nb_probes = 0;
	req->loss_recovery.due &= (uint8_t)~UROCE_RECOVERY_DUE_LAST;
	arm_probe(qpc, now_ns);
	if (uroce_recovery_is_probing(&req->loss_recovery) || req->loss_recovery.nb_probe_steps)
		count_probe_step(qpc, now_ns);
}

/* Whether the newest packet in flight is answered by data. */
static bool
is_newest_read(const struct uroce_qpc *qpc)
{
	const uint32_t psn = uroce_psn_add(qpc->req.max_psn, UROCE_PSN_MASK);

	return uroce_wqe_needs_response(uroce_position_request(qpc, psn));
}

/* Which packets a probe is: the first in flight, the newest, or both. */
static void
probe_packets(struct uroce_qpc *qpc)
{
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;
	const bool drops = repair->peer == UROCE_PEER_ARQ_GO_BACK_N;
	const bool has_last =
		uroce_psn_dist(qpc->req.una_psn, qpc->req.max_psn) > 1 &&
		!(drops && (qpc->req.nb_probes || repair->nb_probe_steps || is_newest_read(qpc)));

	repair->due &= UROCE_RECOVERY_DUE_BEHIND;
	if (has_last)
		repair->due |= UROCE_RECOVERY_DUE_LAST;
	if (!drops || !has_last)
		repair->due |= UROCE_RECOVERY_DUE_FIRST;
}

/* Ask for the answer at una_psn. @return false: it needs none, or not now */
static bool
probe_answer(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	if (qpc->is_req_gbn || uroce_req_is_rnr_wait(req) || req->next_psn != req->max_psn)
		return false;
	const struct uroce_send_wqe *wqe = uroce_position_request(qpc, req->una_psn);

	req->ooo_responses.due &= (uint8_t)~UROCE_OOO_RESPONSE_DUE_PROBE;
	if (!wqe || !uroce_wqe_needs_response(wqe))
		return false;
	req->ooo_responses.due |= UROCE_OOO_RESPONSE_DUE_PROBE;
	return true;
}

enum uroce_recovery_action
uroce_loss_recovery_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;

	if (now_ns < repair->probe_deadline)
		return UROCE_RECOVERY_DO_NOTHING;
	repair->probe_deadline = UROCE_NEVER;
	/* probes bring one packet at a time: everything goes again, as if the peer had dropped it */
	if (repair->nb_probe_steps >= PROBE_STEPS_MAX)
		return uroce_recovery_step(repair, UROCE_RECOVERY_ON_LOSS);
	if (uroce_recovery_step(repair, UROCE_RECOVERY_ON_PTO) != UROCE_RECOVERY_DO_PROBE)
		return UROCE_RECOVERY_DO_NOTHING;
	if (is_retransmittable(qpc)) {
		probe_packets(qpc);
	} else if (!probe_answer(qpc)) {
		return UROCE_RECOVERY_DO_NOTHING;
	}
	if (qpc->req.nb_probes < BACKOFF_MAX)
		qpc->req.nb_probes++;
	qpc->req.rtt.is_ambiguous = true;
	arm_probe(qpc, now_ns);
	return UROCE_RECOVERY_DO_NOTHING;
}

/* The newest packet in flight, or the oldest where that one is answered by data. */
static uint32_t
last_psn(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return is_newest_read(qpc) ? req->una_psn : uroce_psn_add(req->max_psn, UROCE_PSN_MASK);
}

/*
 * What is in flight when a hole is repaired is taken for received, as far as a window of it: the peer
 * holds it, and cannot say so until the repair is there, which has all of that before it. So as much that
 * is new goes behind the repair, and the path does not run dry. Not where there are many holes: what is
 * in flight may be too much as it is.
 */
static uint32_t
count_inflation(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;
	const uint32_t window = qpc->window_psns;
	const uint32_t nb_out = uroce_psn_dist(req->una_psn, req->max_psn);

	if (req->loss_recovery.peer != UROCE_PEER_ARQ_SELECTIVE ||
	    (req->loss_recovery.due & UROCE_RECOVERY_DUE_BEHIND))
		return 0;
	return uroce_min(nb_out, uroce_min(window, UROCE_WINDOW_MAX - window));
}

bool
uroce_loss_recovery_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *repair = &req->loss_recovery;
	const uint8_t probes = UROCE_RECOVERY_DUE_FIRST | UROCE_RECOVERY_DUE_LAST;
	const bool is_last = !(repair->due & UROCE_RECOVERY_DUE_FIRST);

	if (!(repair->due & probes))
		return false;
	if (!is_retransmittable(qpc)) {
		repair->due &= (uint8_t)~probes;
		return false;
	}
	*out = (struct uroce_retransmit){ is_last ? last_psn(qpc) : req->una_psn, 1, true };
	if (is_last) {
		repair->due &= (uint8_t)~UROCE_RECOVERY_DUE_LAST;
		return true;
	}
	repair->due &= (uint8_t)~UROCE_RECOVERY_DUE_FIRST;
	uroce_loss_recovery_note_retransmit(qpc, req->una_psn, now_ns);
	repair->inflation_psns = count_inflation(qpc);
	arm_probe(qpc, now_ns);
	return true;
}

bool
uroce_loss_recovery_next_spare(struct uroce_qpc *qpc, struct uroce_retransmit *out)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *repair = &req->loss_recovery;

	while (repair->due & UROCE_RECOVERY_DUE_BEHIND) {
		/* the packet at una_psn has a repair of its own */
		if (!uroce_psn_before(req->una_psn, repair->retransmit_psn))
			repair->retransmit_psn = uroce_psn_add(req->una_psn, 1);
		if (!is_retransmittable(qpc) ||
		    !uroce_psn_before(repair->retransmit_psn, req->max_psn))
			break;
		const uint32_t psn = repair->retransmit_psn;
		const struct uroce_send_wqe *wqe = uroce_position_request(qpc, psn);

		if (!wqe)
			break;
		if (uroce_wqe_needs_response(wqe)) {
			repair->retransmit_psn = uroce_psn_add(wqe->first_psn, wqe->nb_psn);
			continue;
		}
		repair->retransmit_psn = uroce_psn_add(psn, 1);
		*out = (struct uroce_retransmit){
			psn, 1, psn % 32 == 0 || repair->retransmit_psn == req->max_psn
		};
		return true;
	}
	repair->due &= (uint8_t)~UROCE_RECOVERY_DUE_BEHIND;
	return false;
}

void
uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			 uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	/* what a peer drops it does not answer: so an answer is to what was sent again, unless that took too long */
	const bool is_retransmit = req->loss_recovery.peer == UROCE_PEER_ARQ_GO_BACK_N &&
				   next_psn != max_psn && req->retry_left == qpc->attr.retry_cnt;
	const uint32_t from_psn = is_retransmit ? next_psn : max_psn;

	if (qpc->is_req_gbn || !uroce_psn_before(from_psn, req->next_psn))
		return;
	if (!req->rtt.sample_ns && !uroce_req_is_fast_retx(req) && !uroce_req_has_answer_gap(req) &&
	    req->since_ack_req < uroce_psn_dist(from_psn, req->next_psn)) {
		const uint32_t asking_psn =
			uroce_psn_add(req->next_psn, UROCE_PSN_MASK - req->since_ack_req);
		/* the first of all says something of whatever was sent with it, whose last packet may be lost */
		const uint32_t psn = req->rtt.srtt_ns ? asking_psn : from_psn;

		uroce_rtt_begin(&req->rtt, uroce_position_first_answer(qpc, psn), now_ns);
		req->rtt.is_retransmit =
			is_retransmit && uroce_psn_before(req->rtt.sample_psn, max_psn);
	}
	req->rtt.is_cwnd_used |= uroce_psn_dist(req->una_psn, req->max_psn) >= req->rtt.cwnd / 2;
	if (req->loss_recovery.probe_deadline == UROCE_NEVER)
		arm_probe(qpc, now_ns);
}
