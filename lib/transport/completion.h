/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COMPLETION_H
#define UROCE_TRANSPORT_COMPLETION_H

/**
 * @file
 * Completing requests: from work queue entries to completion queue entries.
 *
 * Send completions come in batches (one acknowledgement retires many requests), so they are
 * bracketed by begin and end. Receive completions come one by one, as packets do: the first opens a
 * batch, which ends with the run of packets, or before anything else is done to a CQ. What the
 * consumer of a CQ is to be told is left in the context's `events`.
 */

#include "transport/context.h"

/** Begin a batch of send completions. */
void uroce_completion_send_begin(struct uroce_qpc *qpc);

/** Complete a send request; one that succeeds unsignaled leaves no entry. Does not pop it. */
void uroce_completion_send(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe,
			   enum ibv_wc_status status, uint32_t vendor_err, uint64_t now_ns);

/** End the batch: the application sees it, now or when it is published. */
void uroce_completion_send_end(struct uroce_qpc *qpc);

/**
 * Complete the receive request that is in use, and give its slot back. There is one, and it was asked
 * for (uroce_recv_current). The application sees it after uroce_completion_recv_end().
 * @return the entry, a success that says nothing of the message yet: the caller's to go on with; NULL:
 *	the CQ is overrun
 */
struct uroce_cqe *uroce_completion_recv(struct uroce_qpc *qpc, enum ibv_wc_opcode opcode,
					uint64_t now_ns);

/** The same, in an error. */
void uroce_completion_recv_error(struct uroce_qpc *qpc, enum ibv_wc_status status,
				 uint32_t vendor_err, uint64_t now_ns);

/** The entry of a SEND that succeeded, in all that does not depend on the message. */
struct uroce_cqe uroce_completion_recv_template(const struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Into the open batch: this request, which the caller takes off the queue itself, met a SEND of one
 * packet without immediate data. The QP has a receive queue of its own.
 * @return false: the CQ is full, as uroce_completion_recv() will find, too
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
 * Flush both queues: every request completes with IBV_WC_WR_FLUSH_ERR, in order; the oldest of the send
 * queue in its own status, if it has failed. While a port refers to memory of theirs the send queue stays.
 */
void uroce_completion_flush(struct uroce_qpc *qpc, uint64_t now_ns);

/** Flush the send queue alone (SQE). */
void uroce_completion_flush_sq(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_COMPLETION_H */
