/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's choice of the next packet. Packets of loss recovery are sent first. New requests
 * follow, as far as the window, the pacer and the number of READs allow. Capacity that is left is
 * used for opportunistic retransmissions: packets behind PSN gaps.
 *
 * Loss recovery decides what to retransmit, but does not send. loss_recovery.c and ooo_response.c
 * select the packet, and this file calls retransmit.c, which builds the packet.
 */
#include "transport/requester/requester.h"

#include "transport/requester/completer.h"
#include "transport/completion.h"
#include "transport/error.h"
#include "transport/requester/local.h"
#include "transport/recovery/loss_recovery.h"
#include "transport/middle.h"
#include "transport/recovery/ooo_response.h"
#include "transport/requester/position.h"
#include "transport/requester/req.h"
#include "transport/recovery/retransmit.h"
#include "transport/recovery/retry.h"
#include "transport/txd.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

void
uroce_requester_start(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	req->una_psn = qpc->attr.sq_psn;
	req->next_psn = qpc->attr.sq_psn;
	req->max_psn = qpc->attr.sq_psn;
	uroce_retry_refill(qpc);
	uroce_loss_recovery_start(qpc);
}

void
uroce_requester_resume(struct uroce_qpc *qpc)
{
	const uint32_t psn = qpc->req.max_psn;
	const uint32_t idx = uroce_ring_tail(&qpc->sq->ring);

	qpc->req = (struct uroce_req){
		.una_psn = psn,
		.next_psn = psn,
		.max_psn = psn,
		.una_idx = idx,
		.next_idx = idx,
		.begun_idx = idx,
		.ack_deadline = UROCE_NEVER,
		.loss_recovery.probe_deadline = UROCE_NEVER,
		.ooo_responses.deadline = UROCE_NEVER,
	};
}

/*
 * Assign PSNs to the next request in the send queue.
 * @return false: the queue has no further request, or the state of the QP allows no new request
 */
static bool
begin_request(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	if (req->next_idx == uroce_ring_head(&qpc->sq->ring) || qpc->state != IBV_QPS_RTS)
		return false;
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);

	wqe->first_psn = req->next_psn;
	if (wqe->flags & UROCE_WQE_LOCAL)
		wqe->nb_psn = 0;
	else if (uroce_wqe_needs_response(wqe) && wqe->opcode != IBV_WR_RDMA_READ)
		wqe->nb_psn = 1;
	else
		wqe->nb_psn = uroce_msg_packets(qpc, wqe->len);
	req->begun_idx = req->next_idx + 1;
	return true;
}

/*
 * Whether the window has room for all responses of the READ chunk at the send position. A READ
 * chunk is what one READ request requests. The window may be exceeded by up to
 * UROCE_READ_CHUNK_PSNS.
 */
static bool
has_room(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	const struct uroce_req *req = &qpc->req;
	const uint32_t nb_out = uroce_psn_dist(req->una_psn, req->next_psn);

	return !nb_out || nb_out + uroce_req_chunk_left(qpc, wqe, req->next_pkt) <=
				  (uint32_t)qpc->window_psns + UROCE_READ_CHUNK_PSNS;
}

/*
 * Whether the request at the send position has to wait for earlier READs and atomics, or for room
 * in the window.
 */
static bool
must_wait_for_rd_atomic(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	const struct uroce_req *req = &qpc->req;

	if (!req->next_pkt && (wqe->flags & UROCE_WQE_FENCE) && req->nb_rd_out)
		return true;
	if (!uroce_wqe_needs_response(wqe))
		return false;
	return req->nb_rd_out >= qpc->attr.max_rd_atomic || !has_room(qpc, wqe);
}

/*
 * Move the send position past `nb` packets that need no retransmission, because their responses
 * have arrived or the peer has executed them.
 */
static void
skip_known(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t nb)
{
	struct uroce_req *req = &qpc->req;

	/*
	 * a READ chunk whose end the send position passes, or an atomic, counts as in flight until
	 * una_psn passes it
	 */
	if (uroce_wqe_needs_response(wqe) && nb == uroce_req_chunk_left(qpc, wqe, req->next_pkt))
		req->nb_rd_out++;
	uroce_position_move(req, wqe, nb);
}

/*
 * Find the next request at the send position that has packets to send. Local requests (requests
 * without packets) before it are executed.
 * @return NULL: there is no such request, it may not be sent now, or it cannot be sent
 */
