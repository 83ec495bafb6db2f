/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's timers and retries [IBA 9.7.6]. Retransmission after a timeout sets the send
 * position (position.h) back to the oldest unacknowledged PSN. Only an ACK timeout uses a retry of
 * `retry_cnt`, and only an RNR NAK one of `rnr_retry`. Every response that acknowledges something
 * restores all retries.
 *
 * The ACK timer measures the time that the peer needs: it starts when a packet that requests an ACK
 * is sent. After the send position went back, no packet is in flight until the worker lets the QP
 * transmit, which may take long where many QPs wait for a port. A retransmission that the peer has
 * requested waits in the same way. If the ACK timer expires during such a wait, the port is late
 * and not the peer, and no retry is used.
 *
 * The requester must not wait forever for a port that accepts no packets. So the port has a budget
 * of its own, retry_cnt + 1 times the longest timeout [IBA 9.7.6.1.3]. The budget is counted in
 * timeouts, as retries are, so that a pause of the whole process costs one timeout. A packet that
 * is sent or received restores the budget.
 *
 * An RNR NAK reports that the peer had no receive request. The requester sends nothing until the
 * RNR timer expires, and then repeats the request. If the request is acknowledged before the RNR
 * timer expires, the RNR NAK was false or belonged to a duplicate; an attacker may forge RNR NAKs.
 * Then the wait ends, and RNR NAKs are ignored for two round trips, or for twice the duration of
 * the wait if that is longer. Each further false RNR NAK doubles the time for which RNR NAKs are
 * ignored, until an RNR NAK is true. A true RNR NAK that is ignored still shows that the peer is
 * alive, and the peer sends another when a probe repeats the request.
 */
#include "transport/recovery/retry.h"

#include "transport/error.h"
#include "transport/recovery/loss_recovery.h"
#include "transport/recovery/ooo_response_state.h"
#include "transport/requester/position.h"
#include "transport/recovery/recovery_state.h"
#include "wire/psn.h"

/* The limits of the RNR ignore time: how often it may double, and its maximum in nanoseconds. */
#define RNR_IGNORE_SHIFT_MAX 10
#define RNR_IGNORE_MAX_NS    UINT64_C(10000000)

void
uroce_retry_refill(struct uroce_qpc *qpc)
{
	qpc->req.retry_left = qpc->attr.retry_cnt;
	qpc->req.rnr_left = qpc->attr.rnr_retry;
}

void
uroce_retry_rewind(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	uroce_recovery_rewound(req);
	uroce_ooo_response_note_rewind(qpc);
	req->next_psn = req->una_psn;
	req->next_idx = req->una_idx;
	req->next_pkt = 0;
	if (req->una_idx != req->begun_idx)
		req->next_pkt =
			uroce_psn_dist(uroce_req_wqe(qpc, req->una_idx)->first_psn, req->una_psn);
	req->nb_rd_out = 0;
	req->since_ack_req = 0;
	req->is_ack_wanted = false;
	req->fault = 0;
}

void
uroce_retry_arm(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint64_t timeout_ns = uroce_qpc_ack_timeout_ns(qpc);
	const unsigned nb_timeouts = qpc->attr.retry_cnt - req->retry_left;

	req->armed_ns = now_ns;
	req->port_retry_left = 0;
	if (!timeout_ns)
		req->ack_deadline = UROCE_NEVER;
	else if (qpc->is_req_gbn)
		req->ack_deadline = now_ns + timeout_ns;
	else
		req->ack_deadline =
			now_ns + uroce_rtt_timeout_ns(&req->rtt, timeout_ns, nb_timeouts);
}

void
uroce_retry_carry_out(struct uroce_qpc *qpc, enum uroce_recovery_action action, uint64_t now_ns)
{
	if (action != UROCE_RECOVERY_DO_GO_BACK_N)
		return;
	uroce_retry_rewind(qpc);
	uroce_retry_arm(qpc, now_ns);
}

/*
 * React to an RNR NAK that was false: its request was acknowledged during the RNR wait. Ignore RNR
 * NAKs for some time.
 */
static void
note_false_rnr(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	req->nb_false_rnrs += req->nb_false_rnrs < RNR_IGNORE_SHIFT_MAX;
	/*
	 * the RNR ignore time is based on the longer of the RNR wait and the round trip; a
	 * requester that always goes back N measures no round trip
	 */
	const uint64_t wait_ns = now_ns - req->rnr_ns, srtt_ns = req->rtt.srtt_ns;
	const uint64_t ignore_ns = (wait_ns < srtt_ns ? srtt_ns : wait_ns) << req->nb_false_rnrs;

	req->rnr_ignore_ns =
		now_ns + (ignore_ns < RNR_IGNORE_MAX_NS ? ignore_ns : RNR_IGNORE_MAX_NS);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RCVD_RNR_FALSE, 1);
	qpc->events |= UROCE_QPC_RNR_FALSE;
}

