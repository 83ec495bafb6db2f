/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_ROLE_H
#define UROCE_TRANSPORT_ROLE_H

/**
 * @file
 * The roles inside a QP context, and what they owe each other: qpc.c routes every event of the world
 * to one of them.
 *
 *	req	sends requests; keeps the window [una_psn, next_psn) and the retry timers
 *	fetch	the same of many short READs and atomics at once
 *	middle	the packets between the first and the last of long messages, in both directions
 *	repair	sends again what was lost, and nothing else, where the peer allows it
 *	again	what was sent before, once more
 *	comp	takes the responses to them
 *	answer	what the peer answers ahead of an answer that is missing
 *	local	does the requests that send nothing
 *	resp	answers the peer's requests (RC)
 *	reply	the same of many short READs and atomics at once
 *	early	what the peer asks ahead of a hole
 *	later	of that, the WRITEs that are placed when they come
 *	recv	where receive requests come from: the QP's queue or a shared one
 *	msg	places the payload of a message being received (RC and UC)
 *	run	the same of many small messages at once
 *	ud	datagrams, both directions
 *
 * How fast they may send is the business of cc.h.
 */

#include "transport/qpc.h"
#include "wire/icrc.h"
#include "wire/newer_verbs.h"
#include "wire/psn.h"

/* --- req.c --- */

/** RESET: nothing sent, nothing due. */
void uroce_req_reset(struct uroce_qpc *qpc);

/** RTR to RTS: number from attr.sq_psn on, fill the retry counters. */
void uroce_req_start(struct uroce_qpc *qpc);

/** SQE to RTS: go on with what is posted next. */
void uroce_req_resume(struct uroce_qpc *qpc);

/** Fill descriptors with requests, new ones or ones to be sent again. */
unsigned uroce_req_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			uint64_t now_ns);

/** UC and UD: the requests whose last packet was sent complete; then a fault takes effect. */
void uroce_req_sent(struct uroce_qpc *qpc, uint64_t now_ns);

/** A request that cannot be sent ends in its fault, if all before it have completed. */
void uroce_req_fail_if_faulty(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * The oldest request ends in `status`, the QP in ERR (UC: SQE), the rest is flushed: all of them when no
 * port refers to their memory any more.
 */
void uroce_req_fail(struct uroce_qpc *qpc, enum ibv_wc_status status, uint32_t vendor_err,
		    uint64_t now_ns);

/** SQD: tell when the last request that was begun has completed. */
void uroce_req_check_drained(struct uroce_qpc *qpc);

/** Build the packet at the position, without asking whether it may be sent. @return false: a fault */
bool uroce_req_put(struct uroce_qpc *qpc, struct uroce_txd *txd);

/** The position is in a READ: a request for the next `nb` responses, which are of one chunk. */
void uroce_req_put_read(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd);

/**
 * Packets from one that asks for an ACK to the next, while there is more to send: a quarter of the send
 * queue within these, so that its requests complete well before it is empty.
 */
#define UROCE_ACK_EVERY_MIN 32
#define UROCE_ACK_EVERY_MAX 64
/** The same to a peer that drops what is behind a hole: what it had before, it had better have said. */
#define UROCE_ACK_EVERY_GO_BACK_N 4
static_assert(UROCE_ACK_EVERY_MAX <= UINT8_MAX, "since_ack_req is a byte");

/**
 * Whether the peer owes an answer: something is on the wire that asked for one. Where nothing does, the
 * next step is ours, however long it takes until the QP may send.
 */
static inline bool
uroce_req_awaits_response(const struct uroce_req *req)
{
	return req->since_ack_req < uroce_psn_dist(req->una_psn, req->next_psn);
}

static inline uint32_t
uroce_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/** Packets that may be in flight. */
static inline uint32_t
uroce_req_window(const struct uroce_qpc *qpc)
{
	const struct uroce_loss_recovery *repair = &qpc->req.loss_recovery;

	/* the answer to a READ may have passed the hole */
	if (repair->is_open && uroce_psn_dist(repair->gap_psn, qpc->req.una_psn) <= 1)
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

/* --- middle.c --- */

/** Fill descriptors with packets from the middle of the request at the position. @return how many */
unsigned uroce_middle_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/** The same with responses from the middle of a READ, the oldest that is pending. @return how many */
unsigned uroce_middle_put_responses(struct uroce_qpc *qpc, struct uroce_rd_res *res,
				    struct uroce_txd *out, unsigned max);

/**
 * Of `nb` requests, the first of which passed the checks that are the same for all: execute as many from
 * the first on as are expected in the middle of the message that is being received.
 * @return how many; the next one may still be right
 */
unsigned uroce_middle_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				    unsigned nb);

/** The same with responses, of the READ that is being answered. */
unsigned uroce_middle_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				     unsigned nb, uint64_t now_ns);

