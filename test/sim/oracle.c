/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The oracle's checks of received packets and of the state of a QP: what may be written to memory,
 * and what was executed. oracle_sent.c checks the frames that a QP sends.
 *
 * The oracle reads two values of the transport: una_psn of the requester and epsn of the responder.
 * It checks independently that the packets before una_psn are acknowledged, and that those before
 * epsn are executed.
 */

#include "oracle.h"

#include <assert.h>
#include <string.h>

#include "completion_check.h"
#include "flow.h"
#include "mkey.h"
#include "paced.h"
#include "signed.h"
#include "wire/psn.h"
#include "world.h"

/*
 * A copy of the memory to which an out-of-order packet may be written, made before the packet is
 * passed to the QP.
 */
static uint8_t before_call[4096];

static bool
has_arrived(const struct qp *flow, uint32_t idx)
{
	return idx / 64 < flow->arrived_len && flow->arrived[idx / 64] >> idx % 64 & 1;
}

static void
note_arrival(struct qp *flow, uint32_t idx, uint32_t nb)
{
	for (uint32_t i = idx; i < idx + nb && i < flow->nb_psn; i++) {
		if (has_arrived(flow, i)) {
			flow->world->tally.spurious++;
			flow->spurious_early += i < 1000;
		}
		flow->arrived[i / 64] |= UINT64_C(1) << i % 64;
	}
}

/* --- packets that the responder counts as executed --- */

/* Whether packet `nth` of a request may be executed although the request is wrong on purpose. */
static bool
may_execute(const struct qp *flow, const struct request *req, uint32_t nth)
{
	if (req->bad == BAD_NONE)
		return true;
	if (req->bad == BAD_TOO_LONG)
		return (nth + 1) * flow_mtu(flow) <= qp_recv_len(flow->peer);
	if (req->bad == BAD_LKEY_LATE)
		return (nth + 1) * flow_mtu(flow) <= req->len / 2;
	/*
	 * a request with an invalid lkey for its response is executed by the peer, which does not
	 * see the lkey
	 */
	return req->bad == BAD_LKEY && request_needs_answer(req);
}

static void
apply_atomic(struct qp *flow, struct request *req)
{
	uint64_t word;

	memcpy(&word, flow->peer->shadow + req->land, sizeof(word));
	req->orig = word;
	if (req->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		word += req->compare_add;
	else if (word == req->compare_add)
		word = req->swap;
	memcpy(flow->peer->shadow + req->land, &word, sizeof(word));
}

/*
 * Apply the effect of packet `idx` to the shadow, which is the expected content of the peer's
 * memory.
 */
static void
apply(struct qp *flow, struct request *req, uint32_t idx)
{
	const uint32_t off = (idx - req->first) * flow_mtu(flow);

	if (request_is_atomic(req))
		apply_atomic(flow, req);
	else if (request_is_write(req) && req->into)
		mkey_apply(req->into, off, off + flow_payload(flow, req, idx));
	else if (request_is_write(req) && req->len)
		memcpy(flow->peer->shadow + req->land + off, request_bytes(flow, req) + off,
		       flow_payload(flow, req, idx));
}

/*
 * Whether a packet may be placed out of order: the packet is inside a WRITE (neither its first nor
 * its last packet), and the WRITE does not go to an mkey.
 */
static bool
is_inside(const struct request *req, uint32_t idx)
{
	return request_is_write(req) && !req->into && idx > req->first &&
	       idx + 1 < req->first + req->nb_psn;
}

bool
oracle_is_early(const struct qp *flow, const struct request *req, uint32_t idx)
{
	return is_inside(req, idx) && has_arrived(flow, idx);
}

/*
 * Whether byte `at` of the peer's memory comes from a packet after `idx` that was placed out of
 * order.
 */
static bool
is_of_later(const struct qp *flow, uint32_t idx, uint32_t at)
{
	for (uint32_t i = flow->exec_req; i < flow->nb_posted; i++) {
		const struct request *req = &flow->reqs[i];
		const uint32_t off = at - req->land;
		const uint32_t theirs = req->first + off / flow_mtu(flow);

		if (!request_is_write(req) || at < req->land || off >= req->len || theirs <= idx)
			continue;
		if (oracle_is_early(flow, req, theirs) &&
		    flow->peer->mem[at] == request_bytes(flow, req)[off])
			return true;
	}
	return false;
}

/*
 * Whether `len` bytes of the peer's memory are as given. Bytes that packets after `idx` have
 * written out of order may differ.
 */
static bool
is_there(const struct qp *flow, uint32_t idx, uint32_t at, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (flow->peer->mem[at + i] != bytes[i] && !is_of_later(flow, idx, at + i))
			return false;
	}
	return true;
}

