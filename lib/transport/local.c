/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local requests [IBA 10.6.7, 11.4.1.1]: they have no packets and no PSNs, and are done when the
 * requester's position comes to them: before anything behind them is sent, and, with a fence, after
 * all READs and atomics before them have ended. They complete in order, as all requests do. When the
 * requester goes back over one, it is not done again.
 *
 * A request that was cancelled is a local one that does nothing.
 */
#include "transport/role.h"

#include <errno.h>

#include "mem/mw.h"

static int
bind_window(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	const struct uroce_mw_bind bind = {
		.rkey = wqe->rkey,
		.mr_key = wqe->bind.mr_key,
		.addr = wqe->remote_addr,
		.len = wqe->bind.len,
		.access = wqe->bind.access,
		.pdn = qpc->pdn,
		.qpn = qpc->qpn,
	};

	return uroce_mw_bind(qpc->mrs, &bind);
}

enum ibv_wc_status
uroce_local_execute(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe)
{
	int ret = 0;

	if (wqe->flags & (UROCE_WQE_CANCELLED | UROCE_WQE_EXECUTED))
		ret = 0;
	else if (wqe->opcode == IBV_WR_BIND_MW)
		ret = bind_window(qpc, wqe);
	else
		ret = uroce_mw_invalidate(qpc->mrs, wqe->imm, qpc->pdn, qpc->qpn);
	if (ret)
		return IBV_WC_MW_BIND_ERR; /* memory management operation error [IBA 11.6.2] */
	wqe->flags |= UROCE_WQE_EXECUTED;
	qpc->req.is_local_done = true;
	return IBV_WC_SUCCESS;
}

int
uroce_qpc_cancel(struct uroce_qpc *qpc, uint64_t wr_id)
{
	int nb = 0;

	if (qpc->state != IBV_QPS_SQD)
		return -EINVAL;
	if (!qpc->sq) /* an XRC target has nothing to cancel */
		return 0;
	const uint32_t head = uroce_ring_head(&qpc->sq->ring);

	for (uint32_t idx = qpc->req.begun_idx; idx != head; idx++) {
		struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, idx);

		if (wqe->wr_id != wr_id || wqe->flags & UROCE_WQE_CANCELLED)
			continue;
		wqe->flags |= UROCE_WQE_LOCAL | UROCE_WQE_CANCELLED;
		nb++;
	}
	return nb;
}
