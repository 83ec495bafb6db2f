/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checks completions. An unsignaled request that succeeds has no completion: the next completion of
 * its queue implies that the request succeeded.
 */

#include "completion_check.h"

#include <string.h>

#include "shared.h"
#include "signed.h"
#include "world.h"

#define GRH_LEN 40
#define POLL_NB 16

/* The completion status that the requester must report for each kind of invalid request. */
static const enum ibv_wc_status bad_status[BAD_NB] = {
	[BAD_KEY] = IBV_WC_REM_ACCESS_ERR,     [BAD_DEAD_KEY] = IBV_WC_REM_ACCESS_ERR,
	[BAD_PD] = IBV_WC_REM_ACCESS_ERR,      [BAD_RANGE] = IBV_WC_REM_ACCESS_ERR,
	[BAD_RIGHT] = IBV_WC_REM_ACCESS_ERR,   [BAD_ALIGN] = IBV_WC_REM_INV_REQ_ERR,
	[BAD_LKEY] = IBV_WC_LOC_PROT_ERR,      [BAD_TOO_LONG] = IBV_WC_REM_INV_REQ_ERR,
	[BAD_RECV_KEY] = IBV_WC_REM_OP_ERR,    [BAD_SRQ] = IBV_WC_REM_INV_REQ_ERR,
	[BAD_LKEY_LATE] = IBV_WC_LOC_PROT_ERR,
};

