/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_QPC_H
#define UROCE_TRANSPORT_QPC_H

/**
 * @file
 * The calls of the transport: everything that the layers above it (lib/datapath and lib/verbs) may
 * do to a QP context.
 *
 * The transport does no I/O of its own. Received packets are passed in parsed, frames to send are
 * returned as descriptors, the time is a parameter, and memory is provided by the caller. The
 * transport takes no locks except the lock of a CQ, once per batch of completions. It does not
 * allocate, log or read a clock. A context belongs to one worker at a time. Every call of this
 * header is made by that worker, or by a control thread that has the worker's lock.
 *
 * Each name in the following list is a file with a header of its own. Calls go down the list: no
 * two files call each other in a circle (devtools/check-floors). From top to bottom, first the
 * requester and then the responder:
 *
 *	qpc		the calls of this header; passes each event to one of the roles
 *	requester	chooses what is sent next: packets of loss recovery, then new requests
 *	rd_atomic_req, middle	fast paths: responses to short READs and atomics; Middle packets
 *	response	processes an ACK, a NAK or a response with data
 *	ooo_response	recovery of responses that arrive ahead of a missing one
 *	completer	completes acknowledged requests, and moves the requester's window
 *	retry		timers, retries, and going back N
 *	loss_recovery	recovery of requests: retransmission, and when to go back N
 *	retransmit, req	build request packets: to retransmit one, or at the send position
 *	recovery_state, ooo_response_state	the state machines of loss recovery
 *
 *	resp		requests of the peer (duplicate, expected, out-of-order), and responses
 *	single_packet, rd_atomic_resp	fast paths of small messages, short READs and atomics
 *	ooo_request, ddp	requests behind a PSN gap
 *	execute, msg	execute the expected request; place the payload of a message
 *	ud		datagrams, both directions
 *
 *	error		makes a request fail and puts the QP into ERR or SQE
 *	completion, recv	completions, and where receive requests come from
 *	txd, position	headers of frames, and the send position of the requester
 *	context		the QP context
 *
 * attr.c modifies and queries attributes, qp_state.c has the table of legal modifies, and cc.h has
 * the congestion control, which limits the rate of a QP.
 */

#include <stdint.h>

#include "transport/context.h"

/** Initialise a QP context. The QP begins in the state RESET. */
void uroce_qpc_init(struct uroce_qpc *qpc, const struct uroce_qpc_conf *conf);

/**
 * End the use of a context: the objects that the context has taken from the worker's pools are
 * returned.
 */
void uroce_qpc_fini(struct uroce_qpc *qpc);

/**
 * Whether the context can move to another worker now. A context cannot move while out-of-order
 * packets or responses are kept, because these are in the reorder buffer of the present worker.
 */
static inline bool
uroce_qpc_is_migratable(const struct uroce_qpc *qpc)
{
	return !qpc->resp.gap && !qpc->req.ooo_responses.gap;
}

/**
 * Move the context to another worker. The parameters are the pools, the counters and the list of
 * CQs with unpublished completions of the target worker. The present worker makes this call, and
 * the target worker makes all later calls. The caller ensures that the target worker sees
 * everything that this call writes, and that the target worker's clock is not behind.
 */
void uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
		       struct uroce_reorder_buffer *reorder_buffer, struct uroce_counters *counters,
		       struct uroce_cq_list *unpublished);

/**
 * Process one received frame, whose ICRC was verified and whose destination QPN is this QP's.
 * Placed payload is visible to the application on return. Completions are visible when the caller
 * publishes them (uroce_qpc_conf.unpublished); a context without such a list publishes them before
 * the call returns.
 * @return what the transport did with the frame. `events` may have new bits, and there may be
 *	frames to send.
 *	With UROCE_VERDICT_OOO_BUFFERED the transport keeps the frame, until
 *	uroce_reorder_buffer_reap() of the context's reorder buffer returns it. With any other
 *	verdict the frame remains the caller's.
 */
enum uroce_verdict uroce_qpc_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/**
 * Process several received frames in the order of arrival, each as uroce_qpc_recv() does. `nb` is
 * at least 1. Completions are published once for all frames, which saves time. A frame that the
 * transport keeps ends the call early, so that the caller can copy the frame to other memory before
 * the next frame is processed.
 * @param[out] verdicts  the verdict of each frame (enum uroce_verdict)
 * @return the number of frames that were processed, at least 1
 */
unsigned uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb,
			      uint8_t *verdicts, uint64_t now_ns);

/**
 * Whether the QP has nothing to send but an ACK: no response, no NAK and no request. Only the
 * peer's requester waits for such an ACK.
 */
bool uroce_qpc_has_only_ack(const struct uroce_qpc *qpc);

/**
 * Build up to `max` frames to send: responses, acknowledgements and requests. In ERR, posted
 * requests are flushed. The slices of the frames are valid until the end of the worker's round.
 * After the caller has gathered the slices, it calls uroce_qpc_sent().
 * @return the number of descriptors that were filled. If the number is less than `max`, there is
 *	nothing more to send until the next received frame, expired timer, modify or post.
 */
unsigned uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			uint64_t now_ns);

/**
 * Build up to `max` frames with requests only, before pending responses and acknowledgements are
 * sent. The QP may be in any state. Parameters and result are those of uroce_qpc_send().
 */
unsigned uroce_qpc_send_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
				 uint64_t now_ns);

/**
 * Build up to `max` frames with responses and acknowledgements only. The call suffices if only
 * requests of the peer have arrived since the last uroce_qpc_send(). The fields of the requester
 * are not touched. The function may be called only while uroce_qpc_is_fast_path() is true.
 * Parameters and result are those of uroce_qpc_send().
 */
