/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective retransmission by a requester. The peer reports only the first packet that it misses.
 *
 * A NAK opens a PSN gap at una_psn, the oldest PSN that is not acknowledged. The packet at una_psn
 * is retransmitted and requests an ACK; new packets follow as usual. The next response shows what
 * the peer did with the packets behind the gap. If the response acknowledges more than the one
 * packet, the peer keeps packets behind a gap (selective). If such a response does not acknowledge
 * everything that was sent before the retransmission, the next gap is known without a NAK. If the
 * response acknowledges exactly the one packet, the peer most likely drops packets behind a gap
 * (go-back-N). Then the requester goes back N, now and at later gaps, until a response acknowledges
 * packets before their retransmission.
 *
 * Each gap is found one round trip after the gap before. From the third gap among the packets in
 * flight on, the packets behind the gaps are retransmitted, once each (opportunistic
 * retransmission). If the last round trip had three gaps or more, opportunistic retransmission
 * begins at the first gap. Opportunistic retransmission uses only capacity that new packets leave:
 * the window is full or the send queue is empty.
 *
 * A go-back-N peer drops everything that is in flight behind a gap. Packets that only wait in a
 * queue of the path, so that round trips exceed the shortest one, do not raise the throughput. So
 * after the first loss few packets are in flight to such a peer (cwnd). cwnd grows with each round
 * trip until a round trip is 1.5 times the shortest one, and then stays near this value. The next
 * QP to the same host begins with the values that this QP has found.
 *
 * After two round trips without a response, the first packet in flight and the newest are
 * retransmitted and request an ACK (probe). A go-back-N peer would have reported a gap by a NAK, so
 * it can only miss the newest packets. The probe to such a peer is the newest packet alone. If the
 * peer does not respond, the NAK was lost. The next probe is the first packet, and the response
 * acknowledges all that the peer has. Probes do not use retries; only the ACK timeout does.
 *
 * If the response to a probe acknowledges the first packet and nothing behind it, the peer may not
 * know of a gap: an RNR NAK was lost, or nothing else arrived. Then the next probe is sent at once.
 * If the response to that probe also acknowledges only one packet, everything is retransmitted,
 * because otherwise each packet would wait for a probe of its own.
 *
 * The file has more than 500 lines: the reactions to all events share one state machine.
 */
#include "transport/recovery/loss_recovery.h"

#include <string.h>

#include "transport/recovery/peer_cache.h"
#include "transport/requester/position.h"
#include "transport/recovery/recovery_state.h"
#include "wire/psn.h"

/*
 * Number of fast retransmissions in a row, each followed by a gap at the next packet, after which
 * the requester does not assume any more that the peer keeps packets behind a gap.
 */
#define ADJACENT_MAX 4
#define BACKOFF_MAX  10
/*
 * From this number of PSN gaps in a round trip on, the packets behind the gaps are retransmitted,
 * too.
 */
#define GAPS_MANY 3
/*
 * After this number of probes in a row whose responses acknowledge only one packet each, everything
 * in flight is retransmitted.
 */
#define PROBE_STEPS_MAX 2
/*
 * Up to this number of consecutive packets may arrive late at a go-back-N peer because of
 * reordering. More of them show that the peer kept packets behind a gap.
 */
#define REORDER_MAX 3
/*
 * The smallest congestion window (cwnd) to a go-back-N peer, in packets. One half of the window is
 * in flight while the ACK of the other half arrives.
 */
#define CWND_MIN 16

/* Whether the oldest packet in flight (at una_psn) can be retransmitted alone. */
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
	struct uroce_loss_recovery *recovery = &req->loss_recovery;

	if (!recovery->nb_gaps || !uroce_psn_before(req->una_psn, recovery->round_psn)) {
		recovery->is_lossy = recovery->nb_gaps >= GAPS_MANY;
		recovery->nb_gaps = 0;
		recovery->round_psn = req->max_psn;
	}
	recovery->nb_gaps += recovery->nb_gaps < UINT8_MAX;
	if (recovery->peer == UROCE_PEER_ARQ_SELECTIVE &&
	    (recovery->is_lossy || recovery->nb_gaps >= GAPS_MANY))
		recovery->due |= UROCE_RECOVERY_DUE_BEHIND;
	/* disarm the probe timer: the PSN gap is known, so no probe has to find it */
	if (recovery->nb_probe_steps)
		recovery->probe_deadline = UROCE_NEVER;
	recovery->nb_probe_steps = 0;
	if (uroce_recovery_step(recovery, UROCE_RECOVERY_ON_GAP) == UROCE_RECOVERY_DO_RETRANSMIT)
		recovery->due |= UROCE_RECOVERY_DUE_FIRST;
	recovery->retransmit_ns = 0;
	recovery->gap_psn = req->una_psn;
	recovery->inflation_psns = 0;
	req->rtt.sample_ns = 0;
}