/* Whether the peer's memory has the expected content where packet `idx` was placed. */
static bool
is_landed(const struct qp *flow, const struct request *req, uint32_t idx)
{
	const uint32_t off = (idx - req->first) * flow_mtu(flow), at = req->land + off;
	const struct qp *peer = flow->peer;

	if (request_is_atomic(req))
		return !memcmp(peer->mem + req->land, peer->shadow + req->land, 8);
	if (!request_is_write(req) || !req->len)
		return true;
	if (req->into)
		return mkey_is_there(req->into, off, off + flow_payload(flow, req, idx));
	return is_there(flow, idx, at, peer->shadow + at, flow_payload(flow, req, idx));
}

static struct request *
request_from(struct qp *flow, uint32_t *cursor, uint32_t idx)
{
	while (idx >= flow->reqs[*cursor].first + flow->reqs[*cursor].nb_psn)
		++*cursor;
	return &flow->reqs[*cursor];
}

/*
 * The responder counts all packets below `upto` as executed: check that, and apply their effects to
 * the shadow.
 */
static void
execute(struct qp *flow, uint32_t upto)
{
	struct world *world = flow->world;
	const uint32_t from = flow->exec, from_req = flow->exec_req;
	uint32_t cursor = from_req;

	if (upto > flow->nb_psn) {
		world_complain(world, "qp 0x%x expects packet %u of %u posted", flow->peer->qpn,
			       upto, flow->nb_psn);
		return;
	}
	for (; flow->exec < upto; flow->exec++) {
		struct request *req = request_from(flow, &flow->exec_req, flow->exec);

		if (!has_arrived(flow, flow->exec))
			world_complain(world, "qp 0x%x: packet %u was executed, and never arrived",
				       flow->peer->qpn, flow->exec);
		if (!may_execute(flow, req, flow->exec - req->first))
			world_complain(world,
				       "qp 0x%x: packet %u of a bad request (%d) was executed",
				       flow->peer->qpn, flow->exec, (int)req->bad);
		else
			apply(flow, req, flow->exec);
	}
	/*
	 * compare memory only after all packets are applied: if two packets write to one place, the
	 * last one counts
	 */
	for (uint32_t idx = from; idx < upto && !flow->is_overlaid && world_is_well(world); idx++) {
		if (!is_landed(flow, request_from(flow, &cursor, idx), idx))
			world_complain(world, "qp 0x%x: packet %u was executed, and is not there",
				       flow->peer->qpn, idx);
	}
}

/* --- packets that the requester counts as acknowledged --- */