static const enum ibv_wc_opcode wc_opcodes[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
	[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
	[UROCE_WR_FLUSH] = (enum ibv_wc_opcode)UROCE_WC_FLUSH,
	[UROCE_WR_ATOMIC_WRITE] = (enum ibv_wc_opcode)UROCE_WC_ATOMIC_WRITE,
};

static bool
is_signaled(const struct qp *qp, const struct request *req)
{
	return qp->conf.all_signaled || (req->flags & IBV_SEND_SIGNALED);
}

/* --- completions of send requests --- */

static void
succeed(struct qp *qp, struct request *req)
{
	struct world *world = qp->world;
	const uint32_t end = req->first + req->nb_psn;

	if (req->bad && !req->is_cancelled && !qp->is_lenient)
		world_complain(world, "qp 0x%x: a bad request succeeded", qp->qpn);
	if (!qp_is_reliable(qp) || qp->is_forged)
		return;
	/*
	 * the call that completed the request may also have moved the QP to ERR, and in ERR the
	 * oracle does not read una_psn
	 */
	if (end > qp->acked)
		oracle_settle(qp, end);
	signed_done(qp, req);
}

static uint64_t
burst_bytes(const struct host *host)
{
	return (uint64_t)host->burst * host->nb_qps * FRAME_MAX;
}

/* The longest time from sending a frame to receiving its response when nothing is lost. */
static uint64_t
round_trip_ns(const struct qp *qp)
{
	const struct link *ours = &qp->host->link, *theirs = &qp->peer->host->link;
	/*
	 * bytes that may wait in the switch and at both transmitters, with one burst of each QP at
	 * each host
	 */
	const uint64_t queued = ours->peak_bytes + theirs->peak_bytes + burst_bytes(qp->host) +
				burst_bytes(qp->peer->host);

	return 4 * (uint64_t)ours->delay_ns + 2 * (qp->host->gap_ns + qp->peer->host->gap_ns) +
	       (ours->rate_bps ? 2 * queued * 8000000000 / ours->rate_bps : 0);
}

/* Whether the network or the peer can be the reason why there was no progress. */
static bool
is_excused(const struct qp *qp)
{
	const struct qp *peer = qp->peer;
	const uint64_t since_ns = qp->progress_ns;

	if (peer->is_gone || peer->qpc.state < IBV_QPS_RTR || peer->qpc.state == IBV_QPS_ERR)
		return true;
	/*
	 * the last progress was before calm_ns, or less than 20 ms after it, so frames may have
	 * been lost
	 */
	if (qp->world->calm_ns &&
	    (since_ns < qp->world->calm_ns || since_ns - qp->world->calm_ns < 20000000))
		return true;
	if (qp->host->awake_ns > since_ns || peer->host->awake_ns > since_ns)
		return true;
	/* the peer's responses wait because the peer's port accepts no frames */
	if (peer->host->blocked_ns && peer->host->busy_ns > since_ns)
		return true;
	return uroce_qpc_ack_timeout_ns(&qp->qpc) < 4 * round_trip_ns(qp);
}

static bool
is_retry_spent(const struct qp *qp, bool is_withdrawn)
{
	const uint64_t nb = qp->qpc.stats.timeouts - qp->retries_seen;

	return nb >= qp->conf.retry_cnt + 1u && (is_withdrawn || is_excused(qp));
}

/*
 * Whether the QP's own port or host has been blocked since the last request was sent, and all
 * retries would have been used up in that time.
 */
static bool
is_port_spent(const struct qp *qp)
{
	return (qp->host->busy_ns > qp->sent_ns || qp->host->awake_ns > qp->sent_ns) &&
	       qp->world->now_ns - qp->sent_ns >=
		       (qp->conf.retry_cnt + 1u) * 4 * uroce_qpc_ack_timeout_ns(&qp->qpc);
}

static bool
is_rnr_spent(const struct qp *qp)
{
	return qp->conf.rnr_retry != 7 &&
	       qp->qpc.stats.naks_rnr - qp->rnr_seen >= qp->conf.rnr_retry + 1u;
}

/* Whether the oracle knows a reason for the first completion with an error of a QP. */
static bool
is_due(const struct qp *qp, const struct request *req, enum ibv_wc_status status)
{
	if (status == IBV_WC_WR_FLUSH_ERR)
		return qp->deaths & (DEATH_ORDERED | DEATH_PEER);
	if (!qp_is_reliable(qp))
		return ((req->bad == BAD_LKEY || req->bad == BAD_LKEY_LATE) &&
			status == IBV_WC_LOC_PROT_ERR) ||
		       (req->bad == BAD_TOO_LONG && status == IBV_WC_LOC_LEN_ERR);
	const bool is_withdrawn = req->is_mortal && qp->peer->mortal.is_dead;

	/*
	 * if the peer has withdrawn the key of a READ, a repetition of the READ may get no response
	 */
	if (status == IBV_WC_RETRY_EXC_ERR)
		return is_retry_spent(qp, is_withdrawn) || is_port_spent(qp);
	if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		return is_rnr_spent(qp);
	if (is_withdrawn && status == IBV_WC_REM_ACCESS_ERR)
		return true;
	return req->bad && status == bad_status[req->bad];
}

static void
fail(struct qp *qp, const struct request *req, enum ibv_wc_status status)
{
	struct world *world = qp->world;

	if (qp->has_failed) {
		if (status != IBV_WC_WR_FLUSH_ERR)
			world_complain(world, "qp 0x%x: status %d after an error", qp->qpn, status);
		return;
	}
	qp->has_failed = true;
	if (status != IBV_WC_WR_FLUSH_ERR)
		trace_note(world, qp->host->idx, "request %u fails: status %d",
			   (unsigned)(req - qp->reqs), status);
	if (!qp->is_forged && !is_due(qp, req, status))
		world_complain(world, "qp 0x%x: request %u ends in status %d for no reason",
			       qp->qpn, (unsigned)(req - qp->reqs), status);
	qp->deaths |= DEATH_FAULT;
}

static void
send_done(struct qp *qp, const struct ibv_wc *wc)
{
	struct world *world = qp->world;

	if (wc->wr_id < qp->done || wc->wr_id >= qp->nb_posted) {
		world_complain(world, "qp 0x%x: request %u of %u completes, %u are complete",
			       qp->qpn, (unsigned)wc->wr_id, qp->nb_posted, qp->done);
		return;
	}
	world->tally.statuses[wc->status & 31]++;
	for (; qp->done < wc->wr_id; qp->done++) {
		struct request *req = &qp->reqs[qp->done];

		if (is_signaled(qp, req) || qp->has_failed)
			world_complain(world, "qp 0x%x: request %u has no completion", qp->qpn,
				       qp->done);
		succeed(qp, req);
	}
	struct request *req = &qp->reqs[qp->done++];

	if (wc->status != IBV_WC_SUCCESS) {
		fail(qp, req, wc->status);
		return;
	}
	if (qp->has_failed)
		world_complain(world, "qp 0x%x: a success after an error", qp->qpn);
	if (!is_signaled(qp, req))
		world_complain(world, "qp 0x%x: an unsignaled request has a completion", qp->qpn);
	if (wc->opcode != wc_opcodes[req->opcode])
		world_complain(world, "qp 0x%x: request %u completes as another operation", qp->qpn,
			       (unsigned)wc->wr_id);
	succeed(qp, req);
}

/* --- completions of receive requests --- */

/*
 * @return the request of the peer whose message completed a receive request. On a reliable
 * transport, it is the next request in order. On an unreliable transport, it is the request to
 * which the delivered frame belongs. An XRC target has a completion queue for each shared receive
 * queue, and the messages of each queue are in order.
 */
static struct request *
sender_of(struct qp *qp, const struct shared *shared, const struct oracle_view *view)
{
	struct qp *flow = qp->peer;
	const uint8_t srq = shared && shared == qp->srqs[1];
	uint32_t *next = &flow->next_taker[srq];

	if (qp->is_lenient)
		return view ? view->req : NULL;
	while (*next < flow->nb_posted &&
	       (!request_takes_recv(&flow->reqs[*next]) || flow->reqs[*next].srq != srq))
		++*next;
	return *next < flow->nb_posted ? &flow->reqs[(*next)++] : NULL;
}

static bool
is_whole(const struct qp *qp, const struct request *req)
{
	const struct qp *flow = qp->peer;
	const uint32_t end = req->first + req->nb_psn;

	if (qp_is_reliable(qp) && end > flow->exec) {
		/*
		 * flow->exec is updated after the call of the transport: use the responder's epsn,
		 * which already counts the packets of this call
		 */
		const uint32_t exec = (qp->qpc.resp.epsn - flow->conf.psn) & 0xffffff;

		if (end > exec)
			return false;
	}
	for (uint32_t idx = req->first; idx < end; idx++) {
		if (!(flow->arrived[idx / 64] >> idx % 64 & 1))
			return false;
	}
	return true;
}

/* A receive buffer: its memory, and a copy with the content that the memory must have. */
struct buffer {
	uint8_t *mem;
	uint8_t *shadow;
	uint32_t len;
};

static struct buffer
buffer_of(const struct qp *qp, const struct shared *shared, uint64_t wr_id)
{
	const uint32_t nth = (uint32_t)wr_id;
	const uint32_t at = shared ? shared_at(shared, nth) : qp_recv_at(qp, nth);

	return (struct buffer){
		.mem = (shared ? shared->mem : qp->mem) + at,
		.shadow = (shared ? shared->shadow : qp->shadow) + at,
		.len = shared ? shared->buf_len : qp->conf.recv_len,
	};
}

/* Check the bytes of a message, and that the rest of its buffer is unchanged. */
static void
check_message(struct qp *qp, struct request *req, const struct buffer *buf)
{
	const uint32_t grh = qp->conf.type == IBV_QPT_UD ? GRH_LEN : 0;
	const uint32_t end = grh + req->len;

	if (request_is_send(req)) {
		if (memcmp(buf->mem + grh, request_bytes(qp, req), req->len))
			world_complain(qp->world, "qp 0x%x: a message has wrong bytes", qp->qpn);
		memcpy(buf->shadow, buf->mem, end);
		if (!qp->shared)
			req->recv_at = (uint32_t)(buf->mem - qp->mem);
	}
	/*
	 * the buffer may contain the beginning of another message, of which the rest did not arrive
	 */
	if (qp->conf.type == IBV_QPT_UC || qp->shared)
		memcpy(buf->shadow, buf->mem, buf->len);
	if (end < buf->len && memcmp(buf->mem + end, buf->shadow + end, buf->len - end))
		world_complain(qp->world, "qp 0x%x: a message wrote behind its end", qp->qpn);
}

static void
recv_succeeded(struct qp *qp, const struct shared *shared, const struct ibv_wc *wc,
	       const struct oracle_view *view)
{
	struct world *world = qp->world;
	struct request *req = sender_of(qp, shared, view);
	const uint32_t grh = qp->conf.type == IBV_QPT_UD ? GRH_LEN : 0;

	if (!req || !request_takes_recv(req) || !is_whole(qp, req)) {
		world_complain(world, "qp 0x%x: receive %u completes without a message", qp->qpn,
			       (unsigned)wc->wr_id);
		return;
	}
	const bool has_imm =
		req->opcode == IBV_WR_SEND_WITH_IMM || req->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (wc->byte_len != req->len + grh)
		world_complain(world, "qp 0x%x: receive %u has %u bytes of %u", qp->qpn,
			       (unsigned)wc->wr_id, wc->byte_len, req->len + grh);
	const bool has_inv = req->opcode == IBV_WR_SEND_WITH_INV;

	if (!!(wc->wc_flags & IBV_WC_WITH_INV) != has_inv)
		world_complain(world, "qp 0x%x: receive %u: invalidation", qp->qpn,
			       (unsigned)wc->wr_id);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != has_imm ||
	    ((has_imm || has_inv) && wc->imm_data != req->imm))
		world_complain(world, "qp 0x%x: receive %u: immediate data", qp->qpn,
			       (unsigned)wc->wr_id);
	if (wc->opcode != (request_is_send(req) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM))
		world_complain(world, "qp 0x%x: receive %u: opcode", qp->qpn, (unsigned)wc->wr_id);
	if (grh && wc->src_qp != qp->peer->qpn)
		world_complain(world, "qp 0x%x: receive %u: from whom?", qp->qpn,
			       (unsigned)wc->wr_id);
	const struct buffer buf = buffer_of(qp, shared, wc->wr_id);

	if (qp->recv_mkeys)
		signed_received(qp, req, (uint32_t)wc->wr_id);
	else
		check_message(qp, req, &buf);
}

