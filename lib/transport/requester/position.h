/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_POSITION_H
#define UROCE_TRANSPORT_POSITION_H

/**
 * @file
 * The send position of the requester, which is the next packet to send. The file has functions for
 * the window [una_psn, next_psn), for the requests in the send queue to which PSNs belong, and for
 * the packets of a message.
 */

#include "transport/context.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

/**
 * Limits of the distance, in packets, between two packets that request an ACK, while there is more
 * to send. Within these limits the distance is a quarter of the number of requests that the send
 * queue holds, so that requests complete well before the queue is empty.
 */
#define UROCE_ACK_EVERY_MIN 32
#define UROCE_ACK_EVERY_MAX 64
/**
 * To a go-back-N peer, one packet out of this number requests an ACK. The number is small, because
 * packets that the peer has acknowledged before a loss need not be retransmitted.
 */
#define UROCE_ACK_EVERY_GO_BACK_N 4
static_assert(UROCE_ACK_EVERY_MAX <= UINT8_MAX, "since_ack_req is a byte");

static inline uint32_t
uroce_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** Get the number of packets of a message of `len` bytes. The number is at least one. */
static inline uint32_t
uroce_msg_packets(const struct uroce_qpc *qpc, uint32_t len)
{
	return len ? (uint32_t)(((uint64_t)len + (1u << qpc->mtu_shift) - 1) >> qpc->mtu_shift) : 1;
}

/** Get the number of payload bytes in packet `pkt` of a message of `len` bytes. */
static inline uint32_t
uroce_msg_payload(const struct uroce_qpc *qpc, uint32_t len, uint32_t pkt)
{
	const uint32_t left = len - (pkt << qpc->mtu_shift);
	const uint32_t mtu = 1u << qpc->mtu_shift;

	return left < mtu ? left : mtu;
}

/**
 * Whether a request gets a response of its own, which an ACK cannot replace: READ, atomic, FLUSH
 * and ATOMIC_WRITE.
 */
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

/**
 * Get the number of responses from packet `pkt` of a READ to the end of its READ chunk, which is
 * what one READ request requests. For other requests with a response of their own the number is 1.
 */
static inline uint32_t
uroce_req_chunk_left(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t pkt)
{
	const uint32_t in_chunk = qpc->chunk_psns - pkt % qpc->chunk_psns;
	const uint32_t in_request = wqe->nb_psn - pkt;

	return in_chunk < in_request ? in_chunk : in_request;
}

/**
 * Find the request in flight that `psn` belongs to.
 * @param[out] idx  the index of the request in the send queue
 * @return false: the PSN is not in flight
 */
bool uroce_position_find(const struct uroce_qpc *qpc, uint32_t psn, uint32_t *idx);

/**
 * Find the request in flight that `psn` belongs to.
 * @return NULL: the PSN is not in flight
 */
const struct uroce_send_wqe *uroce_position_request(const struct uroce_qpc *qpc, uint32_t psn);

/**
 * Get the PSN of the first response to the packet in flight that `psn` belongs to. For a READ this
 * is the first PSN of its READ chunk, which is what one READ request requests.
 */
uint32_t uroce_position_first_answer(const struct uroce_qpc *qpc, uint32_t psn);

/**
 * Whether the peer has to respond, because a packet in flight requests an ACK or gets a response.
 * Otherwise the peer need not respond until the requester sends such a packet, however long this
 * takes.
 */
static inline bool
uroce_req_awaits_response(const struct uroce_req *req)
{
	return req->since_ack_req < uroce_psn_dist(req->una_psn, req->next_psn);
}

/** Get the present size of the requester's window: the number of packets that may be in flight. */
static inline uint32_t
uroce_req_window(const struct uroce_qpc *qpc)
{
	const struct uroce_loss_recovery *recovery = &qpc->req.loss_recovery;

	/*
	 * the window is inflated only while una_psn is at the PSN gap; a response of a READ may
	 * have moved una_psn on
	 */
	if (uroce_req_is_fast_retx(&qpc->req) &&
	    uroce_psn_dist(recovery->gap_psn, qpc->req.una_psn) <= 1)
		return qpc->window_psns + recovery->inflation_psns;
	return qpc->req.rtt.cwnd ? qpc->req.rtt.cwnd : qpc->window_psns;
}

/** Get the number of packets that may be sent until the requester's window is full. */
static inline uint32_t
uroce_req_window_left(const struct uroce_qpc *qpc)
{
	const uint32_t nb_out = uroce_psn_dist(qpc->req.una_psn, qpc->req.next_psn);
	const uint32_t window = uroce_req_window(qpc);

	return nb_out < window ? window - nb_out : 0;
}

/**
 * The state of the ACK rule for a burst of packets from the send position on. The ACK rule
 * determines which packets request an ACK, see req.c. Only RC and XRC use the rule.
 */
struct uroce_ack_rule {
	/* number of packets that were sent since the last packet that requests an ACK */
	uint32_t since;
	uint32_t every; /* one of every `every` packets requests an ACK */
	/* number of packets that may be sent until the requester's window is full */
	uint32_t room;
};

/** Initialise the state of the ACK rule for a burst that begins at the send position. */
static inline struct uroce_ack_rule
uroce_ack_rule_begin(const struct uroce_qpc *qpc)
{
	return (struct uroce_ack_rule){
		.since = qpc->req.since_ack_req,
		.every = qpc->req.loss_recovery.peer == UROCE_PEER_ARQ_GO_BACK_N
				 ? UROCE_ACK_EVERY_GO_BACK_N
				 : qpc->ack_every,
		.room = uroce_req_window_left(qpc),
	};
}

/**
 * Apply the ACK rule to the next packet of a burst.
 * @param is_queue_end  whether no later packet can be sent now
 * @return whether the packet requests an ACK
 */
static inline bool
uroce_ack_rule_next(struct uroce_req *req, struct uroce_ack_rule *rule, bool is_queue_end)
{
	const bool is_window_end = rule->room-- <= 1;

	if (++rule->since < rule->every && !is_window_end && !is_queue_end && !req->is_ack_wanted)
		return false;
	req->is_ack_wanted = false;
	rule->since = 0;
	return true;
}

/**
 * Apply the ACK rule to a packet that gets a response of its own, and so need not request an ACK.
 */
static inline void
uroce_ack_rule_respond(struct uroce_ack_rule *rule)
{
	rule->room--;
	rule->since = 0;
}

/**
 * Set the send position: the next packet to send is packet `pkt` of request `idx`, and has the PSN
 * `psn`.
 */
static inline void
uroce_position_set(struct uroce_req *req, uint32_t psn, uint32_t idx, uint32_t pkt)
{
	req->next_psn = psn;
	req->next_idx = idx;
	req->next_pkt = pkt;
	if (uroce_psn_before(req->max_psn, psn))
		req->max_psn = psn;
	/* indices of the send queue wrap around, so their difference is compared */
	if ((int32_t)(idx - req->begun_idx) > 0)
		req->begun_idx = idx;
}

/**
 * Advance the send position by `nb` PSNs within the present request, or to the beginning of the
 * next request.
 */
static inline void
uroce_position_move(struct uroce_req *req, const struct uroce_send_wqe *wqe, uint32_t nb)
{
	const uint32_t pkt = req->next_pkt + nb;
	const bool is_end = pkt == wqe->nb_psn;

	uroce_position_set(req, uroce_psn_add(req->next_psn, nb), req->next_idx + is_end,
			   is_end ? 0 : pkt);
}

#endif /* UROCE_TRANSPORT_POSITION_H */