static void
settle_packet(struct qp *flow, const struct request *req, uint32_t idx)
{
	const uint32_t off = (idx - req->first) * flow_mtu(flow);
	struct world *world = flow->world;
	uint8_t *at = flow->mem + req->local;

	if (!request_needs_answer(req)) {
		if (idx >= flow->exec)
			world_complain(world,
				       "qp 0x%x: packet %u is acknowledged, and not executed",
				       flow->qpn, idx);
		return;
	}
	if (req->opcode != IBV_WR_RDMA_READ && !request_is_atomic(req)) {
		if (idx >= flow->exec)
			world_complain(world, "qp 0x%x: packet %u is answered, and not executed",
				       flow->qpn, idx);
		return;
	}
	if (request_is_atomic(req)) {
		if (memcmp(at, &req->orig, 8) || idx >= flow->exec)
			world_complain(world, "qp 0x%x: packet %u: the atomic's answer is wrong",
				       flow->qpn, idx);
		memcpy(flow->shadow + req->local, at, 8);
		return;
	}
	if (!req->len)
		return;
	const uint32_t len = flow_payload(flow, req, idx);

	if (req->into ? !mkey_is_there(req->into, off, off + len)
		      : memcmp(at + off, request_bytes(flow, req) + off, len))
		world_complain(world, "qp 0x%x: packet %u: the READ brought wrong bytes", flow->qpn,
			       idx);
	signed_settled(flow, req, idx);
	if (req->into) {
		mkey_apply(req->into, off, off + len);
		return;
	}
	memcpy(flow->shadow + req->local + off, at + off, len);
}

/* Set the time of the last progress to now, because an acknowledgement arrived. */
static void
note_progress(struct qp *qp)
{
	qp->done_ns = qp->world->now_ns;
	qp->progress_ns = qp->world->now_ns;
	qp->retries_seen = qp->retries_now;
	qp->rnr_seen = qp->rnr_now;
}

void
oracle_settle(struct qp *flow, uint32_t upto)
{
	if (upto > flow->sent) {
		world_complain(flow->world, "qp 0x%x: packet %u is acknowledged, and %u were sent",
			       flow->qpn, upto, flow->sent);
		return;
	}
	if (upto > flow->acked)
		note_progress(flow);
	for (; flow->acked < upto; flow->acked++)
		settle_packet(flow, request_from(flow, &flow->acked_req, flow->acked), flow->acked);
	while (flow->rd_first != flow->rd_last && flow->rd_end[flow->rd_first % 32] <= flow->acked)
		flow->rd_first++;
}

/* --- the state of a QP --- */

static uint64_t
retries_of(const struct qp *qp)
{
	return qp->qpc.stats.timeouts;
}

/* The longest time that may pass without progress while packets are in flight. */
static uint64_t
budget_ns(const struct qp *qp)
{
	/*
	 * a requester may wait up to four times the timeout before each retry [IBA 9.7.6.1.3], and
	 * as long as its port accepts no frames
	 */
	return (qp->conf.retry_cnt + 2) * 4 * uroce_qpc_ack_timeout_ns(&qp->qpc) + 200000000 +
	       qp->host->blocked_ns;
}

static void
check_requester(struct qp *qp)
{
	const struct uroce_req *req = &qp->qpc.req;
	struct world *world = qp->world;
	const uint32_t una = flow_packet(qp, req->una_psn);

	if (una == FLOW_NO_PACKET || una < qp->acked) {
		world_complain(world, "qp 0x%x: what was acknowledged is open again", qp->qpn);
		return;
	}
	if (una > qp->acked)
		oracle_settle(qp, una);
	if (qp->rnr_now != qp->qpc.stats.naks_rnr)
		qp->progress_ns = world->now_ns;
	qp->retries_now = retries_of(qp);
	qp->rnr_now = qp->qpc.stats.naks_rnr;
	if (qp->sent <= qp->acked || !uroce_qpc_ack_timeout_ns(&qp->qpc))
		return;
	if (uroce_qpc_deadline(&qp->qpc) == UROCE_NEVER)
		world_complain(world, "qp 0x%x waits for its peer without a timer", qp->qpn);
	if (world->now_ns > qp->progress_ns + budget_ns(qp))
		world_complain(world, "qp 0x%x: what it sent did not end within its retry budget",
			       qp->qpn);
}