static struct uroce_send_wqe *
next_request(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	while (!req->fault) {
		if (uroce_qpc_is_reliable(qpc) && !uroce_req_window_left(qpc))
			return NULL;
		if (req->next_idx == req->begun_idx && !begin_request(qpc))
			return NULL;
		struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
		const uint32_t nb_known =
			uroce_req_has_answer_gap(req) ? uroce_ooo_response_nb_present(qpc, wqe) : 0;

		if (nb_known) {
			skip_known(qpc, wqe, nb_known);
			continue;
		}
		if (!(wqe->flags & UROCE_WQE_LOCAL)) {
			if (uroce_req_is_possible(qpc, wqe))
				return must_wait_for_rd_atomic(qpc, wqe) ? NULL : wqe;
			req->fault = IBV_WC_LOC_QP_OP_ERR;
			return NULL;
		}
		if (must_wait_for_rd_atomic(qpc, wqe))
			return NULL;
		req->fault = (uint8_t)uroce_local_execute(qpc, wqe);
		req->next_idx += !req->fault;
	}
	return NULL;
}

/*
 * Build one packet at the send position. The packet of a READ requests the responses of the next
 * part (READ chunk) of the READ, without those at the end that have arrived.
 * @return whether a packet was built
 */
static bool
put_request(struct uroce_qpc *qpc, struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const struct uroce_send_wqe *wqe = next_request(qpc);

	if (!wqe)
		return false;
	const bool is_read = wqe->opcode == IBV_WR_RDMA_READ;
	const uint32_t left = is_read ? uroce_req_chunk_left(qpc, wqe, req->next_pkt) : 1;
	const uint32_t nb = is_read && uroce_req_has_answer_gap(req)
				    ? uroce_ooo_response_nb_missing(qpc, req->next_psn, left)
				    : left;

	if (!uroce_req_put(qpc, nb, txd))
		return false;
	if (nb < left)
		uroce_position_move(req, wqe, left - nb);
	return true;
}

/*
 * Move the send position back by one packet, so that this packet is sent once more and requests an
 * ACK. The move is necessary if sending stops at the send position, and the packets before this
 * position do not request an ACK.
 * @return whether the send position moved
 */
static bool
rewind_to_ack_req(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;
	const bool is_drained = req->next_idx == req->begun_idx && qpc->state == IBV_QPS_SQD;

	if (!req->since_ack_req || req->next_idx == req->una_idx || (!req->fault && !is_drained))
		return false;
	if (!req->next_pkt) {
		uint32_t idx = req->next_idx;

		/* skip local requests, which have no packets; all requests may be local ones */
		while (idx != req->una_idx && !uroce_req_wqe(qpc, idx - 1)->nb_psn)
			idx--;
		if (idx == req->una_idx)
			return false;
		req->next_idx = idx - 1;
		req->next_pkt = uroce_req_wqe(qpc, idx - 1)->nb_psn;
	}
	req->next_pkt--;
	req->next_psn = uroce_psn_add(req->next_psn, UROCE_PSN_MASK);
	req->fault = 0;
	req->is_ack_wanted = true;
	return true;
}

void
uroce_requester_fail_if_faulty(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;

	if (req->fault && req->next_idx == req->una_idx)
		uroce_error_fail_request(qpc, (enum ibv_wc_status)req->fault, 0, now_ns);
}

/*
 * Make the next packet request an ACK, if no packet has requested an ACK during the last round
 * trip. The ACK rule counts packets. With this rule alone, a QP that sends slowly would request
 * ACKs so rarely that a peer without responses is noticed too late.
 */
static void
schedule_ack_req(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (now_ns < qpc->cc.ask_ns || !uroce_cc_may_send(&qpc->cc, now_ns))
		return;
	qpc->cc.ask_ns = now_ns + qpc->req.rtt.srtt_ns;
	qpc->req.is_ack_wanted = true;
}

/* Whether the send queue is empty, and no packets behind PSN gaps are to be retransmitted. */
static bool
is_all_sent(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return !req->fault && !(req->loss_recovery.due & UROCE_RECOVERY_DUE_BEHIND) &&
	       req->next_idx == uroce_ring_head(&qpc->sq->ring);
}