static bool *
has_failed_in(struct qp *qp, const struct shared *shared)
{
	return &qp->has_recv_failed[shared && shared == qp->srqs[1]];
}

static void
recv_failed(struct qp *qp, const struct shared *shared, const struct ibv_wc *wc)
{
	struct world *world = qp->world;
	const struct buffer buf = buffer_of(qp, shared, wc->wr_id);
	bool *has_failed = has_failed_in(qp, shared);

	if (qp->recv_mkeys)
		signed_recv_failed(qp, (uint32_t)wc->wr_id);
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		/*
		 * the buffer of the first receive request that is flushed may contain the beginning
		 * of a message
		 */
		if (!*has_failed)
			memcpy(buf.shadow, buf.mem, buf.len);
		if (qp->qpc.state != IBV_QPS_ERR)
			world_complain(world, "qp 0x%x: a receive is flushed outside ERR", qp->qpn);
		qp->nb_flushed_recv++;
	} else {
		const bool is_ours =
			(wc->status == IBV_WC_LOC_LEN_ERR && qp->bad_seen >> BAD_TOO_LONG & 1) ||
			(wc->status == IBV_WC_LOC_PROT_ERR && qp->bad_seen >> BAD_RECV_KEY & 1);

		if ((!is_ours && !qp->is_forged) || *has_failed)
			world_complain(world, "qp 0x%x: receive %u ends in status %d for no reason",
				       qp->qpn, (unsigned)wc->wr_id, wc->status);
		memcpy(buf.shadow, buf.mem, buf.len);
	}
	*has_failed = true;
}