static void
check_responder(struct qp *qp)
{
	struct qp *flow = qp->peer;
	const uint32_t epsn = flow_packet(flow, qp->qpc.resp.epsn);

	/* a READ through a withdrawn key moves the QP to ERR, and may move epsn back */
	if (qp->qpc.state == IBV_QPS_ERR && (epsn == FLOW_NO_PACKET || epsn < flow->exec))
		return;
	if (epsn == FLOW_NO_PACKET || epsn < flow->exec) {
		world_complain(qp->world, "qp 0x%x expects again what it executed", qp->qpn);
		return;
	}
	if (epsn > flow->exec)
		execute(flow, epsn);
}

void
oracle_check(struct qp *qp)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)qp->qpc.state;

	if (flow_is_connected(qp) && state >= IBV_QPS_RTR)
		check_responder(qp);
	if (flow_is_connected(qp) && (state == IBV_QPS_RTS || state == IBV_QPS_SQD))
		check_requester(qp);
	ledger_collect(qp, NULL);
	paced_check(qp);
	if (qp->has_drained && flow_is_connected(qp) && state == IBV_QPS_SQD &&
	    qp->sent != qp->acked)
		world_complain(qp->world, "qp 0x%x says it has drained, with packets on the wire",
			       qp->qpn);
	qp->has_drained = false;
	if (state == IBV_QPS_ERR && !qp->deaths && !qp->is_forged)
		world_complain(qp->world, "qp 0x%x is in ERR without a reason", qp->qpn);
	if (state == IBV_QPS_ERR && uroce_qpc_deadline(&qp->qpc) != UROCE_NEVER)
		world_complain(qp->world, "qp 0x%x has a timer in ERR", qp->qpn);
}

void
oracle_idle(struct qp *qp)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)qp->qpc.state;

	if (state != IBV_QPS_ERR)
		return;
	if (!uroce_wq_is_empty(&qp->sq) || !uroce_wq_is_empty(&qp->rq))
		world_complain(qp->world, "qp 0x%x is in ERR, idle, and not flushed", qp->qpn);
}

/* --- reception of a frame --- */

/*
 * Find the memory to which the payload of a frame will be written, if it is known before the frame
 * is passed to the QP.
 */
static void
find_landing(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view)
{
	const struct request *req = view->req;
	const uint32_t off = (view->idx - req->first) * flow_mtu(qp);
	uint32_t at;

	if (request_is_atomic(req)) {
		at = view->flow == qp ? req->local : req->land;
		view->land_len = 8;
	} else {
		if (req->opcode == IBV_WR_RDMA_READ)
			at = req->local + off;
		else if (request_is_write(req))
			at = req->land + off;
		else if (req->recv_at != UINT32_MAX)
			at = req->recv_at + off;
		else
			return;
		view->land_len = pkt->payload_len;
	}
	if (view->land_len && req->into) {
		at = mkey_landing(req->into, off);
		view->land_len = at == UINT32_MAX ? 0 : 1;
	}
	if (!view->land_len || (req->bad && req->bad != BAD_LKEY_LATE) ||
	    at + view->land_len > qp->conf.mem_len)
		return;
	view->land_at = at;
	view->land = qp->mem + at;
}

/*
 * Change memory before a QP receives a duplicate, so that a second write of the payload would be
 * noticed.
 */
static void
flip(const struct oracle_view *view)
{
	view->land[0] ^= 0xff;
	if (view->land_len > 1)
		view->land[view->land_len - 1] ^= 0xff;
}

static void
note_request(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view)
{
	uint32_t nb = 1;

	if (pkt->op->operation == UROCE_OPERATION_READ) {
		const uint32_t len = be32_get(uroce_pkt_reth(pkt)->dma_len);

		nb = len ? (len + flow_mtu(qp) - 1) / flow_mtu(qp) : 1;
	}
	note_arrival(view->flow, view->idx, nb);
	if (view->req && view->req->is_mortal && qp->mortal.is_dead)
		qp->deaths |= DEATH_PEER;
	if (view->req && view->req->bad) {
		qp->bad_seen |= 1u << view->req->bad;
		qp->deaths |= DEATH_PEER;
	}
	view->is_past = view->idx < view->flow->exec;
}

