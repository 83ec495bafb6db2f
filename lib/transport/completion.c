/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions are written directly into the slots of the CQ. The table wc_opcodes gives the opcode
 * of a send completion; the caller passes the status.
 */
#include "transport/completion.h"

#include "transport/responder/recv.h"
#include "base/newer_verbs.h"

static const uint8_t wc_opcodes[] = {
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
	[IBV_WR_DRIVER1] = IBV_WC_DRIVER1, /* the request configures an mkey */
	[UROCE_WR_FLUSH] = UROCE_WC_FLUSH,
	[UROCE_WR_ATOMIC_WRITE] = UROCE_WC_ATOMIC_WRITE,
};

/* Count a request that completes with an error. */
static void
count_error(const struct uroce_qpc *qpc, enum ibv_wc_status status, enum uroce_counter any,
	    enum uroce_counter flushed)
{
	uroce_count_in(qpc->counters, any, 1);
	if (status == IBV_WC_WR_FLUSH_ERR)
		uroce_count_in(qpc->counters, flushed, 1);
}

void
uroce_completion_send_begin(struct uroce_qpc *qpc)
{
	/*
	 * end the open batch of receive completions first: the send CQ and the receive CQ may be
	 * one CQ, and a CQ can have only one open batch
	 */
	uroce_completion_recv_end(qpc);
	uroce_cq_begin(qpc->send_cq);
}

void
uroce_completion_send(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe,
		      enum ibv_wc_status status, uint32_t vendor_err, uint64_t now_ns)
{
	if (status == IBV_WC_SUCCESS && !(wqe->flags & UROCE_WQE_SIGNALED))
		return;
	if (status != IBV_WC_SUCCESS)
		count_error(qpc, status, UROCE_COUNTER_REQ_CQE_ERROR,
			    UROCE_COUNTER_REQ_CQE_FLUSH_ERROR);
	struct uroce_cqe *cqe = uroce_cq_put(qpc->send_cq);

	if (!cqe) {
		qpc->events |= UROCE_QPC_SEND_CQ_OVERRUN;
		return;
	}
	cqe->wr_id = wqe->wr_id;
	cqe->qp = qpc->cookie;
	cqe->timestamp_ns = now_ns;
	cqe->byte_len = wqe->len;
	cqe->qpn = qpc->qpn;
	cqe->vendor_err = vendor_err;
	cqe->status = status;
	cqe->opcode = wc_opcodes[wqe->opcode];
}

/*
 * End the open batch of a CQ. Its entries are published now, or later if the worker has a list of
 * unpublished CQs.
 * @return whether the consumer of the CQ has to be notified now
 */
static bool
end_send_batch(const struct uroce_qpc *qpc, struct uroce_cq *cq)
{
	if (!qpc->unpublished)
		return uroce_cq_end(cq);
	uroce_cq_end_later(cq, qpc->unpublished);
	return false;
}

void
uroce_completion_send_end(struct uroce_qpc *qpc)
{
	if (end_send_batch(qpc, qpc->send_cq))
		qpc->events |= UROCE_QPC_SEND_CQ_EVENT;
}

/*
 * Get the CQ for receive completions of a QP: that of the SRQ if the SRQ has one (XRC), otherwise
 * that of the QP. A QP that has a receive queue has no SRQ, and `srq` is not read.
 */
static struct uroce_cq *
recv_cq_of(const struct uroce_qpc *qpc)
{
	return !qpc->rq && qpc->srq && qpc->srq->cq ? qpc->srq->cq : qpc->recv_cq;
}

/*
 * Add a receive completion to the open batch of its CQ, and begin a batch if none is open. The
 * caller has to end the batch by uroce_completion_recv_end().
 */
static struct uroce_cqe *
put_recv_cqe(struct uroce_qpc *qpc, const struct uroce_recv_wqe *wqe, enum ibv_wc_opcode opcode,
	     uint64_t now_ns)
{
	struct uroce_cq *cq = recv_cq_of(qpc);

	if (!qpc->is_recv_open)
		uroce_cq_begin(cq);
	qpc->is_recv_open = true;
	struct uroce_cqe *cqe = uroce_cq_put(cq);

	if (!cqe) {
		qpc->events |= UROCE_QPC_RECV_CQ_OVERRUN;
		if (qpc->srqs)
			uroce_srq_raise(qpc->srq, UROCE_SRQ_CQ_OVERRUN);
		return NULL;
	}
	cqe->wr_id = wqe->wr_id;
	cqe->qp = qpc->cookie;
	cqe->timestamp_ns = now_ns;
	cqe->qpn = qpc->qpn;
	cqe->opcode = opcode;
	return cqe;
}