static void
recv_done(struct qp *qp, struct shared *shared, const struct ibv_wc *wc,
	  const struct oracle_view *view)
{
	struct world *world = qp->world;

	if (shared) {
		bool *is_out = &shared->is_out[wc->wr_id % SHARED_MAX];

		if (wc->wr_id >= shared->nb_bufs || !*is_out)
			world_complain(world, "qp 0x%x: receive %u completes, which is not posted",
				       qp->qpn, (unsigned)wc->wr_id);
		*is_out = false;
	} else if (wc->wr_id != qp->nb_recv_done || wc->wr_id >= qp->nb_recv_posted) {
		world_complain(world, "qp 0x%x: receive %u completes, it was the turn of %u",
			       qp->qpn, (unsigned)wc->wr_id, qp->nb_recv_done);
		return;
	}
	qp->nb_recv_done++;
	if (wc->status != IBV_WC_SUCCESS)
		recv_failed(qp, shared, wc);
	else if (*has_failed_in(qp, shared))
		world_complain(world, "qp 0x%x: a receive succeeds after an error", qp->qpn);
	else if (!qp->is_forged)
		recv_succeeded(qp, shared, wc, view);
}

static void
keep(struct qp *qp, const struct ibv_wc *wc, bool is_recv)
{
	if (!qp->is_kept || qp->nb_kept == KEPT_MAX)
		return;
	qp->kept[qp->nb_kept].wc = *wc;
	qp->kept[qp->nb_kept++].is_recv = is_recv;
}