void
oracle_note_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view)
{
	const bool is_response = pkt->op->flags & UROCE_OPF_RESPONSE;

	*view = (struct oracle_view){ .flow = is_response ? qp : qp->peer };
	paced_received(qp, pkt);
	if (qp->is_forged || pkt->op->operation == UROCE_OPERATION_CNP)
		return;
	view->idx = flow_packet(view->flow, pkt->psn);
	view->req = view->idx == FLOW_NO_PACKET ? NULL : qp_request_at(view->flow, view->idx);
	if (!view->req)
		return;
	if (is_response)
		view->is_past = view->idx < qp->acked;
	else
		note_request(qp, pkt, view);
}

void
oracle_before_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view)
{
	const bool is_response = pkt->op->flags & UROCE_OPF_RESPONSE;

	oracle_note_recv(qp, pkt, view);
	if (!view->req || qp->conf.type == IBV_QPT_UD)
		return;
	if (!is_response || pkt->op->operation != UROCE_OPERATION_ACK)
		find_landing(qp, pkt, view);
	if (!view->land || qp->is_lenient)
		return;
	if (request_is_atomic(view->req))
		memcpy(&view->saved, view->land, 8);
	else if (view->is_past)
		flip(view);
	else if (view->idx > (is_response ? qp->acked : view->flow->exec))
		memcpy(before_call, view->land, view->land_len);
	view->flipped_first = view->land[0];
	view->flipped_last = view->land[view->land_len - 1];
}

/* Check that a duplicate has not changed memory. */
static void
check_past(struct qp *qp, const struct oracle_view *view)
{
	struct world *world = qp->world;

	if (request_is_atomic(view->req)) {
		if (memcmp(&view->saved, view->land, 8))
			world_complain(world, "qp 0x%x: packet %u: an atomic was executed again",
				       qp->qpn, view->idx);
		return;
	}
	if (view->land[0] != view->flipped_first ||
	    view->land[view->land_len - 1] != view->flipped_last)
		world_complain(world, "qp 0x%x: packet %u landed twice", qp->qpn, view->idx);
	flip(view);
}

/*
 * Whether packet `idx` may be placed although packets from `exec` on are missing: packet `idx` is
 * inside a WRITE, and only WRITEs precede it.
 */
static bool
may_land_ahead(const struct qp *flow, const struct request *req, uint32_t idx)
{
	for (const struct request *at = &flow->reqs[flow->exec_req]; at < req; at++) {
		if (at->nb_psn && at->first + at->nb_psn > flow->exec &&
		    (!request_is_write(at) || (int)at->opcode == UROCE_WR_ATOMIC_WRITE))
			return false;
	}
	return is_inside(req, idx);
}

/*
 * Check the effect of an out-of-order request packet. Its payload may be in memory only where
 * direct data placement is allowed.
 */
static void
check_ahead(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view)
{
	const struct qp *flow = view->flow;

	/*
	 * compare memory with its content before the frame was received, not with the expected
	 * content (the shadow): an earlier out-of-order packet may already have been placed here
	 */
	if (!memcmp(view->land, before_call, view->land_len))
		return;
	if (!may_land_ahead(flow, view->req, view->idx))
		world_complain(qp->world,
			       "qp 0x%x: packet %u (of %u..%u, operation %d) landed before "
			       "packet %u",
			       qp->qpn, view->idx, view->req->first,
			       view->req->first + view->req->nb_psn - 1, (int)view->req->opcode,
			       flow->exec);
	else if (!is_there(flow, view->idx, view->land_at, pkt->payload, view->land_len))
		world_complain(qp->world, "qp 0x%x: packet %u landed early, and wrong", qp->qpn,
			       view->idx);
}

/*
 * Check the effect of an out-of-order response. Its payload may be in memory only inside the READ
 * whose responses the requester is receiving.
 */
