/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelling posted send requests [mlx5dv_qp_cancel_posted_send_wrs(3)]. The QP's worker cancels
 * the requests, because it reads the send queue.
 */

#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce_dv.h"

struct cancellation {
	struct uroce_qpc *qpc;
	uint64_t wr_id;
};

static int
apply_cancellation(void *arg)
{
	const struct cancellation *const cancellation = arg;

	return uroce_qpc_cancel(cancellation->qpc, cancellation->wr_id);
}

int
uroce_qp_cancel_posted_send_wrs(struct ibv_qp *ibv, uint64_t wr_id)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);

	const int ret = uroce_vqp_check_any(ibv);

	if (ret != 0)
		return -uroce_errno_ret(ret);
	struct cancellation cancellation = { .qpc = &qp->wqp.qpc, .wr_id = wr_id };
	const int nb =
		uroce_worker_call(qp->wqp.worker, &qp->wqp, apply_cancellation, &cancellation);

	return nb < 0 ? -uroce_fail(-nb) : nb;
}
