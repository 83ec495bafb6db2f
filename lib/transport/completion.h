/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COMPLETION_H
#define UROCE_TRANSPORT_COMPLETION_H

/**
 * @file
 * Completions: the functions that make completion queue entries from work queue entries.
 *
 * One acknowledgement often completes many send requests, so send completions are written in a
 * batch, between uroce_completion_send_begin() and uroce_completion_send_end(). Receive completions
 * are written one by one, as packets arrive: the first of them opens a batch. The batch ends at the
 * end of the burst of packets, or before another operation on a CQ. Events for the consumer of a CQ
 * are or-ed into the context's `events`.
 */

#include "transport/context.h"

/** Begin a batch of send completions. */
void uroce_completion_send_begin(struct uroce_qpc *qpc);

/**
 * Write the completion of a send request, unless the request succeeded and is not signaled. The
 * caller removes the request from the send queue.
 */
void uroce_completion_send(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe,
			   enum ibv_wc_status status, uint32_t vendor_err, uint64_t now_ns);

/**
 * End a batch of send completions. The entries of the batch become visible to the application now,
 * or when the worker publishes its list of CQs with unpublished completions.
 */
void uroce_completion_send_end(struct uroce_qpc *qpc);

/**
 * Complete the receive request that uroce_recv_current() has returned, and free its slot. The
 * application sees the completion after uroce_completion_recv_end().
 * @return the CQ entry of a success, in which the caller fills the fields of the message; NULL: the
 *	CQ is overrun
 */
struct uroce_cqe *uroce_completion_recv(struct uroce_qpc *qpc, enum ibv_wc_opcode opcode,
					uint64_t now_ns);

/**
 * Complete with an error the receive request that uroce_recv_current() has returned, and free the
 * slot of the request.
 */
void uroce_completion_recv_error(struct uroce_qpc *qpc, enum ibv_wc_status status,
				 uint32_t vendor_err, uint64_t now_ns);

/**
 * Make a CQ entry for a successful SEND of the peer, with all fields that do not depend on the
 * message.
 */
struct uroce_cqe uroce_completion_recv_template(const struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Add the completion of a receive request to the open batch, for a SEND of one packet without
 * immediate data. The caller removes the request from the receive queue. The QP must not have an
 * SRQ.
 * @return false: the CQ is full, and uroce_completion_recv() would also fail
 */
static inline bool
uroce_completion_recv_next(struct uroce_qpc *qpc, const struct uroce_cqe *tmpl,
			   const struct uroce_recv_wqe *wqe, const struct uroce_pkt *pkt)
{
	assert(qpc->is_recv_open);
	struct uroce_cqe *cqe = uroce_cq_put_copy(qpc->recv_cq, tmpl);

	if (!cqe)
		return false;
	cqe->wr_id = wqe->wr_id;
	cqe->byte_len = pkt->payload_len;
	cqe->is_solicited = pkt->is_solicited;
	return true;
}

/** End the batch of receive completions, if one is open. */
void uroce_completion_recv_end(struct uroce_qpc *qpc);

/**
 * Flush the send and the receive queue: every request completes with IBV_WC_WR_FLUSH_ERR, in order.
 * If the oldest send request has failed, it completes with its own status. While a port transmits
 * from memory of send requests, the send queue is not flushed.
 */
void uroce_completion_flush(struct uroce_qpc *qpc, uint64_t now_ns);

/** Flush the send queue but not the receive queue, as the QP state SQE requires. */
void uroce_completion_flush_sq(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_COMPLETION_H */
