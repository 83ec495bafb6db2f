/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fast path of the responder for small messages: bursts of SENDs or WRITEs of one packet each, in
 * PSN order.
 *
 * How it works: the first packet of a burst is processed and accepted on the general path. Each
 * packet that follows is compared with that packet. If a packet is next in order, has the same
 * opcode and comes from the same peer, only its memory has to be found. While the key is the same,
 * no look-up of the region is needed. A packet that differs ends the burst and is left untouched:
 * the general path processes it and decides its verdict. So all packets of a burst have the same
 * verdict.
 */
#include "transport/responder/single_packet.h"

#include "base/copy.h"
#include "mem/mr.h"
#include "transport/responder/aeth.h"
#include "transport/completion.h"
#include "transport/fast_path.h"
#include "transport/recovery/ooo_request.h"
#include "transport/responder/rd_atomic_resp.h"
#include "wire/psn.h"

/* The receive request that is prefetched is this number of requests ahead of the present one. */
#define PREFETCH_AHEAD 4

/* The values that all packets of a burst share, and the progress of the burst. */
struct burst {
	struct uroce_qpc *qpc;
	/* the packet before the burst, which the general path has accepted */
	const struct uroce_pkt *tmpl;
	uint32_t psn; /* PSN that is expected next in the burst */
	uint32_t mtu;
	/* the memory region of the key that was used last in the burst */
	struct uroce_mr_view view;
	uint64_t nb_bytes;
	bool has_ack_req;
	enum uroce_counter counter; /* the counter that counts the messages of the burst */
};

/*
 * Whether a packet is the next of the burst in order, and passes every check that the packet `tmpl`
 * has passed.
 */
static inline bool
is_next_in_burst(const struct burst *burst, const struct uroce_pkt *pkt)
{
	return pkt->psn == burst->psn && uroce_fast_path_matches(pkt, burst->tmpl) &&
	       pkt->payload_len - 1 < burst->mtu;
}

static inline void
take_single(struct burst *burst, const struct uroce_pkt *pkt, void *dst)
{
	uroce_copy(dst, pkt->payload, pkt->payload_len);
	burst->nb_bytes += pkt->payload_len;
	burst->has_ack_req |= pkt->has_ack_req;
	burst->psn = uroce_psn_add(burst->psn, 1);
}

/*
 * Execute a burst of SENDs. Each packet uses the next receive request of the queue. The burst ends
 * before a receive request that has not exactly one SGE.
 */
static unsigned
recv_send_burst(struct burst *burst, const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns)
{
	struct uroce_qpc *qpc = burst->qpc;
	const struct uroce_cqe tmpl = uroce_completion_recv_template(qpc, now_ns);
	struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t tail = uroce_ring_tail(rq), room = uroce_ring_head(rq) - tail;
	unsigned n = 0;

	if (nb > room)
		nb = room;
	for (; n < nb && is_next_in_burst(burst, &pkts[n]); n++) {
		struct uroce_recv_wqe *wqe = uroce_ring_at(rq, tail + n);
		const struct ibv_sge *sge = uroce_recv_wqe_sge(wqe);
		const uint32_t len = pkts[n].payload_len;

		__builtin_prefetch(uroce_ring_at(rq, tail + n + PREFETCH_AHEAD));
		if (wqe->nb_sge != 1 || len > sge->length)
			break;
		void *dst = uroce_mr_view_resolve(&burst->view, qpc->mrs, sge->lkey, qpc->pdn,
						  sge->addr, len, IBV_ACCESS_LOCAL_WRITE);

		if (!dst || !uroce_completion_recv_next(qpc, &tmpl, wqe, &pkts[n]))
			break;
		take_single(burst, &pkts[n], dst);
	}
	uroce_ring_pop(rq, n);
	return n;
}

static unsigned
recv_write_burst(struct burst *burst, const struct uroce_pkt *pkts, unsigned nb)
{
	const struct uroce_qpc *qpc = burst->qpc;
	unsigned n = 0;

	for (; n < nb && is_next_in_burst(burst, &pkts[n]); n++) {
		const struct uroce_reth *reth = uroce_pkt_reth(&pkts[n]);
		const uint32_t len = pkts[n].payload_len;

		if (be32_get(reth->dma_len) != len)
			break;
		void *dst = uroce_mr_view_resolve(&burst->view, qpc->mrs, be32_get(reth->rkey),
						  qpc->pdn, be64_get(reth->va), len,
						  IBV_ACCESS_REMOTE_WRITE);

		if (!dst)
			break;
		uroce_copy_fence();
		take_single(burst, &pkts[n], dst);
	}
	return n;
}

/* Update the state of the responder once for all packets of a burst. */
static void
commit_burst(struct burst *burst, unsigned nb)
{
	struct uroce_qpc *qpc = burst->qpc;

	uroce_aeth_advance(&qpc->resp, nb, nb, burst->has_ack_req);
	qpc->stats.rx_packets += nb;
	qpc->stats.rx_bytes += burst->nb_bytes;
	uroce_count_in(qpc->counters, burst->counter, nb);
}

unsigned
uroce_single_packet_recv(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
			 const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns)
{
	struct burst burst = {
		.qpc = qpc,
		.tmpl = tmpl,
		.psn = qpc->resp.epsn,
		.mtu = 1u << qpc->mtu_shift,
		.counter = tmpl->op->operation == UROCE_OPERATION_SEND
				   ? UROCE_COUNTER_RDMA_RECVS
				   : UROCE_COUNTER_RX_WRITE_REQUESTS,
	};
	unsigned n = 0;

	if (!uroce_ooo_request_is_fast_path(qpc))
		return 0;
	if (tmpl->op->operation == UROCE_OPERATION_READ ||
	    tmpl->op->operation == UROCE_OPERATION_ATOMIC)
		return uroce_rd_atomic_recv_requests(qpc, tmpl, pkts, nb);
	if ((tmpl->opcode & 0x1f) == UROCE_OP_SEND_ONLY && qpc->rq)
		n = recv_send_burst(&burst, pkts, nb, now_ns);
	else if ((tmpl->opcode & 0x1f) == UROCE_OP_WRITE_ONLY)
		n = recv_write_burst(&burst, pkts, nb);
	if (n > 0)
		commit_burst(&burst, n);
	return n;
}
