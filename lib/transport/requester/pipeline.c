/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signature pipelining [mlx5dv_qp_cancel_posted_send_wrs(3)]. An application posts a transfer whose
 * data is checked on the way. Behind the transfer, with a fence, the application posts the SEND
 * that reports success. If a signature is bad, the requester stops before the fence, in SQD, and
 * the application cancels that SEND before it resumes the QP. As always in SQD, requests that were
 * begun are finished, and no others are begun.
 */
#include "transport/requester/pipeline.h"

#include <errno.h>

#include "transport/requester/position.h"
#include "transport/qpc.h"

/*
 * Whether the newest request that was begun has sent no packet yet, because it waits at its fence.
 */
static bool
is_at_fence(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;
	const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->begun_idx - 1);

	return req->begun_idx != req->una_idx && wqe->first_psn == req->max_psn &&
	       !(wqe->flags & UROCE_WQE_EXECUTED);
}

void
uroce_pipeline_stop(struct uroce_qpc *qpc)
{
	struct uroce_req *req = &qpc->req;

	if (!qpc->is_pipelined || (qpc->state != IBV_QPS_RTS && qpc->state != IBV_QPS_SQD))
		return;
	uroce_qpc_set_state(qpc, IBV_QPS_SQD);
	qpc->is_stopped = true;
	req->is_draining = true;
	if (!is_at_fence(qpc))
		return;
	req->begun_idx--;
	/*
	 * Clear `fault`, the status with which a request that cannot be sent will fail. It may be
	 * the status of the request at the fence, which now counts as not begun. The error is found
	 * again when the request is sent, unless the request is cancelled.
	 */
	req->fault = 0;
}

int
uroce_qpc_cancel(struct uroce_qpc *qpc, uint64_t wr_id)
{
	int nb = 0;

	if (qpc->state != IBV_QPS_SQD)
		return -EINVAL;
	if (!qpc->sq) /* an XRC target has no send queue */
		return 0;
	const uint32_t head = uroce_ring_head(&qpc->sq->ring);

	for (uint32_t idx = qpc->req.begun_idx; idx != head; idx++) {
		struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, idx);

		if (wqe->wr_id != wr_id || wqe->flags & UROCE_WQE_CANCELLED)
			continue;
		wqe->flags |= UROCE_WQE_LOCAL | UROCE_WQE_CANCELLED;
		wqe->flags &= (uint8_t)~UROCE_WQE_SEND;
		nb++;
	}
	return nb;
}