unsigned uroce_qpc_send_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
				  uint64_t now_ns);

/**
 * Notify the context that the frames of uroce_qpc_send() no longer refer to user memory. UC and UD
 * requests complete, a request that could not be sent fails, and requests in ERR are flushed. The
 * caller must make this call after every uroce_qpc_send(), even after one that built no frame.
 */
void uroce_qpc_sent(struct uroce_qpc *qpc, uint64_t now_ns);

/** Get the time at which uroce_qpc_expire() must be called; UROCE_NEVER if no timer is armed. */
uint64_t uroce_qpc_deadline(const struct uroce_qpc *qpc);

/**
 * Get the earliest of the deadlines that a request of the peer can change. The other deadlines of
 * the context do not change, unless the request puts the QP into ERR.
 */
static inline uint64_t
uroce_qpc_response_deadline(const struct uroce_qpc *qpc)
{
	return qpc->resp.nak_deadline < qpc->cc.cnp_deadline ? qpc->resp.nak_deadline
							     : qpc->cc.cnp_deadline;
}

/**
 * Process the timers that have expired by `now_ns`. A call before uroce_qpc_deadline() does
 * nothing.
 */
void uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Check whether a modify of the QP would be legal [IBA 10.3.1, 11.2.5.2]: the transition, the
 * required and optional attributes, and the range of every value. The context is not changed.
 * @return 0: the modify is legal; -EINVAL: it is not
 */
int uroce_qpc_modify_check(const struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask);

/**
 * Modify attributes of the QP, including its state. A modify that fails changes nothing.
 * @param path  the path that was resolved from attr->ah_attr, if the mask has IBV_QP_AV; otherwise
 *	NULL
 * @return 0; -EINVAL: the modify is not legal; -EAGAIN: a modify to RESET was refused because a
 *	thread is posting
 */
int uroce_qpc_modify(struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask,
		     const struct uroce_path *path, uint64_t now_ns);

/**
 * Cancel the send requests that have the id `wr_id` and that the requester has not begun to send.
 * The QP must be in SQD. When the send position reaches a cancelled request, nothing is sent. The
 * request completes like any other: it has a completion if it is signaled, and it may be flushed.
 * @return the number of cancelled requests; -EINVAL: the QP is not in SQD
 */
int uroce_qpc_cancel(struct uroce_qpc *qpc, uint64_t wr_id);

/**
 * Choose congestion control for this QP. The QP must be in RESET or INIT, where it has no path yet.
 * The choice stays valid after a modify to RESET.
 * @param conf  configuration, which must outlive the context; NULL: no congestion control
 * @return 0, or -EINVAL: the QP is in another state, or is for datagrams
 */
int uroce_qpc_set_cc(struct uroce_qpc *qpc, const struct uroce_cc_conf *conf);

/**
 * Query the present values of all attributes of the QP. The attribute `cap` is not set, because the
 * context does not contain it: the owner of the QP sets it.
 */
void uroce_qpc_query(const struct uroce_qpc *qpc, struct ibv_qp_attr *attr);

/**
 * XRC_RECV: stop using an SRQ that is being destroyed. If the QP has taken a receive request of the
 * SRQ, it puts the request back, and ends the message that uses the request.
 */
void uroce_qpc_forget_srq(struct uroce_qpc *qpc, const struct uroce_srq *srq);

/**
 * Get the next SRQ that fell below its limit. After the event UROCE_QPC_SRQ_LIMIT the caller
 * repeats this call until the result is NULL, because an XRC target may have taken receive requests
 * from several SRQs.
 */
struct uroce_srq *uroce_qpc_limited_srq(const struct uroce_qpc *qpc);

/**
 * XRC_RECV: get the next SRQ whose CQ has an event. After UROCE_QPC_RECV_CQ_EVENT or
 * UROCE_QPC_RECV_CQ_OVERRUN the caller repeats this call until the result is NULL, because several
 * SRQs may have events.
 * @param[out] events  the events of the SRQ (enum uroce_srq_event)
 */
struct uroce_srq *uroce_qpc_event_srq(const struct uroce_qpc *qpc, uint8_t *events);

/**
 * Put the QP into ERR and flush its queues, after an error that the peer did not cause, such as a
 * CQ overrun or a removed port.
 */
void uroce_qpc_fail(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Whether uroce_qpc_send_responses() may be called: the QP is in RTR or RTS, its rate is not
 * limited, and no CNP is pending.
 */
static inline bool
uroce_qpc_is_fast_path(const struct uroce_qpc *qpc)
{
	return (qpc->state == IBV_QPS_RTS || qpc->state == IBV_QPS_RTR) && !qpc->cc.is_limited &&
	       !qpc->cc.has_cnp;
}

/** Whether a request was sent that the peer has not acknowledged yet. */
static inline bool
uroce_qpc_awaits_response(const struct uroce_qpc *qpc)
{
	return qpc->req.una_psn != qpc->req.next_psn;
}

/**
 * Whether uroce_qpc_send() may have something to do. This check is cheap and not exact: it may
 * return true although a request has to wait for the peer. It never returns false when there is
 * something to send or to flush.
 */
static inline bool
uroce_qpc_has_work(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	if (qpc->cc.has_cnp)
		return true;
	/*
	 * while the pacer delays packets, an ACK or NAK may still be sent, unless READ responses
	 * precede it
	 */
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
	/*
	 * a QP in the state SQD sends all packets of the requests that it has begun, and the last
	 * packet requests an ACK
	 */
	case IBV_QPS_SQD:
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