void
uroce_retry_progress(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	uroce_retry_refill(qpc);
	if (uroce_req_is_rnr_wait(req) && uroce_psn_before(req->rnr_psn, req->una_psn))
		note_false_rnr(qpc, now_ns);
	/*
	 * After the requester went back N, a response to the first transmission may acknowledge
	 * more packets than were retransmitted so far. Then una_psn, the oldest unacknowledged PSN,
	 * passes the send position.
	 */
	if (uroce_psn_before(req->next_psn, req->una_psn) ||
	    (int32_t)(req->next_idx - req->una_idx) < 0) {
		uroce_loss_recovery_on_spurious(qpc);
		uroce_retry_rewind(qpc);
	}
	if (req->loss_recovery.state != UROCE_RECOVERY_OPEN)
		(void)uroce_recovery_step(&req->loss_recovery, UROCE_RECOVERY_ON_PROGRESS);
	uroce_loss_recovery_progress(qpc, now_ns);
	if (req->una_psn == req->max_psn)
		req->ack_deadline = UROCE_NEVER;
	else
		uroce_retry_arm(qpc, now_ns);
}

/*
 * Whether a packet is known to be missing and was not yet retransmitted, or a response is missing
 * and was not yet requested again. Probes do not count.
 */
static bool
has_retransmit(const struct uroce_req *req)
{
	return (uroce_req_is_fast_retx(req) && req->loss_recovery.due & UROCE_RECOVERY_DUE_FIRST &&
		!req->loss_recovery.retransmit_ns) ||
	       req->ooo_responses.state == UROCE_OOO_RESPONSE_LOST ||
	       req->ooo_responses.due & UROCE_OOO_RESPONSE_DUE_NAK;
}

/*
 * Whether the requester has something to send, so that the ACK timer waits for the port and not for
 * a response.
 */
static bool
is_transmit_pending(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	if (has_retransmit(req))
		return true;
	return !uroce_req_awaits_response(req) &&
	       (req->next_psn != req->max_psn || req->next_idx != uroce_ring_head(&qpc->sq->ring));
}

/*
 * Count an ACK timeout in port_retry_left, the number of timeouts for which the requester waits for
 * a port, because the requester could not send its packets.
 */
static void
wait_for_port(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	req->port_retry_left =
		req->port_retry_left ? req->port_retry_left - 1 : qpc->attr.retry_cnt + 1;
	if (req->port_retry_left)
		req->ack_deadline = now_ns + 4 * uroce_qpc_ack_timeout_ns(qpc);
	else
		uroce_error_fail_request(qpc, IBV_WC_RETRY_EXC_ERR, 0, now_ns);
}

/*
 * Use a retry after an ACK timeout: go back N, or fail with IBV_WC_RETRY_EXC_ERR if no retry is
 * left.
 */
static void
use_retry(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	if (!req->retry_left) {
		uroce_error_fail_request(qpc, IBV_WC_RETRY_EXC_ERR, 0, now_ns);
		return;
	}
	req->retry_left--;
	uroce_count_in(qpc->counters, UROCE_COUNTER_LOCAL_ACK_TIMEOUT_ERR, 1);
	uroce_retry_carry_out(
		qpc, uroce_recovery_step(&req->loss_recovery, UROCE_RECOVERY_ON_ACK_TIMEOUT),
		now_ns);
}

void
uroce_retry_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	uroce_retry_carry_out(qpc, uroce_loss_recovery_expire(qpc, now_ns), now_ns);
	if (uroce_req_is_rnr_wait(req) && now_ns >= req->rnr_deadline) {
		(void)uroce_recovery_step(&req->loss_recovery, UROCE_RECOVERY_ON_RNR_EXPIRED);
		req->nb_false_rnrs = 0;
		if (req->una_psn != req->max_psn)
			uroce_retry_arm(qpc, now_ns);
	}
	if (now_ns >= req->ack_deadline && (req->port_retry_left || is_transmit_pending(qpc))) {
		wait_for_port(qpc, now_ns);
	} else if (now_ns >= req->ack_deadline) {
		const uint64_t sent_ns = req->rtt.sample_ns ? req->rtt.sample_ns : req->armed_ns;

		qpc->stats.timeouts++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_ACK_TIMEOUTS, 1);
		use_retry(qpc, now_ns);
		if (qpc->is_req_gbn || qpc->state == IBV_QPS_ERR)
			return;
		uroce_rtt_begin(&req->rtt, req->una_psn, sent_ns);
		req->rtt.is_ambiguous = true;
	}
}