/*
 * If a PSN gap is open, close it, because the packet that was missing need not be retransmitted
 * alone.
 */
static void
close_request_gap(struct uroce_loss_recovery *recovery)
{
	(void)uroce_recovery_step(recovery, UROCE_RECOVERY_ON_GAP_CLOSED);
	recovery->due &= (uint8_t)~UROCE_RECOVERY_DUE_FIRST;
}

/*
 * Whether a response can belong to the fast retransmission, because the response arrived at least
 * 3/4 of the shortest round trip after the retransmission.
 */
static bool
is_rtt_plausible(const struct uroce_req *req, uint64_t now_ns)
{
	return now_ns - req->loss_recovery.retransmit_ns >= req->rtt.min_rtt_ns / 4 * 3;
}

/*
 * Decide whether the peer drops packets behind a PSN gap (go-back-N), after it has acknowledged
 * only the one packet that was retransmitted.
 * @return true: the peer most likely drops such packets, so the requester has to go back N
 */
static bool
is_go_back_n_peer(struct uroce_loss_recovery *recovery)
{
	if (recovery->peer == UROCE_PEER_ARQ_SELECTIVE && ++recovery->nb_adjacent < ADJACENT_MAX)
		return false;
	recovery->nb_adjacent = 0;
	recovery->peer = recovery->peer == UROCE_PEER_ARQ_SELECTIVE ? UROCE_PEER_ARQ_UNKNOWN
								    : UROCE_PEER_ARQ_GO_BACK_N;
	return true;
}

/*
 * Process an ACK, or a NAK (PSN sequence error), which has moved una_psn (the oldest PSN that is
 * not acknowledged) to its present value.
 * @return false: the requester may have to go back N
 */
static bool
respond(struct uroce_qpc *qpc, bool is_nak, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *recovery = &req->loss_recovery;
	const uint32_t moved = uroce_psn_dist(recovery->gap_psn, req->una_psn);
	bool is_gap = is_nak;

	if (!is_retransmittable(qpc) || (is_nak && recovery->peer == UROCE_PEER_ARQ_GO_BACK_N))
		return false;
	if (uroce_req_is_fast_retx(req) && !moved)
		return true;
	if (uroce_req_is_fast_retx(req) && !(recovery->due & UROCE_RECOVERY_DUE_FIRST)) {
		/*
		 * A response that comes sooner than a round trip after the retransmission belongs
		 * to the original packet, which was late. Such a response does not show what the
		 * peer does behind a gap.
		 */
		const bool is_answer = is_rtt_plausible(req, now_ns);
		const bool is_last = recovery->recover_psn == req->max_psn;

		/*
		 * Wait for the next response: newer packets followed the retransmission, and if a
		 * packet before them is missing, the peer sends a NAK.
		 */
		if (moved == 1 && !is_nak && !is_last)
			return true;
		if (moved > 1) {
			recovery->peer = UROCE_PEER_ARQ_SELECTIVE;
			recovery->nb_adjacent = 0;
		} else if ((is_answer || recovery->is_ambiguous) && is_go_back_n_peer(recovery)) {
			return false;
		}
		recovery->is_ambiguous = moved == 1 && !is_answer;
		is_gap = is_nak || (is_answer && is_last && req->una_psn != req->max_psn);
	}
	close_request_gap(recovery);
	if (is_gap)
		open_request_gap(qpc);
	return true;
}