/* Build the packets that loss recovery has to retransmit now. */
static unsigned
put_retransmits(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	struct uroce_retransmit what;
	unsigned nb = 0;

	while (nb < max && uroce_cc_may_send(&qpc->cc, now_ns) &&
	       uroce_loss_recovery_next(qpc, &what, now_ns) &&
	       uroce_retransmit_put(qpc, &what, &out[nb]))
		uroce_txd_charge(qpc, &out[nb++], now_ns);
	while (nb < max && uroce_cc_may_send(&qpc->cc, now_ns) &&
	       uroce_ooo_response_next(qpc, &what, now_ns) &&
	       uroce_retransmit_put(qpc, &what, &out[nb]))
		uroce_txd_charge(qpc, &out[nb++], now_ns);
	return nb;
}

/*
 * Retransmit one packet whose PSN is behind a PSN gap. The requester calls this function when it
 * has no new packet to send (opportunistic retransmission).
 * @return whether a packet was built
 */
static bool
put_spare(struct uroce_qpc *qpc, struct uroce_txd *txd)
{
	struct uroce_retransmit what;

	return qpc->req.loss_recovery.due & UROCE_RECOVERY_DUE_BEHIND &&
	       uroce_loss_recovery_next_opportunistic(qpc, &what) &&
	       uroce_retransmit_put(qpc, &what, txd);
}

/*
 * Build packets on the fast path: requests of one packet, or Middle packets. The fast path checks
 * the conditions once for all packets.
 */
static unsigned
put_fast_path(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max)
{
	if (!uroce_req_is_fast_path(qpc))
		return 0;
	return qpc->req.next_pkt ? uroce_middle_put_requests(qpc, out, max)
				 : uroce_req_put_run(qpc, out, max);
}

unsigned
uroce_requester_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t next_psn = req->next_psn, max_psn = req->max_psn;
	/*
	 * if no packet in flight requests a response, the ACK timer is restarted after the burst,
	 * because the peer did not have to respond yet
	 */
	const bool was_awaiting = uroce_req_awaits_response(req);
	unsigned nb = 0;

	if (uroce_req_is_rnr_wait(req))
		return 0;
	if (qpc->cc.is_limited)
		schedule_ack_req(qpc, now_ns);
	if (uroce_req_has_retransmit(req))
		nb = put_retransmits(qpc, out, max, now_ns);
	while (nb < max && uroce_cc_may_send(&qpc->cc, now_ns)) {
		const unsigned nb_run = put_fast_path(qpc, &out[nb], max - nb);

		nb += nb_run;
		if (nb_run && is_all_sent(qpc))
			break;
		if (nb_run)
			continue;
		if (!put_request(qpc, &out[nb]) &&
		    !(rewind_to_ack_req(qpc) && put_request(qpc, &out[nb])) &&
		    !put_spare(qpc, &out[nb]))
			break;
		uroce_txd_charge(qpc, &out[nb++], now_ns);
	}
	uroce_loss_recovery_sent(qpc, next_psn, max_psn, now_ns);
	if (nb && (req->ack_deadline == UROCE_NEVER || !was_awaiting || req->port_retry_left) &&
	    uroce_qpc_is_reliable(qpc))
		uroce_retry_arm(qpc, now_ns);
	if (req->is_local_done)
		uroce_completer_retire_local(qpc, now_ns);
	/*
	 * A request that cannot be sent fails only in a call that builds no packets. The caller has
	 * yet to gather the payload of packets that were built, and requests are flushed when one
	 * fails.
	 */
	if (!nb)
		uroce_requester_fail_if_faulty(qpc, now_ns);
	return nb;
}

void
uroce_requester_sent(struct uroce_qpc *qpc, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	const uint32_t nb = req->next_idx - req->una_idx;

	if (nb) {
		unsigned nb_sends = 0;

		uroce_completion_send_begin(qpc);
		for (uint32_t i = 0; i < nb; i++) {
			const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx + i);

			nb_sends += (wqe->flags & UROCE_WQE_SEND) != 0;
			uroce_completion_send(qpc, wqe, IBV_WC_SUCCESS, 0, now_ns);
		}
		uroce_count_in(qpc->counters, UROCE_COUNTER_RDMA_SENDS, nb_sends);
		uroce_ring_pop(&qpc->sq->ring, nb);
		uroce_completion_send_end(qpc);
		req->una_idx = req->next_idx;
		req->una_psn = req->next_psn;
		uroce_completer_check_drained(qpc);
	}
	uroce_requester_fail_if_faulty(qpc, now_ns);
}