void
uroce_completion_recv_end(struct uroce_qpc *qpc)
{
	if (!qpc->is_recv_open)
		return;
	qpc->is_recv_open = false;
	if (qpc->unpublished && uroce_qpc_is_reliable(qpc)) {
		qpc->unpublished->is_ack_pending = true;
		qpc->unpublished->is_remote_ack_pending |= !uroce_path_is_local(&qpc->path);
	}
	if (!end_send_batch(qpc, recv_cq_of(qpc)))
		return;
	qpc->events |= UROCE_QPC_RECV_CQ_EVENT;
	if (qpc->srqs)
		uroce_srq_raise(qpc->srq, UROCE_SRQ_CQ_EVENT);
}

struct uroce_cqe *
uroce_completion_recv(struct uroce_qpc *qpc, enum ibv_wc_opcode opcode, uint64_t now_ns)
{
	struct uroce_cqe *cqe = put_recv_cqe(qpc, uroce_recv_taken(qpc), opcode, now_ns);

	uroce_recv_pop(qpc);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RDMA_RECVS, 1);
	return cqe;
}

/* Set the error status of a CQ entry, and count the error. `cqe` is NULL if the CQ was full. */
static void
set_error_status(struct uroce_qpc *qpc, struct uroce_cqe *cqe, enum ibv_wc_status status,
		 uint32_t vendor_err)
{
	count_error(qpc, status, UROCE_COUNTER_RESP_CQE_ERROR, UROCE_COUNTER_RESP_CQE_FLUSH_ERROR);
	if (!cqe)
		return;
	cqe->status = status;
	cqe->vendor_err = vendor_err;
}

void
uroce_completion_recv_error(struct uroce_qpc *qpc, enum ibv_wc_status status, uint32_t vendor_err,
			    uint64_t now_ns)
{
	set_error_status(qpc, put_recv_cqe(qpc, uroce_recv_taken(qpc), IBV_WC_RECV, now_ns), status,
			 vendor_err);
	uroce_recv_pop(qpc);
}

struct uroce_cqe
uroce_completion_recv_template(const struct uroce_qpc *qpc, uint64_t now_ns)
{
	return (struct uroce_cqe){
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.qpn = qpc->qpn,
		.qp = qpc->cookie,
		.timestamp_ns = now_ns,
	};
}

void
uroce_completion_flush_sq(struct uroce_qpc *qpc, uint64_t now_ns)
{
	/* send requests complete only when no port transmits from their memory any more */
	if (!qpc->sq || uroce_qpc_has_tx_refs(qpc))
		return;
	struct uroce_ring *sq = &qpc->sq->ring;
	const uint32_t head = uroce_ring_head(sq);
	const uint32_t tail = uroce_ring_tail(sq);

	if (head == tail)
		return;
	uroce_completion_send_begin(qpc);
	for (uint32_t idx = tail; idx != head; idx++) {
		const uint8_t status = qpc->end_status ? qpc->end_status : IBV_WC_WR_FLUSH_ERR;

		uroce_completion_send(qpc, uroce_ring_at(sq, idx), (enum ibv_wc_status)status,
				      qpc->end_vendor_err, now_ns);
		qpc->end_status = 0;
		qpc->end_vendor_err = 0;
	}
	uroce_ring_pop(sq, head - tail);
	uroce_completion_send_end(qpc);
}

static void
flush_rq(struct uroce_qpc *qpc, uint64_t now_ns)
{
	/*
	 * the QP has no receive queue of its own: flush only the receive request that it has taken
	 * from an SRQ
	 */
	if (!qpc->rq) {
		if (qpc->resp.recv)
			uroce_completion_recv_error(qpc, IBV_WC_WR_FLUSH_ERR, 0, now_ns);
		return;
	}
	struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t head = uroce_ring_head(rq);
	const uint32_t tail = uroce_ring_tail(rq);

	for (uint32_t idx = tail; idx != head; idx++)
		set_error_status(qpc,
				 put_recv_cqe(qpc, uroce_ring_at(rq, idx), IBV_WC_RECV, now_ns),
				 IBV_WC_WR_FLUSH_ERR, 0);
	uroce_ring_pop(rq, head - tail);
}

void
uroce_completion_flush(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_completion_flush_sq(qpc, now_ns);
	flush_rq(qpc, now_ns);
	uroce_completion_recv_end(qpc);
}