/* Go back N after an ACK which showed that the peer dropped the packets behind a PSN gap. */
static enum uroce_recovery_action
fall_back(struct uroce_qpc *qpc)
{
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;
	enum uroce_recovery_action action = UROCE_RECOVERY_DO_NOTHING;

	/*
	 * Going back N is useless if nothing is in flight, or if the oldest request is a READ or an
	 * atomic, whose response will come.
	 */
	if (recovery->peer != UROCE_PEER_ARQ_SELECTIVE && is_retransmittable(qpc)) {
		action = uroce_recovery_step(recovery, UROCE_RECOVERY_ON_LOSS);
		uroce_loss_recovery_reduce_cwnd(qpc);
	}
	close_request_gap(recovery);
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

static uint64_t
hash_peer_address(const struct uroce_path *path)
{
	const uint8_t *ip = path->hdr + path->ip_off;

	if (path->is_ipv6)
		return uroce_peer_cache_hash(((const struct uroce_ipv6 *)ip)->dst, 16);
	return uroce_peer_cache_hash(((const struct uroce_ipv4 *)ip)->dst, 4);
}

void
uroce_loss_recovery_start(struct uroce_qpc *qpc)
{
	const struct uroce_peer_metrics *metrics;

	if (qpc->is_req_gbn || !uroce_qpc_is_reliable(qpc))
		return;
	qpc->req.rtt = (struct uroce_rtt){ 0 };
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_UNKNOWN;
	metrics = uroce_peer_cache_find(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer),
					hash_peer_address(&qpc->path));
	if (!metrics)
		return;
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	qpc->req.rtt.cwnd = (uint16_t)uroce_min(metrics->cwnd, qpc->window_psns);
	qpc->req.rtt.was_queueing = true;
	qpc->req.rtt.min_rtt_ns = metrics->min_rtt_ns;
}

/*
 * Save the metrics of a go-back-N peer in the peer cache. The next QP to the same host begins with
 * these metrics.
 */
static void
save_peer_metrics(const struct uroce_qpc *qpc)
{
	const struct uroce_peer_metrics metrics = {
		.host = hash_peer_address(&qpc->path),
		.min_rtt_ns = qpc->req.rtt.is_min_uncertain ? 0 : qpc->req.rtt.min_rtt_ns,
		.cwnd = qpc->req.rtt.cwnd,
	};

	uroce_peer_cache_update(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer), &metrics);
}

void
uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	if (!uroce_recovery_is_loss(&req->loss_recovery) ||
	    req->loss_recovery.peer != UROCE_PEER_ARQ_GO_BACK_N)
		return;
	/*
	 * The peer counts as selective only if it acknowledges everything in flight, and if more
	 * than REORDER_MAX of these packets were not retransmitted yet. Otherwise packets may only
	 * have been late, or an earlier retransmission may have carried them.
	 */
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
		/*
		 * measure the shortest round trip again, because it was measured with a whole
		 * window in flight
		 */
		rtt->min_rtt_ns = 0;
	} else if (rtt->is_queueing && rtt->cwnd > CWND_MIN) {
		rtt->cwnd = rtt->cwnd / 2 > CWND_MIN ? rtt->cwnd / 2 : CWND_MIN;
	}
	rtt->is_queueing = false;
	save_peer_metrics(qpc);
}

/*
 * Adapt the congestion window (cwnd) to a new round-trip sample. cwnd grows until packets queue in
 * the path, and shrinks by an eighth with each sample that shows queueing. Until packets have
 * queued once, cwnd doubles with each sample; then it grows by an eighth. cwnd grows only if half
 * of it was in flight. If packets queue even with the smallest cwnd, the path has become longer:
 * min_rtt_ns grows by 1/32 with each sample.
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
	/*
	 * update only an entry that the peer cache has: if the entry of the host is gone, another
	 * QP may have found that the host keeps packets behind a gap (selective)
	 */
	if (uroce_peer_cache_find(uroce_reorder_buffer_peer_cache(qpc->reorder_buffer),
				  hash_peer_address(&qpc->path)))
		save_peer_metrics(qpc);
}

/*
 * Start the probe timer, so that a probe is sent before the ACK timeout. The ACK timeout may be up
 * to four times the time that the attribute `timeout` specifies. The probe timer is at most three
 * times the time of `timeout`, so that the response to the probe can arrive before the ACK timeout.
 */
static void
arm_probe(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;
	const uint64_t timeout_ns = uroce_qpc_ack_timeout_ns(qpc);
	uint64_t ns = uroce_rtt_pto_ns(&qpc->req.rtt) << qpc->req.nb_probes;

	if (timeout_ns && ns > 3 * timeout_ns)
		ns = 3 * timeout_ns;
	recovery->probe_deadline = UROCE_NEVER;
	if (!qpc->is_req_gbn && qpc->req.rtt.srtt_ns && qpc->req.una_psn != qpc->req.max_psn)
		recovery->probe_deadline = now_ns + ns;
}