/* --- rd_atomic_req.c --- */

/** The ATOMICETH of an atomic. */
void uroce_rd_atomic_put_eth(struct uroce_atomiceth *eth, const struct uroce_send_wqe *wqe);

/**
 * Fill descriptors with the READs of one packet and the atomics that are next, as many as nothing but
 * the window and their number bounds. @return how many; what is next may still be one
 */
unsigned uroce_rd_atomic_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/**
 * Of `nb` packets that came right behind `tmpl`, which was taken: take as many from the first on as are
 * the answers to the fetches that are oldest.
 * @return how many; the next one is to be asked everything, and may still be right
 */
unsigned uroce_rd_atomic_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
					const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

/* --- retry.c --- */

/** Full retry counters, as the attributes have them now. */
void uroce_retry_refill(struct uroce_qpc *qpc);

/** Send again from una_psn on (go back N). */
void uroce_retry_rewind(struct uroce_qpc *qpc);

/** The ACK timer runs from now on, if there is one. */
void uroce_retry_arm(struct uroce_qpc *qpc, uint64_t now_ns);

/** The peer moved us forward: full retry counters, timer from now on. */
void uroce_retry_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/** A timeout: rewind, or end in IBV_WC_RETRY_EXC_ERR when none is left. */
void uroce_retry_use(struct uroce_qpc *qpc, uint64_t now_ns);

/** A timer may have run out. */
void uroce_retry_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/* --- loss_recovery.c --- */

/** No hole is open, no probe due; what is known of the peer stays known. */
void uroce_loss_recovery_end(struct uroce_qpc *qpc);

/**
 * An ACK, or a NAK of a PSN sequence error, has moved una_psn to where it is.
 * @return false: go back N, if it was a NAK
 */
bool uroce_loss_recovery_on_ack(struct uroce_qpc *qpc, bool is_nak, uint64_t now_ns);

/** An ACK showed that the peer dropped what was behind a hole: go back N. */
void uroce_loss_recovery_go_back_n(struct uroce_qpc *qpc);

/** Everything goes again since something was lost: to a peer that drops, perhaps in a smaller window. */
void uroce_loss_recovery_reduce_cwnd(struct uroce_qpc *qpc);

/** The first packet, or the first to another host, is still to be sent: what is known of the host is believed. */
void uroce_loss_recovery_start(struct uroce_qpc *qpc);

/** An answer came to what was not sent again yet. */
void uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc);

/** una_psn has moved. */
void uroce_loss_recovery_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/** What is missing up to `psn` was sent again, or asked for: a repair, or a probe. */
void uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** The time for a probe may have come. */
void uroce_loss_recovery_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/** Build a repair or a probe that is due. */
bool uroce_loss_recovery_put(struct uroce_qpc *qpc, struct uroce_txd *txd, uint64_t now_ns);

/** Nothing new can be sent: build one more of the packets behind holes. */
bool uroce_loss_recovery_put_opportunistic(struct uroce_qpc *qpc, struct uroce_txd *txd);

/** A burst was built, before which max_psn was that. */
void uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			      uint64_t now_ns);

/* --- retransmit.c --- */

/** The request that `psn` belongs to; NULL: it is not in flight. */
const struct uroce_send_wqe *uroce_retransmit_find_request(const struct uroce_qpc *qpc,
							   uint32_t psn);

/**
 * Build the packet at `psn` once more, or, of a READ, the request for `nb` responses from there on;
 * `is_asking`: it asks for an ACK. The position stays where it is.
 * @return whether it was built
 */
bool uroce_retransmit_put(struct uroce_qpc *qpc, uint32_t psn, uint32_t nb, bool is_asking,
			  struct uroce_txd *txd);

/* --- ooo_response.c --- */

/** A response with data, ahead of the answer at una_psn: place it, hold it or drop it. */
enum uroce_verdict uroce_ooo_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					   uint64_t now_ns);

/** A hole was found because an answer passed by it. */
void uroce_ooo_response_count_implied(struct uroce_qpc *qpc);

