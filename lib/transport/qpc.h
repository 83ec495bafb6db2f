/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QPC_H
#define UROCE_TRANSPORT_QPC_H

/**
 * @file
 * The QP context and the transport contract: everything that the world may do to a QP.
 *
 * Sans-I/O: packets come in parsed, frames go out as descriptors, time is a parameter, memory is
 * given. Nothing here takes a lock (but for the CQ's, once per batch), allocates, logs or reads a
 * clock. A context belongs to one worker at a time; every call below is made by that worker, or by a
 * control thread that holds the worker's lock.
 *
 * Inside, each noun is a file with a header of its own, and calls go down: no two files lead back to one another
 * (devtools/check-floors). From top to bottom, requester and responder:
 *
 *	qpc		the calls of this header; each event goes to one of the roles
 *	requester	what is sent next: what recovery asks for, then new requests
 *	rd_atomic_req, middle	the same of many short READs and atomics, and of the packets inside of long messages
 *	response	what an ACK, a NAK or a response with data says
 *	ooo_response	recovery of responses: those that arrive ahead of a missing one
 *	completer	requests complete: the window moves
 *	retry		timers, retries, and going back N
 *	loss_recovery	recovery of requests: what is retransmitted, and when the requester goes back N
 *	retransmit, req	request packets, sent once more or for the first time
 *	recovery_state, ooo_response_state	the states of recovery
 *
 *	resp		requests of the peer: past, expected or ahead; and the responses to them
 *	single_packet, rd_atomic_resp	the same of many small messages, and of many short READs and atomics
 *	ooo_request, ddp	requests ahead of a PSN gap
 *	execute, msg	the expected request, and the payload of a message
 *	ud		datagrams, both directions
 *
 *	error		a request fails, and the QP with it
 *	completion, recv	completions, and where receive requests come from
 *	txd, position	headers of frames, and where the requester is among its requests
 *	context		the QP context
 *
 * attr.c modifies and queries, qp_state.c says which modify is legal, cc.h says how fast a QP may send.
 */

#include <stdint.h>

#include "transport/context.h"

/** Make a context in RESET. */
void uroce_qpc_init(struct uroce_qpc *qpc, const struct uroce_qpc_conf *conf);

/** Give back what the context holds of its worker's; it is not used any more. */
void uroce_qpc_fini(struct uroce_qpc *qpc);

/**
 * Whether the context can go to another worker now: not while something is missing, for what is here ahead
 * of it is kept by this worker.
 */
static inline bool
uroce_qpc_is_migratable(const struct uroce_qpc *qpc)
{
	return !qpc->resp.gap && !qpc->req.ooo_responses.gap;
}

/**
 * It goes: the last call by this worker. From the next one on they are made by the worker that these are
 * of; who hands it over sees to it that all that was written here is seen there, and that time goes on.
 */
void uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
		       struct uroce_reorder_buffer *reorder_buffer, struct uroce_counters *counters,
		       struct uroce_cq_list *unpublished);

/**
 * Take one received frame whose ICRC was verified and whose destination QPN is this QP's.
 * Placed payload is visible to the application on return; completions are when the caller publishes them
 * (uroce_qpc_conf.unpublished), or on return where it has no list of them.
 * @return what became of it; `events` may have grown, and there may be something to send.
 *	UROCE_VERDICT_OOO_BUFFERED: the transport keeps the frame, until it is on the death row of the pool that
 *	the context was made with (uroce_reorder_buffer_reap); with any other verdict the frame is the caller's
 */
enum uroce_verdict uroce_qpc_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/**
 * Take a run of received frames, each as uroce_qpc_recv() takes one: `nb` >= 1, in the order in which
 * they came. What it costs to publish completions is paid once for all. A frame that is held ends the
 * run, so that the caller can see to it.
 * @param[out] verdicts  what became of each (enum uroce_verdict)
 * @return how many were taken: at least 1
 */
unsigned uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb,
			      uint8_t *verdicts, uint64_t now_ns);

/**
 * Whether all that is to be sent is an acknowledgement, good news for the peer's requester alone: no
 * response, no NAK, no request.
 */
bool uroce_qpc_has_only_ack(const struct uroce_qpc *qpc);

/**
 * Ask for up to `max` frames to send: responses, acknowledgements, requests. In ERR it flushes what
 * was posted. The slices are good until the end of the worker's round: the caller gathers them, and
 * then says so with uroce_qpc_sent().
 * @return how many descriptors were filled; fewer than `max`: nothing more until the next recv,
 *	expire, modify or post
 */
unsigned uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			uint64_t now_ns);

/**
 * The same for requests alone, ahead of what the QP may owe to its peer's requester. In any state.
 */
unsigned uroce_qpc_send_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
				 uint64_t now_ns);

/**
 * As uroce_qpc_send(), for what is owed to the peer alone: enough where nothing but its requests has come
 * since it was asked last. A QP that only answers is not looked at as one that asks.
 * Not while uroce_qpc_is_fast_path() says no.
 */
unsigned uroce_qpc_send_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
				  uint64_t now_ns);

/**
 * The frames of uroce_qpc_send() no longer refer to user memory: UC and UD requests complete; a request
 * that could not be sent fails, and what is to be flushed is flushed. To be called after every send,
 * also after one that built nothing.
 */