void
uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns)
{
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;

	recovery->retransmit_ns = now_ns;
	recovery->recover_psn = qpc->req.max_psn;
	if (uroce_req_is_fast_retx(&qpc->req))
		return;
	(void)uroce_recovery_step(recovery, UROCE_RECOVERY_ON_PROBE_SENT);
	recovery->gap_psn = psn;
}

/*
 * Count a probe whose response has acknowledged only one packet while more packets are in flight.
 * After such a probe the next probe is sent at once. There is one exception: if the response came
 * sooner than a round trip after the probe, the original packet may have been late. The packets
 * behind it may also be late, so the probe timeout is kept.
 */
static void
count_probe_step(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;

	const bool is_probed = uroce_recovery_is_probing(recovery);

	if (is_probed && !uroce_psn_before(recovery->gap_psn, req->una_psn))
		return;
	/*
	 * if packets were sent after the probe, the peer reports a gap before them by a NAK, so the
	 * probe does not count
	 */
	const bool is_step = is_probed && req->una_psn == uroce_psn_add(recovery->gap_psn, 1) &&
			     req->una_psn != req->max_psn &&
			     req->max_psn == recovery->recover_psn &&
			     !uroce_req_has_answer_gap(req);

	(void)uroce_recovery_step(recovery, UROCE_RECOVERY_ON_PROBE_ACKED);
	recovery->nb_probe_steps = is_step ? recovery->nb_probe_steps + 1 : 0;
	if (is_step && is_rtt_plausible(req, now_ns))
		recovery->probe_deadline = now_ns;
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

/* Whether the newest packet in flight gets a response with data, as a READ or an atomic does. */
static bool
is_newest_read(const struct uroce_qpc *qpc)
{
	const uint32_t psn = uroce_psn_add(qpc->req.max_psn, UROCE_PSN_MASK);

	return uroce_wqe_needs_response(uroce_position_request(qpc, psn));
}

/* Choose the packets to retransmit as a probe: the first packet in flight, the newest, or both. */
static void
probe_packets(struct uroce_qpc *qpc)
{
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;
	const bool is_gbn = recovery->peer == UROCE_PEER_ARQ_GO_BACK_N;
	const bool has_last = uroce_psn_dist(qpc->req.una_psn, qpc->req.max_psn) > 1 &&
			      !(is_gbn && (qpc->req.nb_probes || recovery->nb_probe_steps ||
					   is_newest_read(qpc)));

	recovery->due &= UROCE_RECOVERY_DUE_BEHIND;
	if (has_last)
		recovery->due |= UROCE_RECOVERY_DUE_LAST;
	if (!is_gbn || !has_last)
		recovery->due |= UROCE_RECOVERY_DUE_FIRST;
}

/*
 * Schedule a probe: a repetition of the request to which the response at una_psn, the oldest
 * unacknowledged PSN, belongs.
 * @return false: the request at una_psn gets no response with data, or no probe is possible now
 */
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
	struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;

	if (now_ns < recovery->probe_deadline)
		return UROCE_RECOVERY_DO_NOTHING;
	recovery->probe_deadline = UROCE_NEVER;
	/*
	 * Retransmit everything in flight, because the responses to the last probes have
	 * acknowledged only one packet each, which is too slow.
	 */
	if (recovery->nb_probe_steps >= PROBE_STEPS_MAX)
		return uroce_recovery_step(recovery, UROCE_RECOVERY_ON_LOSS);
	if (uroce_recovery_step(recovery, UROCE_RECOVERY_ON_PTO) != UROCE_RECOVERY_DO_PROBE)
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

/*
 * Get the PSN of the newest packet in flight. If the newest packet gets a response with data, get
 * una_psn, the PSN of the oldest packet in flight.
 */
static uint32_t
last_psn(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return is_newest_read(qpc) ? req->una_psn : uroce_psn_add(req->max_psn, UROCE_PSN_MASK);
}

/*
 * Compute how many packets may be in flight beyond the window during fast retransmission (window
 * inflation). A selective peer keeps the packets that are in flight, but cannot acknowledge them
 * before the retransmission arrives. As many new packets as are in flight may follow the
 * retransmission, up to one window, so that the path stays full. If there are many PSN gaps, there
 * is no inflation, because too much may be in flight already.
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
	struct uroce_loss_recovery *recovery = &req->loss_recovery;
	const uint8_t probes = UROCE_RECOVERY_DUE_FIRST | UROCE_RECOVERY_DUE_LAST;
	const bool is_last = !(recovery->due & UROCE_RECOVERY_DUE_FIRST);

	if (!(recovery->due & probes))
		return false;
	if (!is_retransmittable(qpc)) {
		recovery->due &= (uint8_t)~probes;
		return false;
	}
	*out = (struct uroce_retransmit){ is_last ? last_psn(qpc) : req->una_psn, 1, true };
	if (is_last) {
		recovery->due &= (uint8_t)~UROCE_RECOVERY_DUE_LAST;
		return true;
	}
	recovery->due &= (uint8_t)~UROCE_RECOVERY_DUE_FIRST;
	uroce_loss_recovery_note_retransmit(qpc, req->una_psn, now_ns);
	recovery->inflation_psns = count_inflation(qpc);
	arm_probe(qpc, now_ns);
	return true;
}

bool
uroce_loss_recovery_next_opportunistic(struct uroce_qpc *qpc, struct uroce_retransmit *out)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_loss_recovery *recovery = &req->loss_recovery;

	while (recovery->due & UROCE_RECOVERY_DUE_BEHIND) {
		/*
		 * begin behind the oldest packet in flight (at una_psn), because that packet has a
		 * fast retransmission of its own
		 */
		if (!uroce_psn_before(req->una_psn, recovery->retransmit_psn))
			recovery->retransmit_psn = uroce_psn_add(req->una_psn, 1);
		if (!is_retransmittable(qpc) ||
		    !uroce_psn_before(recovery->retransmit_psn, req->max_psn))
			break;
		const uint32_t psn = recovery->retransmit_psn;
		const struct uroce_send_wqe *wqe = uroce_position_request(qpc, psn);

		if (!wqe)
			break;
		if (uroce_wqe_needs_response(wqe)) {
			recovery->retransmit_psn = uroce_psn_add(wqe->first_psn, wqe->nb_psn);
			continue;
		}
		recovery->retransmit_psn = uroce_psn_add(psn, 1);
		*out = (struct uroce_retransmit){
			psn, 1, psn % 32 == 0 || recovery->retransmit_psn == req->max_psn
		};
		return true;
	}
	recovery->due &= (uint8_t)~UROCE_RECOVERY_DUE_BEHIND;
	return false;
}