/** The peer has executed everything before `psn`, and the answer at una_psn is not here. */
void uroce_ooo_response_note_executed(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** A NAK of a PSN sequence error, ahead of the answer at una_psn. @return false: go back N */
bool uroce_ooo_response_recv_nak(struct uroce_qpc *qpc, uint32_t psn);

/** The answer at una_psn arrived. */
void uroce_ooo_response_note_arrival(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

/** una_psn has moved: take what is here in order. */
void uroce_ooo_response_drain(struct uroce_qpc *qpc, uint64_t now_ns);

/** The time to ask again may have come. */
void uroce_ooo_response_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/** Nothing came for long: ask for the answer at una_psn. @return false: it needs none */
bool uroce_ooo_response_probe(struct uroce_qpc *qpc);

/** Build a request for what is missing, if that is due. */
bool uroce_ooo_response_put(struct uroce_qpc *qpc, struct uroce_txd *txd, uint64_t now_ns);

/** PSNs from the position on, all of one request or chunk, that need not be sent again. */
uint32_t uroce_ooo_response_nb_present(const struct uroce_qpc *qpc,
				       const struct uroce_send_wqe *wqe);

/** The PSN that is answered first of what asked for an answer at `psn`, which is in flight. */
uint32_t uroce_ooo_response_first_psn(const struct uroce_qpc *qpc, uint32_t psn);

/** Of `nb` responses from `psn` on: how many there are up to the last that is missing. */
uint32_t uroce_ooo_response_nb_missing(const struct uroce_qpc *qpc, uint32_t psn, uint32_t nb);

/** The position was set back to una_psn: what is missing is asked for by that. */
void uroce_ooo_response_note_rewind(struct uroce_qpc *qpc);

/** Nothing is here early any more. */
void uroce_ooo_response_discard(struct uroce_qpc *qpc);

/** Responses up to the end of the chunk that packet `pkt` of a request is in; without data: 1. */
static inline uint32_t
uroce_req_chunk_left(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t pkt)
{
	const uint32_t in_chunk = qpc->chunk_psns - pkt % qpc->chunk_psns;
	const uint32_t in_request = wqe->nb_psn - pkt;

	return in_chunk < in_request ? in_chunk : in_request;
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

/* --- completer.c --- */

enum uroce_verdict uroce_completer_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					uint64_t now_ns);

/**
 * Acknowledge everything before `psn`, which is in [una_psn, max_psn].
 * @return false: a READ or atomic is in the way, and una_psn is where it waits
 */
bool uroce_completer_advance(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** The response at una_psn, in order. */
enum uroce_verdict uroce_completer_take(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					uint64_t now_ns);

/**
 * Check a READ response against its request, the oldest, and place its payload.
 * @return UROCE_VERDICT_RESPONSE; else the QP is in ERR
 */
enum uroce_verdict uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					 uint64_t now_ns);

/** The last response of a chunk, or an atomic's, was taken. */
void uroce_completer_end_rd(struct uroce_req *req);

/** Local requests that were executed complete, as far as no other is before them. */
void uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns);

/* --- local.c --- */

/**
 * Do what a local request asks for, unless that was done already.
 * @return IBV_WC_SUCCESS, or how it ends
 */
enum ibv_wc_status uroce_local_execute(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe);

/* --- pipeline.c --- */

/** The data of a request has a bad signature: a QP that is pipelined stops behind that request. */
void uroce_pipeline_stop(struct uroce_qpc *qpc);

/* --- resp.c --- */

void uroce_resp_reset(struct uroce_qpc *qpc);

enum uroce_verdict uroce_resp_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				   uint64_t now_ns);

/** Count a request that was refused, if that is counted. */
void uroce_resp_count_refusal(const struct uroce_qpc *qpc, enum uroce_verdict verdict);

/** The oldest receive request ends in an error, the QP in ERR. */
void uroce_resp_fail_recv(struct uroce_qpc *qpc, enum ibv_wc_status status,
			  enum uroce_verdict verdict, uint64_t now_ns);

/** Fill descriptors with READ responses, atomic acknowledgements, ACK or NAK, in PSN order. */
unsigned uroce_resp_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			 uint64_t now_ns);

/** Execute the request that was expected. @return UROCE_VERDICT_REQUEST, or why it was refused */
enum uroce_verdict uroce_resp_execute(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				      uint64_t now_ns);

/** The same of one that was held: a refusal that would end the QP is left to the caller. */
enum uroce_verdict uroce_resp_execute_buffered(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					       uint64_t now_ns);

