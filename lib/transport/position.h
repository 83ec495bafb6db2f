/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_POSITION_H
#define UROCE_TRANSPORT_POSITION_H

/**
 * @file
 * Where the requester is among its requests: the window [una_psn, next_psn), the requests in the send queue that PSNs
 * belong to, and the packets of a message. Nothing here sends anything.
 */

#include "transport/context.h"
#include "wire/newer_verbs.h"
#include "wire/psn.h"

/**
 * Packets from one that asks for an ACK to the next, while there is more to send: a quarter of the send
 * queue within these, so that its requests complete well before it is empty.
 */
#define UROCE_ACK_EVERY_MIN 32
#define UROCE_ACK_EVERY_MAX 64
/** The same to a peer that drops what is behind a hole: what it had before, it had better have said. */
#define UROCE_ACK_EVERY_GO_BACK_N 4
static_assert(UROCE_ACK_EVERY_MAX <= UINT8_MAX, "since_ack_req is a byte");

static inline uint32_t
uroce_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** Packets of a message of `len` bytes: at least one. */
static inline uint32_t
uroce_msg_packets(const struct uroce_qpc *qpc, uint32_t len)
{
	return len ? (uint32_t)(((uint64_t)len + (1u << qpc->mtu_shift) - 1) >> qpc->mtu_shift) : 1;
}

/** Payload bytes of packet `pkt` of a message of `len` bytes. */
static inline uint32_t
uroce_msg_payload(const struct uroce_qpc *qpc, uint32_t len, uint32_t pkt)
{
	const uint32_t left = len - (pkt << qpc->mtu_shift);
	const uint32_t mtu = 1u << qpc->mtu_shift;

	return left < mtu ? left : mtu;
}

/** Whether a request is answered by data, which an acknowledgement cannot stand in for. */
static inline bool
uroce_wqe_needs_response(const struct uroce_send_wqe *wqe)
{
	if (wqe->flags & UROCE_WQE_LOCAL)
		return false;
	switch ((int)wqe->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case UROCE_WR_FLUSH:
	case UROCE_WR_ATOMIC_WRITE:
		return true;
	}
	return false;
}

static inline struct uroce_send_wqe *
uroce_req_wqe(const struct uroce_qpc *qpc, uint32_t idx)
{
	return (struct uroce_send_wqe *)uroce_ring_at(&qpc->sq->ring, idx);
}

/** Responses up to the end of the chunk that packet `pkt` of a request is in; without data: 1. */
static inline uint32_t
uroce_req_chunk_left(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t pkt)
{
	const uint32_t in_chunk = qpc->chunk_psns - pkt % qpc->chunk_psns;
	const uint32_t in_request = wqe->nb_psn - pkt;

	return in_chunk < in_request ? in_chunk : in_request;
}

/** Which request in flight `psn` belongs to. @param[out] idx  its index in the send queue @return false: none */
bool uroce_position_find(const struct uroce_qpc *qpc, uint32_t psn, uint32_t *idx);

/** The request that `psn` belongs to; NULL: it is not in flight. */
const struct uroce_send_wqe *uroce_position_request(const struct uroce_qpc *qpc, uint32_t psn);

/** The PSN that is answered first of what asked for an answer at `psn`, which is in flight. */
uint32_t uroce_position_first_answer(const struct uroce_qpc *qpc, uint32_t psn);

/**
 * Whether the peer owes an answer: something is on the wire that asked for one. Where nothing does, the
 * next step is ours, however long it takes until the QP may send.
 */
static inline bool
uroce_req_awaits_response(const struct uroce_req *req)
{
	return req->since_ack_req < uroce_psn_dist(req->una_psn, req->next_psn);
}

/** Packets that may be in flight. */
static inline uint32_t
uroce_req_window(const struct uroce_qpc *qpc)
{
	const struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;

	/* the answer to a READ may have passed the hole */
	if (uroce_req_is_fast_retx(&qpc->req) &&
	    uroce_psn_dist(repair->gap_psn, qpc->req.una_psn) <= 1)
		return qpc->window_psns + repair->inflation_psns;
	return qpc->req.rtt.cwnd ? qpc->req.rtt.cwnd : qpc->window_psns;
}

/** Packets that the window has room for. */
static inline uint32_t
uroce_req_window_left(const struct uroce_qpc *qpc)
{
	const uint32_t nb_out = uroce_psn_dist(qpc->req.una_psn, qpc->req.next_psn);
	const uint32_t window = uroce_req_window(qpc);

	return nb_out < window ? window - nb_out : 0;
}

/**
 * How many packets go before one that asks for an ACK, if the queue does not end earlier: see the top of
 * req.c.
 * @param nb_out  packets in flight
 * @param since   of them, those since the last that asks
 */
static inline uint32_t
uroce_req_nb_before_ack_req(const struct uroce_qpc *qpc, uint32_t nb_out, uint32_t since)
{
	const uint32_t window = uroce_req_window(qpc);
	const uint32_t every = qpc->req.loss_recovery.peer == UROCE_PEER_ARQ_GO_BACK_N
				       ? UROCE_ACK_EVERY_GO_BACK_N
				       : qpc->ack_every;
	const uint32_t quiet = every > since + 1 ? every - 1 - since : 0;

	if (nb_out + 1 >= window)
		return 0;
	return quiet < window - 1 - nb_out ? quiet : window - 1 - nb_out;
}

/** The position moves over `nb` PSNs of the request that it is in. */
static inline void
uroce_position_move(struct uroce_req *req, const struct uroce_send_wqe *wqe, uint32_t nb)
{
	req->next_psn = uroce_psn_add(req->next_psn, nb);
	req->next_pkt += nb;
	if (uroce_psn_before(req->max_psn, req->next_psn))
		req->max_psn = req->next_psn;
	if (req->next_pkt == wqe->nb_psn) {
		req->next_idx++;
		req->next_pkt = 0;
	}
}

#endif /* UROCE_TRANSPORT_POSITION_H */