void
uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			 uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	/*
	 * A go-back-N peer does not respond to packets that it drops. So a response belongs to the
	 * retransmission, unless the ACK timer expired meanwhile.
	 */
	const bool is_retransmit = req->loss_recovery.peer == UROCE_PEER_ARQ_GO_BACK_N &&
				   next_psn != max_psn && req->retry_left == qpc->attr.retry_cnt;
	const uint32_t from_psn = is_retransmit ? next_psn : max_psn;

	if (qpc->is_req_gbn || !uroce_psn_before(from_psn, req->next_psn))
		return;
	if (!req->rtt.sample_ns && !uroce_req_is_fast_retx(req) && !uroce_req_has_answer_gap(req) &&
	    req->since_ack_req < uroce_psn_dist(from_psn, req->next_psn)) {
		const uint32_t asking_psn =
			uroce_psn_add(req->next_psn, UROCE_PSN_MASK - req->since_ack_req);
		/*
		 * While no round-trip time is known, the round-trip sample ends with the response
		 * to any packet of the burst. The packet that requests an ACK may be lost, and no
		 * probe is sent before a round-trip time is known.
		 */
		const uint32_t psn = req->rtt.srtt_ns ? asking_psn : from_psn;

		uroce_rtt_begin(&req->rtt, uroce_position_first_answer(qpc, psn), now_ns);
		req->rtt.is_retransmit =
			is_retransmit && uroce_psn_before(req->rtt.sample_psn, max_psn);
	}
	req->rtt.is_cwnd_used |= uroce_psn_dist(req->una_psn, req->max_psn) >= req->rtt.cwnd / 2;
	if (req->loss_recovery.probe_deadline == UROCE_NEVER)
		arm_probe(qpc, now_ns);
}