static void
collect_recvs(struct qp *qp, struct uroce_cq *cq, struct shared *shared,
	      const struct oracle_view *view)
{
	struct ibv_wc wc[POLL_NB];
	int nb;

	while ((nb = uroce_cq_poll(cq, POLL_NB, wc)) > 0) {
		for (int i = 0; i < nb; i++) {
			if (wc[i].qp_num != qp->qpn)
				world_complain(qp->world, "qp 0x%x: a receive of qp 0x%x", qp->qpn,
					       wc[i].qp_num);
			keep(qp, &wc[i], true);
			recv_done(qp, shared, &wc[i], view);
		}
	}
}

/*
 * Check the limit events of shared receive queues. The completion queues must have been polled
 * before, so that buffers of completed requests do not count as posted.
 */
static void
check_limits(struct qp *qp)
{
	struct shared *const own[XRC_SRQS] = { qp->shared };
	struct shared *const *all = qp->srqs[0] ? qp->srqs : own;
	const struct uroce_srq *limited[XRC_SRQS + 1] = { NULL };
	unsigned nb = 0;

	if (!qp->shared)
		return;
	while ((qp->qpc.events & UROCE_QPC_SRQ_LIMIT) && nb <= XRC_SRQS &&
	       (limited[nb] = uroce_qpc_limited_srq(&qp->qpc)))
		nb++;
	if (qp->qpc.events & UROCE_QPC_SRQ_LIMIT && !nb)
		world_complain(qp->world, "qp 0x%x: a limit was reached, of no queue", qp->qpn);
	for (unsigned i = 0; i < XRC_SRQS && all[i]; i++)
		shared_check_limit(all[i],
				   limited[0] == &all[i]->srq || limited[1] == &all[i]->srq);
}

void
ledger_collect(struct qp *qp, const struct oracle_view *view)
{
	struct ibv_wc wc[POLL_NB];
	int nb;

	qp->events |= qp->qpc.events;
	qp->is_last_wqe = qp->is_last_wqe || (qp->qpc.events & UROCE_QPC_LAST_WQE);
	qp->has_drained = qp->has_drained || (qp->qpc.events & UROCE_QPC_SQ_DRAINED);
	qp->is_drained = qp->is_drained || qp->has_drained;
	if (qp->qpc.events & UROCE_QPC_COMM_EST) {
		/* the first request that arrives may also have moved the QP from RTR to ERR */
		const bool is_rtr = qp->qpc.state == IBV_QPS_RTR || qp->qpc.state == IBV_QPS_ERR;

		if (qp->nb_est++ || !is_rtr || (!view && !qp->is_forged))
			world_complain(qp->world, "qp 0x%x: COMM_EST in state %u", qp->qpn,
				       qp->qpc.state);
	}
	if (qp->srqs[0]) {
		for (unsigned i = 0; i < XRC_SRQS; i++)
			collect_recvs(qp, &qp->srqs[i]->cq, qp->srqs[i], view);
	} else {
		collect_recvs(qp, &qp->recv_cq, qp->shared, view);
	}
	check_limits(qp);
	qp->qpc.events = 0;
	while ((nb = uroce_cq_poll(&qp->send_cq, POLL_NB, wc)) > 0) {
		for (int i = 0; i < nb; i++) {
			keep(qp, &wc[i], false);
			send_done(qp, &wc[i]);
		}
	}
}

void
ledger_end(struct qp *qp)
{
	struct world *world = qp->world;
	const bool is_error = qp->qpc.state == IBV_QPS_ERR;

	if (qp->is_forged)
		return;
	if (!is_error) {
		/* the last requests may be unsignaled: no later completion implies their success */
		while (qp->done < qp->nb_posted && !is_signaled(qp, &qp->reqs[qp->done])) {
			succeed(qp, &qp->reqs[qp->done]);
			qp->done++;
		}
	}
	if (qp->done != qp->nb_posted)
		world_complain(world, "qp 0x%x: %u of %u requests are complete when all is over",
			       qp->qpn, qp->done, qp->nb_posted);
	if (is_error && qp->shared && !qp->srqs[0] && !qp->is_last_wqe)
		world_complain(world, "qp 0x%x is in ERR, and nobody was told of the last WQE",
			       qp->qpn);
	if (is_error && !qp->shared && qp->nb_recv_done != qp->nb_recv_posted)
		world_complain(world, "qp 0x%x: %u of %u receives came back from ERR", qp->qpn,
			       qp->nb_recv_done, qp->nb_recv_posted);
}
