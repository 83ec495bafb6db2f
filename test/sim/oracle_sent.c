/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The oracle's checks of the frames that a QP sends: whether a frame may be sent, and whether its
 * content is right.
 */

#include "oracle.h"

#include <string.h>

#include "flow.h"
#include "frame.h"
#include "paced.h"
#include "signed.h"
#include "wire/syndrome.h"
#include "world.h"

static void
note_rd(struct qp *qp, uint32_t begin, uint32_t end)
{
	if (begin < qp->sent)
		/*
		 * the packet was sent before: a retransmission adds no READ or atomic to those in
		 * flight
		 */
		return;
	qp->rd_begin[qp->rd_last % 32] = begin;
	qp->rd_end[qp->rd_last % 32] = end;
	qp->rd_last++;
	if (qp->rd_last - qp->rd_first > qp->conf.max_rd_atomic)
		world_complain(qp->world, "qp 0x%x: %u READs and atomics on the wire, %u allowed",
			       qp->qpn, qp->rd_last - qp->rd_first, qp->conf.max_rd_atomic);
}

/* Note the retransmission of a packet, if it is the oldest unacknowledged one. */
static void
note_retransmit(struct qp *qp, uint32_t idx)
{
	if (idx != qp->acked)
		return;
	qp->has_retransmitted = true;
	qp->retransmitted = idx;
	qp->retransmitted_end = qp->sent;
}

/*
 * The maximum number of packets in flight. After a retransmission of the oldest packet the window
 * is larger by the number of packets that were in flight, at most twice as large, until later
 * packets are acknowledged.
 */
static uint32_t
window_of(const struct qp *qp)
{
	const uint32_t window = qp->qpc.window_psns;
	const uint32_t nb = qp->retransmitted_end - qp->retransmitted;

	if (!qp->has_retransmitted || qp->acked - qp->retransmitted > 1)
		return window;
	return window + (nb < window ? nb : window);
}

static void
sent_request(struct qp *qp, const struct uroce_pkt *pkt)
{
	struct world *world = qp->world;
	const uint32_t idx = flow_packet(qp, pkt->psn);
	const struct request *req = idx == FLOW_NO_PACKET ? NULL : qp_request_at(qp, idx);
	uint32_t end = idx + 1;

	if (!req) {
		world_complain(world, "qp 0x%x sends PSN %u, which nobody posted", qp->qpn,
			       pkt->psn);
		return;
	}
	qp->sent_ns = world->now_ns;
	/*
	 * compare the state at the beginning of the burst: a later response of the burst may have
	 * moved the QP to ERR
	 */
	if (qp->asked_state != IBV_QPS_RTS && qp->asked_state != IBV_QPS_SQD)
		world_complain(world, "qp 0x%x sends a request in state %u", qp->qpn,
			       qp->asked_state);
	/*
	 * the frame was built from the memory of the request, which the application may reuse when
	 * the request is complete
	 */
	if (req - qp->reqs < (ptrdiff_t)qp->done)
		world_complain(world,
			       "qp 0x%x: request %u is complete, and a frame refers to its memory",
			       qp->qpn, (unsigned)(req - qp->reqs));
	if (idx >= qp->sqd_limit)
		world_complain(world, "qp 0x%x begins a request in SQD", qp->qpn);
	if (flow_is_connected(qp) && idx < qp->acked)
		world_complain(world, "qp 0x%x sends packet %u, which is acknowledged", qp->qpn,
			       idx);
	/*
	 * a request with a fence must not be sent before the responses to all earlier READs and
	 * atomics have arrived
	 */
	if (flow_is_connected(qp) && (req->flags & IBV_SEND_FENCE) && idx == req->first &&
	    qp->rd_first != qp->rd_last && qp->rd_begin[qp->rd_first % 32] < idx)
		world_complain(world, "qp 0x%x: packet %u passes its fence", qp->qpn, idx);
	if (pkt->op->operation == UROCE_OPERATION_READ) {
		const uint32_t len = be32_get(uroce_pkt_reth(pkt)->dma_len);

		end = idx + (len ? (len + flow_mtu(qp) - 1) / flow_mtu(qp) : 1);
	} else if (!request_is_atomic(req) && pkt->payload_len != flow_payload(qp, req, idx)) {
		world_complain(world, "qp 0x%x: packet %u has %u bytes of %u", qp->qpn, idx,
			       pkt->payload_len, flow_payload(qp, req, idx));
	}
	if (request_needs_answer(req))
		note_rd(qp, idx, end);
	signed_sent(qp, req, pkt, idx);
	const bool is_new = end > qp->sent;

	if (is_new) {
		qp->sent = end;
	} else {
		world->tally.retransmits++;
		note_retransmit(qp, idx);
	}
	if (!flow_is_connected(qp) || !is_new)
		return;
	/*
	 * the responses that a READ requests may go beyond the window, if the READ begins within
	 * the window
	 */
	if (idx - qp->acked >= window_of(qp))
		world_complain(world, "qp 0x%x: packet %u lies beyond the window", qp->qpn, idx);
	if (qp->sent - qp->acked > window_of(qp) + UROCE_READ_CHUNK_PSNS)
		world_complain(world, "qp 0x%x has %u packets on the wire", qp->qpn,
			       qp->sent - qp->acked);
}