static void
check_answer_ahead(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view)
{
	const struct request *req = view->req;

	if (!memcmp(view->land, before_call, view->land_len))
		return;
	if (qp_request_at(qp, qp->acked) != req || req->into ||
	    view->idx + 1 == req->first + req->nb_psn)
		world_complain(qp->world, "qp 0x%x: answer %u (of %u..%u) landed before answer %u",
			       qp->qpn, view->idx, req->first, req->first + req->nb_psn - 1,
			       qp->acked);
	else if (memcmp(view->land, pkt->payload, view->land_len))
		world_complain(qp->world, "qp 0x%x: answer %u landed early, and wrong", qp->qpn,
			       view->idx);
}

static void
check_lenient(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view,
	      enum uroce_verdict verdict)
{
	if (!view->land || !request_is_write(view->req))
		return;
	if (verdict == UROCE_VERDICT_REQUEST) {
		if (memcmp(view->land, pkt->payload, view->land_len))
			world_complain(qp->world, "qp 0x%x: packet %u is not where it belongs",
				       qp->qpn, view->idx);
		memcpy(qp->shadow + view->land_at, view->land, view->land_len);
	} else if (memcmp(view->land, qp->shadow + view->land_at, view->land_len)) {
		world_complain(qp->world, "qp 0x%x: packet %u was refused, and landed", qp->qpn,
			       view->idx);
	}
}

void
oracle_after_recv(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view,
		  enum uroce_verdict verdict)
{
	const bool is_response = pkt->op->flags & UROCE_OPF_RESPONSE;

	ledger_collect(qp, view);
	if (qp->qpc.state == IBV_QPS_RTR && !is_response && !qp->is_forged &&
	    (verdict == UROCE_VERDICT_REQUEST || verdict == UROCE_VERDICT_DATAGRAM) && !qp->nb_est)
		world_complain(qp->world, "qp 0x%x: a request in RTR, and no COMM_EST", qp->qpn);
	if (view->req && qp->is_lenient)
		check_lenient(qp, pkt, view, verdict);
	else if (view->land && view->is_past)
		check_past(qp, view);
	oracle_check(qp);
	if (!view->land || view->is_past || qp->is_lenient || !world_is_well(qp->world))
		return;
	if (!is_response && view->idx > view->flow->exec && qp->qpc.state != IBV_QPS_ERR &&
	    !request_is_send(view->req) && !request_is_atomic(view->req))
		check_ahead(qp, pkt, view);
	if (is_response && view->idx > qp->acked && qp->qpc.state != IBV_QPS_ERR &&
	    view->req->opcode == IBV_WR_RDMA_READ)
		check_answer_ahead(qp, pkt, view);
}

/*
 * Whether a received request packet is not before epsn, so that its payload may be in memory out of
 * order.
 */
static bool
is_ahead(const struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view)
{
	const uint32_t epsn = flow_packet(qp->peer, qp->qpc.resp.epsn);

	return view->req && !(pkt->op->flags & UROCE_OPF_RESPONSE) && view->idx >= epsn;
}

void
oracle_after_run(struct qp *qp, const struct uroce_pkt *pkts, const struct oracle_view *views,
		 const uint8_t *verdicts, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		qp->peer->is_overlaid |= is_ahead(qp, &pkts[i], &views[i]);
	for (unsigned i = 0; i < nb; i++) {
		oracle_after_recv(qp, &pkts[i], &views[i], (enum uroce_verdict)verdicts[i]);
		if (verdicts[i] == UROCE_VERDICT_REQUEST && pkts[i].has_ack_req &&
		    flow_is_connected(qp) && qp->qpc.state != IBV_QPS_ERR &&
		    !qp->qpc.cc.is_limited && !uroce_qpc_has_work(&qp->qpc))
			world_complain(qp->world, "qp 0x%x: packet %u asks for an ACK, in vain",
				       qp->qpn, views[i].idx);
	}
	qp->peer->is_overlaid = false;
}
