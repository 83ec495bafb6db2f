/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local requests, such as the bind of a memory window, have no packets and no PSNs [IBA 10.6.7,
 * 11.4.1.1]. They are executed when the send position (the next packet to send) reaches them:
 * before any request behind them is sent, and, with a fence, after all earlier READs and atomics
 * have ended. They complete in order, like all requests. When loss recovery sets the send position
 * back, and it passes a local request again, the request is not executed again.
 *
 * A cancelled request becomes a local request that does nothing.
 */
#include "transport/requester/local.h"

#include "mem/mkey.h"
#include "mem/mw.h"

/*
 * Execute a request that configures an mkey. The request was checked completely when it was posted.
 */
static int
configure_mkey(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe)
{
	return uroce_mkey_configure(qpc->mrs, wqe->rkey, qpc->pdn, uroce_send_wqe_data(wqe));
}

static int
invalidate_local(struct uroce_qpc *qpc, uint32_t rkey)
{
	return uroce_mw_invalidate(qpc->mrs, rkey, qpc->pdn, qpc->qpn)
		       ? uroce_mkey_invalidate(qpc->mrs, rkey, qpc->pdn, false)
		       : 0;
}

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
	else if (wqe->opcode == IBV_WR_DRIVER1)
		ret = configure_mkey(qpc, wqe);
	else
		ret = invalidate_local(qpc, wqe->imm);
	if (ret)
		/* the status for a memory management operation error [IBA 11.6.2] */
		return IBV_WC_MW_BIND_ERR;
	wqe->flags |= UROCE_WQE_EXECUTED;
	qpc->req.is_local_done = true;
	return IBV_WC_SUCCESS;
}