static void
sent_aeth(struct qp *qp, const struct uroce_pkt *pkt, uint32_t idx)
{
	const struct qp *flow = qp->peer;
	const uint8_t syndrome = uroce_pkt_aeth(pkt)->syndrome;

	if (uroce_syndrome_kind(syndrome) == UROCE_AETH_ACK) {
		if (idx >= flow->exec)
			world_complain(qp->world,
				       "qp 0x%x acknowledges packet %u, which it did "
				       "not execute",
				       qp->qpn, idx);
	} else if (idx > flow->exec) {
		world_complain(qp->world, "qp 0x%x: a NAK acknowledges what was not executed",
			       qp->qpn);
	}
}

static void
sent_answer(struct qp *qp, const struct uroce_pkt *pkt, uint32_t idx)
{
	struct world *world = qp->world;
	struct qp *flow = qp->peer;
	const struct request *req = qp_request_at(flow, idx);

	if (!req || idx >= flow->exec || !request_needs_answer(req)) {
		world_complain(world, "qp 0x%x answers packet %u, which it was not asked", qp->qpn,
			       idx);
		return;
	}
	if (request_is_atomic(req)) {
		if (pkt->op->operation != UROCE_OPERATION_ATOMIC_ACK ||
		    be64_get(uroce_pkt_atomicacketh(pkt)->orig) != req->orig)
			world_complain(world, "qp 0x%x: packet %u: the answer of an atomic changed",
				       qp->qpn, idx);
		return;
	}
	if (req->is_mortal && req->len && qp->mortal.is_dead)
		world_complain(world, "qp 0x%x: packet %u is read through a key that was withdrawn",
			       qp->qpn, idx);
	const uint8_t *bytes = request_bytes(flow, req) + (idx - req->first) * flow_mtu(qp);
	/* the response to a FLUSH or an ATOMIC_WRITE is a READ response without payload */
	const uint32_t len = req->opcode == IBV_WR_RDMA_READ ? flow_payload(flow, req, idx) : 0;

	if (pkt->op->operation != UROCE_OPERATION_READ_RESPONSE || pkt->payload_len != len ||
	    memcmp(pkt->payload, bytes, pkt->payload_len))
		world_complain(world, "qp 0x%x: packet %u: a READ response is wrong", qp->qpn, idx);
}

void
oracle_sent(struct qp *qp, const struct frame *frame)
{
	struct uroce_pkt pkt;

	if (uroce_parse(frame->bytes, frame->len, &pkt) > UROCE_VERDICT_DATAGRAM) {
		world_complain(qp->world, "qp 0x%x sends what nobody can read", qp->qpn);
		return;
	}
	paced_sent(qp, frame, &pkt);
	if (qp->is_forged || pkt.op->operation == UROCE_OPERATION_CNP)
		return;
	if (!(pkt.op->flags & UROCE_OPF_RESPONSE)) {
		sent_request(qp, &pkt);
		return;
	}
	const uint32_t idx = flow_packet(qp->peer, pkt.psn);

	if (idx == FLOW_NO_PACKET)
		/*
		 * the PSN of this ACK is the one before the first packet, so the ACK acknowledges
		 * nothing
		 */
		return;
	if (pkt.op->operation == UROCE_OPERATION_ACK)
		sent_aeth(qp, &pkt, idx);
	else
		sent_answer(qp, &pkt, idx);
}