/** Whether the peer may read what a READ request names. */
bool uroce_resp_may_read(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/** An ACK becomes due; a NAK that waits already goes first and makes it unnecessary. */
void uroce_resp_schedule_ack(struct uroce_resp *resp);

/** A NAK is due, and after it silence until epsn arrives. */
void uroce_resp_schedule_nak(struct uroce_resp *resp, uint8_t syndrome, uint32_t psn);

/* --- rd_atomic_resp.c --- */

/** The slot of the oldest of the resources that have something to send; there is one. */
static inline uint32_t
uroce_rd_atomic_oldest(const struct uroce_resp *resp)
{
	/* slots are a ring that is filled in PSN order */
	const uint32_t first = resp->res_head % UROCE_RD_ATOMIC_MAX;
	const uint64_t twice = (uint64_t)resp->pending << UROCE_RD_ATOMIC_MAX | resp->pending;

	return (first + (uint32_t)__builtin_ctzll(twice >> first)) % UROCE_RD_ATOMIC_MAX;
}

/** An atomic is executed. @return the value before */
uint64_t uroce_rd_atomic_execute(uint64_t *at, const struct uroce_atomiceth *eth, bool is_swap);

/** The same as uroce_single_packet_recv(), for READs of one packet and atomics. */
unsigned uroce_rd_atomic_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				       const struct uroce_pkt *pkts, unsigned nb);

/** The answer of an atomic. */
void uroce_rd_atomic_put_ack(struct uroce_qpc *qpc, const struct uroce_rd_res *res,
			     struct uroce_txd *txd);

/**
 * Fill descriptors with the answers that are next, as long as each is all of one, and its memory is
 * there. At least one is pending. @return how many; what is next may still be one
 */
unsigned uroce_rd_atomic_put_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/* --- ooo_request.c --- */

/** A request ahead of epsn: place it, hold it or drop it; see to it that the hole is reported. */
enum uroce_verdict uroce_ooo_request_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					  uint64_t now_ns);

/** A READ with so many responses was executed: the peer may have as many PSNs outstanding as that. */
void uroce_ooo_request_note_read(struct uroce_qpc *qpc, uint32_t nb_psn);

/** A repetition of the packet that opened the last hole: it has to be what that was. */
void uroce_ooo_request_compare(struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/** Whether nothing is ahead of epsn and no hole was seen: the expected request is executed, and that is all. */
static inline bool
uroce_ooo_request_is_idle(const struct uroce_resp *resp)
{
	return !resp->gap && !resp->reorder_window.since_ns && !resp->has_dropped &&
	       resp->nak_deadline == UROCE_NEVER;
}

/** The expected request: execute it, and what was held behind it. */
enum uroce_verdict uroce_ooo_request_fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					      uint64_t now_ns);

/**
 * The request `psn` arrived, one that we had or not: that may tell what filled the last hole. To be
 * called while that is doubtful.
 */
void uroce_ooo_request_classify_fill(struct uroce_qpc *qpc, uint32_t psn);

/** The time of a NAK may have come, or of more that was held. */
void uroce_ooo_request_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/** Nothing is held any more, and no hole is to be reported. */
void uroce_ooo_request_discard(struct uroce_qpc *qpc);

/* --- ddp.c --- */

/**
 * Where a packet from the middle of a WRITE goes, which is ahead of a hole and behind the message that
 * is being received. NULL: that is not known, or refused: hold it. There is a gap.
 */
void *uroce_ddp_place(struct uroce_qpc *qpc, uint32_t psn);

/** Copy the payload of packet `psn`, but for the bytes that a WRITE behind it has been placed at. */
void uroce_ddp_copy_around(struct uroce_qpc *qpc, uint32_t psn, void *dst, const void *src,
			   uint32_t len);

/* --- recv.c --- */

/** uroce_recv_current() of a shared queue; NULL: there is none, or nothing is posted to it. */
struct uroce_recv_wqe *uroce_recv_shared(struct uroce_qpc *qpc);

/** The receive request that the message being received uses; NULL: none is posted. */
static inline struct uroce_recv_wqe *
uroce_recv_current(struct uroce_qpc *qpc)
{
	if (qpc->srq || !qpc->rq)
		return uroce_recv_shared(qpc);
	const struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t tail = uroce_ring_tail(rq);

	return uroce_ring_head(rq) == tail ? NULL
					   : (struct uroce_recv_wqe *)uroce_ring_at(rq, tail);
}

