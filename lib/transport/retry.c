/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's patience [IBA 9.7.6]: the ACK timer, the retries that it has, and sending again,
 * which is setting the position (req.c) back to the oldest unacknowledged PSN. Only a timeout uses a retry;
 * whatever moves the peer forward gives all of them back.
 *
 * The timer measures the peer, from when a packet that asks was sent. After a rewind none is on the wire
 * until the QP has its turn, which may take long where many wait for a port; nor is a repair that the
 * peer has asked for. When the timer runs out then, it is our port that is late, and no retry is used.
 * The port has a budget of its own, or one that takes nothing would be waited for for ever: retry_cnt + 1
 * times the longest timeout [IBA 9.7.6.1.3]. It is counted in timeouts, as retries are, so that a pause
 * of the whole process costs one. Whatever is sent, or comes, ends that.
 *
 * An RNR NAK says that a request found no receive request; it is executed when it is sent again, and we are silent until
 * then. If it is acknowledged in that time, the NAK was not true, or is about a copy: somebody may forge them. The wait ends
 * then, and for two round trips no RNR NAK is believed, each time for twice as long as the last, until one is true. A
 * true one that is not believed is a sign of life, and comes again: the peer answers when the request is repeated by a probe.
 */
#include "transport/retry.h"

#include "transport/error.h"
#include "transport/loss_recovery.h"
#include "transport/ooo_response_state.h"
#include "transport/position.h"
#include "transport/recovery_state.h"
#include "wire/psn.h"

/* For how long RNR NAKs are not believed: two round trips to the number of those that were not true, and at most so long. */
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

/* While we wait for the peer's receive request what needed it was acknowledged. */
static void
note_false_rnr(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	req->nb_false_rnrs += req->nb_false_rnrs < RNR_IGNORE_SHIFT_MAX;
	/* who goes back N does not measure round trips */
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
	/* an answer to what was sent before a rewind may overtake the position */
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

/* Whether the peer has told what it misses, or what we do, and that was not sent again yet; no probe. */
static bool
has_retransmit(const struct uroce_req *req)
{
	return (uroce_req_is_fast_retx(req) && req->loss_recovery.due & UROCE_RECOVERY_DUE_FIRST &&
		!req->loss_recovery.retransmit_ns) ||
	       req->ooo_responses.state == UROCE_OOO_RESPONSE_LOST ||
	       req->ooo_responses.due & UROCE_OOO_RESPONSE_DUE_NAK;
}

/* Whether the next step is ours, and there is one. */
static bool
is_transmit_pending(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	if (has_retransmit(req))
		return true;
	return !uroce_req_awaits_response(req) &&
	       (req->next_psn != req->max_psn || req->next_idx != uroce_ring_head(&qpc->sq->ring));
}

/* The timer ran out while the next step is ours: from now on it is the port's. */
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

/* A timeout: go back N, or end in IBV_WC_RETRY_EXC_ERR when no retry is left. */
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
