/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checks at the end of a connection, and at the end of a world.
 */

#include "oracle.h"

#include <string.h>

#include "completion_check.h"
#include "paced.h"
#include "shared.h"
#include "signed.h"
#include "world.h"

/*
 * Accept the present content of memory to which a packet may have been written: the oracle does not
 * know how far the transport had come when the flow ended.
 */
static void
forgive(struct qp *qp, uint32_t at, uint32_t len)
{
	memcpy(qp->shadow + at, qp->mem + at, len);
}

/* Whether packets of a later WRITE may be placed in memory before this request is executed. */
static bool
may_be_early(const struct request *req)
{
	return !req->nb_psn || (request_is_write(req) && (int)req->opcode != UROCE_WR_ATOMIC_WRITE);
}

/*
 * Accept the content of memory where packets of a WRITE were placed out of order: the packets that
 * precede them may never arrive.
 */
static void
forgive_early(struct qp *flow, const struct request *req)
{
	const uint32_t mtu = 128u << flow->conf.mtu;

	for (uint32_t i = 0; i < req->nb_psn && (!req->bad || req->bad == BAD_LKEY_LATE); i++) {
		if (oracle_is_early(flow, req, req->first + i))
			forgive(flow->peer, req->land + i * mtu, mtu);
	}
}

static void
forgive_flow(struct qp *flow)
{
	for (uint32_t i = flow->acked_req; i < flow->nb_posted; i++) {
		const struct request *req = &flow->reqs[i];

		if (req->opcode == IBV_WR_RDMA_READ)
			forgive(flow, req->local, request_extent(req));
		if (request_is_atomic(req))
			forgive(flow, req->local, 8);
	}
	const struct request *req = qp_request_at(flow, flow->exec);

	if (req && request_is_write(req) && (!req->bad || req->bad == BAD_LKEY_LATE) &&
	    flow->exec > req->first)
		forgive(flow->peer, req->land, request_extent(req));
	for (; req && req < flow->reqs + flow->nb_posted && may_be_early(req); req++)
		forgive_early(flow, req);
}

/* Check that nothing was written through a key after its withdrawal. */
static void
check_mortals(struct qp *flow)
{
	for (uint32_t i = 0; i < flow->nb_planned; i++) {
		const struct request *req = &flow->reqs[i];

		if (req->last && memcmp(flow->peer->mem + req->land, req->last, req->len))
			world_complain(
				flow->world,
				"qp 0x%x: request %u landed through a key that was withdrawn",
				flow->qpn, i);
	}
}

static void
forgive_recvs(struct qp *qp)
{
	if (qp->srqs[1])
		qp->srqs[1]->is_loose = true;
	if (qp->shared) {
		qp->shared->is_loose = true;
		return;
	}
	const uint32_t nb = qp->is_lenient ? qp->nb_recv_posted : qp->nb_recv_done + 1;

	for (uint32_t i = qp->nb_recv_done - qp->nb_flushed_recv; i < nb && i < qp->nb_recv_posted;
	     i++)
		forgive(qp, qp_recv_at(qp, i), qp->conf.recv_len);
}

static bool
is_dead(const struct qp *qp)
{
	return qp->is_gone || qp->qpc.state == IBV_QPS_ERR || qp->qpc.state == IBV_QPS_RESET;
}

/*
 * For a connection of which both ends still exist: check that all requests are done and that both
 * ends have the same next PSN.
 */
static void
check_agreement(struct qp *qp)
{
	struct world *world = qp->world;
	const struct uroce_req *req = &qp->qpc.req;

	if (qp->nb_posted != qp->nb_planned)
		world_complain(world, "qp 0x%x: %u of %u requests were posted", qp->qpn,
			       qp->nb_posted, qp->nb_planned);
	if (!qp_is_reliable(qp) || qp->is_forged || qp->qpc.state < IBV_QPS_RTS)
		return;
	if (qp->acked != qp->nb_psn || qp->exec != qp->nb_psn)
		world_complain(world, "qp 0x%x: of %u packets %u were executed and %u acknowledged",
			       qp->qpn, qp->nb_psn, qp->exec, qp->acked);
	if (req->una_psn != req->max_psn || req->una_psn != qp->peer->qpc.resp.epsn)
		world_complain(world, "qp 0x%x and its peer disagree on the next PSN", qp->qpn);
}

static void
check_memory(struct qp *qp)
{
	uint32_t at = 0;

	if (qp->is_forged || !memcmp(qp->mem, qp->shadow, qp->conf.mem_len))
		return;
	while (qp->mem[at] == qp->shadow[at])
		at++;
	world_complain(qp->world, "qp 0x%x: byte %u of its memory is %02x and not %02x", qp->qpn,
		       at, qp->mem[at], qp->shadow[at]);
}

void
oracle_buried(struct qp *a, struct qp *b)
{
	struct qp *ends[] = { a, b };

	for (unsigned i = 0; i < 2; i++) {
		if (!ends[i]->is_lenient)
			forgive_flow(ends[i]);
		forgive_recvs(ends[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		check_mortals(ends[i]);
		check_memory(ends[i]);
	}
}

void
oracle_reborn(struct qp *qp)
{
	const uint32_t nb_words = qp->arrived_len;

	if (nb_words)
		memset(qp->arrived, 0, nb_words * sizeof(*qp->arrived));
	qp->nb_planned = qp->nb_posted = qp->done = 0;
	qp->nb_recv_planned = qp->nb_recv_posted = qp->nb_recv_done = qp->nb_flushed_recv = 0;
	qp->nb_psn = qp->sent = 0;
	qp->has_retransmitted = false;
	qp->acked = qp->acked_req = 0;
	qp->exec = qp->exec_req = 0;
	qp->rd_first = qp->rd_last = 0;
	memset(qp->next_taker, 0, sizeof(qp->next_taker));
	qp->bad_recv = UINT32_MAX;
	qp->bad_seen = 0;
	qp->deaths = 0;
	qp->events = 0;
	qp->nb_est = 0;
	qp->is_last_wqe = false;
	qp->has_failed = false;
	memset(qp->has_recv_failed, 0, sizeof(qp->has_recv_failed));
	qp->sqd_limit = UINT32_MAX;
	qp->is_marked = false;
	qp->cnp_ns = 0;
	qp->paced_bps = 0;
	qp->retries_seen = qp->retries_now = qp->qpc.stats.timeouts;
	qp->rnr_seen = qp->rnr_now = qp->qpc.stats.naks_rnr;
}

void
oracle_end(struct world *world)
{
	for (uint32_t i = 0; i < world->nb_qps && world_is_well(world); i++) {
		struct qp *qp = world->qps[i];

		if (!qp->is_gone && qp->qpc.state != IBV_QPS_RESET)
			ledger_end(qp);
		paced_end(qp);
		signed_end(qp);
		if (!is_dead(qp) && !is_dead(qp->peer))
			check_agreement(qp);
		else if (!qp->is_lenient)
			forgive_flow(qp);
		if (is_dead(qp) || is_dead(qp->peer) || qp->is_lenient)
			forgive_recvs(qp);
	}
	for (uint32_t i = 0; i < world->nb_shared && world_is_well(world); i++)
		shared_end(world->shared[i]);
	for (uint32_t i = 0; i < world->nb_qps && world_is_well(world); i++) {
		check_mortals(world->qps[i]);
		check_memory(world->qps[i]);
	}
}
