/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of small messages: SENDs or WRITEs of one packet each, one right behind the other.
 *
 * How it works: the first packet of a run goes the way of all packets and was accepted. What follows
 * it is compared with it, and as long as it is the next one, of the same opcode, from the same peer, to
 * memory under the same key, nothing has to be asked again but where its payload goes. Whatever is
 * different in any way ends the run, untouched: it goes the way of all packets, which knows what
 * to say of it. So there is no verdict here but one.
 */
#include "transport/role.h"

#include "mem/copy.h"
#include "mem/mr.h"
#include "transport/alike.h"
#include "transport/done.h"
#include "wire/psn.h"

/* Requests that are fetched ahead of the one that is filled. */
#define AHEAD 4

/* What is the same for all packets of a run, and what was done so far. */
struct run {
	struct uroce_qpc *qpc;
	const struct uroce_pkt *model; /* the packet that was accepted */
	uint32_t psn;                  /* expected next */
	uint32_t mtu;
	struct uroce_mr_view view; /* of the key that was used last */
	uint64_t nb_bytes;
	bool has_ack_req;
	enum uroce_counter counter; /* of what they are */
};

/* Whether the checks that the model passed hold for this one, too. */
static inline bool
is_next(const struct run *run, const struct uroce_pkt *pkt)
{
	return pkt->psn == run->psn && uroce_alike_is(pkt, run->model) &&
	       pkt->payload_len - 1 < run->mtu;
}

/* Where `[va, va + len)` under this key is; NULL: ask the way of all packets. */
static inline void *
resolve(struct run *run, uint32_t key, uint64_t va, uint64_t len, uint32_t access)
{
	const struct uroce_qpc *qpc = run->qpc;

	if (key != run->view.key && !uroce_mr_look(qpc->mrs, key, qpc->pdn, access, &run->view))
		return NULL;
	return uroce_mr_view_at(&run->view, va, len);
}

static inline void
take(struct run *run, const struct uroce_pkt *pkt, void *dst)
{
	uroce_copy(dst, pkt->payload, pkt->payload_len);
	run->nb_bytes += pkt->payload_len;
	run->has_ack_req |= pkt->has_ack_req;
	run->psn = uroce_psn_add(run->psn, 1);
}

/* The receive requests of the queue, each with one element, meet the packets one to one. */
static unsigned
recv_sends(struct run *run, const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns)
{
	struct uroce_qpc *qpc = run->qpc;
	const struct uroce_cqe model = uroce_done_recv_model(qpc, now_ns);
	struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t tail = uroce_ring_tail(rq), room = uroce_ring_head(rq) - tail;
	unsigned n = 0;

	if (nb > room)
		nb = room;
	for (; n < nb && is_next(run, &pkts[n]); n++) {
		struct uroce_recv_wqe *wqe = uroce_ring_at(rq, tail + n);
		const struct ibv_sge *sge = uroce_recv_wqe_sge(wqe);
		const uint32_t len = pkts[n].payload_len;

		__builtin_prefetch(uroce_ring_at(rq, tail + n + AHEAD));
		if (wqe->nb_sge != 1 || len > sge->length)
			break;
		void *dst = resolve(run, sge->lkey, sge->addr, len, IBV_ACCESS_LOCAL_WRITE);

		if (!dst || !uroce_done_recv_next(qpc, &model, wqe, &pkts[n]))
			break;
		take(run, &pkts[n], dst);
	}
	uroce_ring_pop(rq, n);
	return n;
}

static unsigned
recv_writes(struct run *run, const struct uroce_pkt *pkts, unsigned nb)
{
	unsigned n = 0;

	for (; n < nb && is_next(run, &pkts[n]); n++) {
		const struct uroce_reth *reth = uroce_pkt_reth(&pkts[n]);
		const uint32_t len = pkts[n].payload_len;

		if (be32_get(reth->dma_len) != len)
			break;
		void *dst = resolve(run, be32_get(reth->rkey), be64_get(reth->va), len,
				    IBV_ACCESS_REMOTE_WRITE);

		if (!dst)
			break;
		take(run, &pkts[n], dst);
	}
	return n;
}

/* What the packets changed of the responder, at once. */
static void
commit(struct run *run, unsigned nb)
{
	struct uroce_qpc *qpc = run->qpc;

	qpc->resp.epsn = run->psn;
	qpc->resp.msn = uroce_psn_add(qpc->resp.msn, nb);
	qpc->stats.rx_packets += nb;
	qpc->stats.rx_bytes += run->nb_bytes;
	uroce_count_in(qpc->counters, run->counter, nb);
	if (run->has_ack_req)
		uroce_resp_owe_ack(&qpc->resp);
}

/* Whether the next packet in order is executed and nothing else happens. */
static bool
is_plain(const struct uroce_qpc *qpc)
{
	const struct uroce_resp *resp = &qpc->resp;

	return uroce_qpc_is_reliable(qpc) && qpc->type != IBV_QPT_XRC_RECV &&
	       !resp->is_fill_doubtful && !resp->is_nak_sent && uroce_early_is_idle(resp);
}

unsigned
uroce_run_recv(struct uroce_qpc *qpc, const struct uroce_pkt *model, const struct uroce_pkt *pkts,
	       unsigned nb, uint64_t now_ns)
{
	struct run run = {
		.qpc = qpc,
		.model = model,
		.psn = qpc->resp.epsn,
		.mtu = 1u << qpc->mtu_shift,
		.counter = model->op->operation == UROCE_OPERATION_SEND
				   ? UROCE_COUNTER_RDMA_RECVS
				   : UROCE_COUNTER_RX_WRITE_REQUESTS,
	};
	unsigned n = 0;

	if (!is_plain(qpc))
		return 0;
	if (model->op->operation == UROCE_OPERATION_READ ||
	    model->op->operation == UROCE_OPERATION_ATOMIC)
		return uroce_reply_recv_run(qpc, model, pkts, nb);
	if ((model->opcode & 0x1f) == UROCE_OP_SEND_ONLY && qpc->rq && !qpc->srq)
		n = recv_sends(&run, pkts, nb, now_ns);
	else if ((model->opcode & 0x1f) == UROCE_OP_WRITE_ONLY)
		n = recv_writes(&run, pkts, nb);
	if (n > 0)
		commit(&run, n);
	return n;
}