void uroce_qpc_sent(struct uroce_qpc *qpc, uint64_t now_ns);

/** When uroce_qpc_expire() must be called; UROCE_NEVER: no timer armed. */
uint64_t uroce_qpc_deadline(const struct uroce_qpc *qpc);

/** The same, of what requests of the peer may have changed: it is this, or what it was. */
static inline uint64_t
uroce_qpc_response_deadline(const struct uroce_qpc *qpc)
{
	return qpc->resp.nak_deadline < qpc->cc.cnp_deadline ? qpc->resp.nak_deadline
							     : qpc->cc.cnp_deadline;
}

/** Time has reached the deadline. Harmless when called early. */
void uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Whether a modify would be legal [IBA 10.3.1, 11.2.5.2]: transition, required and optional
 * attributes, every value in range. Changes nothing.
 * @return 0 or -EINVAL
 */
int uroce_qpc_modify_check(const struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask);

/**
 * Modify attributes, the state being one of them. A failed modify changes nothing.
 * @param path  resolved from attr->ah_attr, when the mask has IBV_QP_AV; else NULL
 * @return 0, -EINVAL, or -EAGAIN: to RESET, while somebody posts
 */
int uroce_qpc_modify(struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask,
		     const struct uroce_path *path, uint64_t now_ns);

/**
 * Cancel the requests with this wr_id that were not begun, in SQD: they send and do nothing when
 * their turn comes, and complete as their signalling asked, or are flushed with the others.
 * @return how many; -EINVAL: not in SQD
 */
int uroce_qpc_cancel(struct uroce_qpc *qpc, uint64_t wr_id);

/**
 * Choose congestion control for this QP, in RESET or INIT: before it has a path. It outlives a reset.
 * @param conf  borrowed for the context's life; NULL: none
 * @return 0 or -EINVAL: in another state, or a QP for datagrams
 */
int uroce_qpc_set_cc(struct uroce_qpc *qpc, const struct uroce_cc_conf *conf);

/** All attributes as they now are (cap excepted: the owner knows it). */
void uroce_qpc_query(const struct uroce_qpc *qpc, struct ibv_qp_attr *attr);

/** XRC_RECV: this SRQ ends. What the QP has of it goes back, and a message that uses it is cut off. */
void uroce_qpc_forget_srq(struct uroce_qpc *qpc, const struct uroce_srq *srq);

/**
 * After UROCE_QPC_SRQ_LIMIT, until NULL: a shared queue that fell below its limit. An XRC target may
 * have taken from several in one call.
 */
struct uroce_srq *uroce_qpc_limited_srq(const struct uroce_qpc *qpc);

/**
 * XRC_RECV, after UROCE_QPC_RECV_CQ_EVENT or _OVERRUN, until NULL: a shared queue whose CQ that is about.
 * As above, one call may be about several.
 * @param[out] told  enum uroce_srq_event
 */
struct uroce_srq *uroce_qpc_event_srq(const struct uroce_qpc *qpc, uint8_t *told);

/**
 * An error that is not the peer's (CQ overrun, port removed): to ERR, everything flushed.
 */
void uroce_qpc_fail(struct uroce_qpc *qpc, uint64_t now_ns);

/** Whether nothing is the matter: no error, no congestion. What is owed may be sent by itself. */
static inline bool
uroce_qpc_is_fast_path(const struct uroce_qpc *qpc)
{
	return (qpc->state == IBV_QPS_RTS || qpc->state == IBV_QPS_RTR) && !qpc->cc.is_limited &&
	       !qpc->cc.has_cnp;
}

/** Whether a request was sent that the peer has not answered yet. */
static inline bool
uroce_qpc_awaits_response(const struct uroce_qpc *qpc)
{
	return qpc->req.una_psn != qpc->req.next_psn;
}

/**
 * Whether uroce_qpc_send() might have something to do: a cheap hint. It is true too often (a request
 * may have to wait for the peer), and never false when there is something to send or to flush.
 */
static inline bool
uroce_qpc_has_work(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	if (qpc->cc.has_cnp)
		return true;
	/* until the pacer lets go, only what nobody waits behind */
	if (qpc->cc.pace_deadline != UROCE_NEVER)
		return qpc->resp.has_aeth && !qpc->resp.pending;
	if (qpc->resp.pending || qpc->resp.has_aeth)
		return true;
	if (!qpc->sq)
		return false;
	switch (qpc->state) {
	case IBV_QPS_RTS:
		if (uroce_req_has_retransmit(req))
			return true;
		return !uroce_req_is_rnr_wait(req) &&
		       req->next_idx != uroce_ring_head(&qpc->sq->ring);
	case IBV_QPS_SQD: /* what was begun, and the ACK that it ends with */
		if (uroce_req_has_retransmit(req))
			return true;
		return !uroce_req_is_rnr_wait(req) &&
		       (req->next_idx != req->begun_idx ||
			(req->since_ack_req && req->una_idx != req->next_idx));
	case IBV_QPS_SQE:
		return !uroce_wq_is_empty(qpc->sq);
	case IBV_QPS_ERR:
		return !uroce_wq_is_empty(qpc->sq) || (qpc->rq && !uroce_wq_is_empty(qpc->rq));
	}
	return false;
}

#endif /* UROCE_TRANSPORT_QPC_H */