/** The same, when that was asked before and there is one. */
static inline struct uroce_recv_wqe *
uroce_recv_taken(const struct uroce_qpc *qpc)
{
	if (qpc->srq)
		return qpc->resp.recv;
	return (struct uroce_recv_wqe *)uroce_ring_at(&qpc->rq->ring,
						      uroce_ring_tail(&qpc->rq->ring));
}

/** The slot of the shared queue's request is free. */
void uroce_recv_give(struct uroce_qpc *qpc);

/** It was completed: its slot is free. */
static inline void
uroce_recv_pop(struct uroce_qpc *qpc)
{
	if (qpc->srq)
		uroce_recv_give(qpc);
	else
		uroce_ring_pop(&qpc->rq->ring, 1);
}

/** It was not used: others may. */
void uroce_recv_put_back(struct uroce_qpc *qpc);

/** The protection domain of its keys. */
static inline uint32_t
uroce_recv_pdn(const struct uroce_qpc *qpc)
{
	return qpc->srq ? qpc->srq->pdn : qpc->pdn;
}

/* --- msg.c --- */

/**
 * Execute a packet of a SEND or WRITE that is the next one in order: check it against its message,
 * place its payload, complete the receive request that it ends.
 * @return UROCE_VERDICT_REQUEST, or why it was refused; then nothing was changed
 */
enum uroce_verdict uroce_msg_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/** UC: no acknowledgement; a gap loses the message that it falls in [IBA 9.8.2.2]. */
enum uroce_verdict uroce_msg_recv_uc(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

/* --- single_packet.c --- */

/**
 * Of `nb` packets that came right behind `tmpl`, which was executed: execute as many from the first on
 * as are like it in all that was asked of it, SENDs or WRITEs of one packet that are expected and
 * find their memory.
 * @return how many; the next one is to be asked everything, and may still be right
 */
unsigned uroce_single_packet_recv(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				  const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

/* --- ud.c --- */

/** Fill descriptors with datagrams. */
unsigned uroce_ud_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns);
enum uroce_verdict uroce_ud_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				 uint64_t now_ns);

/* --- qpc.c --- */

/** To ERR: timers off, both queues flushed. What the responder still owes is sent. */
void uroce_qpc_enter_error(struct uroce_qpc *qpc, uint64_t now_ns);

/** Make the path's headers those of the frames of an opcode and a length. */
void uroce_qpc_set_hdr_template(struct uroce_qpc *qpc, uint8_t opcode, uint32_t payload_len);

/**
 * Begin a frame to the peer: headers up to the BTH. Most are shaped as the one before.
 * @return where the extension headers go
 */
static inline uint8_t *
uroce_txd_begin(struct uroce_txd *txd, struct uroce_qpc *qpc, uint8_t opcode, uint32_t psn,
		uint32_t payload_len)
{
	const struct uroce_hdr_template *hdr_template = &qpc->hdr_template;

	if (payload_len != hdr_template->payload_len || opcode != hdr_template->opcode)
		uroce_qpc_set_hdr_template(qpc, opcode, payload_len);
	struct uroce_bth *bth = uroce_path_copy(&qpc->path, txd->hdr);

	bth->psn = be24_make(psn);
	txd->icrc = hdr_template->icrc;
	txd->payload_len = payload_len;
	txd->hdr_len = hdr_template->hdr_len;
	txd->bth_off = qpc->path.bth_off;
	txd->pad_len = hdr_template->pad_len;
	if (!payload_len)
		txd->nb_slices = 0;
	return (uint8_t *)(bth + 1);
}

/** The same on another path, and to another QP. */
uint8_t *uroce_txd_begin_on(struct uroce_txd *txd, const struct uroce_qpc *qpc,
			    const struct uroce_path *path, uint8_t opcode, uint32_t dest_qpn,
			    uint32_t psn, uint32_t payload_len);

/** A frame that the pacer has let pass leaves. */
static inline void
uroce_txd_charge(struct uroce_qpc *qpc, const struct uroce_txd *txd, uint64_t now_ns)
{
	if (qpc->cc.is_limited)
		uroce_cc_charge(&qpc->cc,
				txd->hdr_len + txd->payload_len + txd->pad_len +
					(uint32_t)UROCE_ICRC_LEN,
				now_ns);
}

#endif /* UROCE_TRANSPORT_ROLE_H */
