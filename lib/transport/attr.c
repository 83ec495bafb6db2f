/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that modify and query the attributes of a QP [IBA 11.2.5.2, 11.2.5.3]. refusal.c
 * checks a modify completely before the first attribute changes.
 */
#include "transport/qpc.h"

#include <errno.h>
#include <string.h>

#include "transport/requester/completer.h"
#include "transport/completion.h"
#include "transport/recovery/loss_recovery.h"
#include "transport/requester/req.h"
#include "transport/requester/requester.h"
#include "transport/responder/resp.h"
#include "transport/recovery/retry.h"

/*
 * Minimum of the requester's window in packets: uroce_qpc_limits.window_bytes does not reduce a
 * window below this number.
 */
#define WINDOW_MIN 8u

/*
 * Copy an attribute from `from` to `to` if its bit is set in the attribute mask of ibv_modify_qp().
 */
#define COPY(bit, field) COPY_AS(bit, field, field)
#define COPY_AS(bit, to_field, field)                                                              \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->to_field = (__typeof__(to->to_field))from->field;                      \
	} while (0)

static void
copy_attrs(struct uroce_qpc_attr *to, const struct ibv_qp_attr *from, int mask)
{
	COPY(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	COPY(IBV_QP_PKEY_INDEX, pkey_index);
	COPY(IBV_QP_PORT, port_num);
	COPY(IBV_QP_AV, ah_attr);
	COPY(IBV_QP_PATH_MTU, path_mtu);
	COPY(IBV_QP_TIMEOUT, timeout);
	COPY(IBV_QP_RETRY_CNT, retry_cnt);
	COPY(IBV_QP_RNR_RETRY, rnr_retry);
	COPY(IBV_QP_RQ_PSN, rq_psn);
	COPY(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(IBV_QP_ALT_PATH, alt_ah_attr);
	COPY(IBV_QP_ALT_PATH, alt_pkey_index);
	COPY(IBV_QP_ALT_PATH, alt_port_num);
	COPY(IBV_QP_ALT_PATH, alt_timeout);
	COPY(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(IBV_QP_SQ_PSN, sq_psn);
	COPY(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(IBV_QP_PATH_MIG_STATE, path_mig_state);
}

static void
copy_identity(struct uroce_qpc *to, const struct ibv_qp_attr *from, int mask)
{
	COPY_AS(IBV_QP_ACCESS_FLAGS, access, qp_access_flags);
	COPY_AS(IBV_QP_QKEY, qkey, qkey);
	COPY_AS(IBV_QP_DEST_QPN, dest_qpn, dest_qp_num);
}

/*
 * Get the size of a READ chunk in PSNs: at least UROCE_READ_CHUNK_PSNS, and so large that
 * max_rd_atomic chunks fill the requester's window.
 */
static uint16_t
chunk_of(uint16_t window_psns, uint8_t max_rd_atomic)
{
	const unsigned nb = max_rd_atomic ? max_rd_atomic : 1;
	const unsigned share = (window_psns + nb - 1) / nb;

	return (uint16_t)(share > UROCE_READ_CHUNK_PSNS ? share : UROCE_READ_CHUNK_PSNS);
}

/*
 * Reduce the requester's window to the number of full packets that uroce_qpc_limits.window_bytes
 * allows, but not below WINDOW_MIN. Also limit the size of a READ chunk, so that its response
 * packets fit into the window.
 */
static void
limit_window(struct uroce_qpc *qpc)
{
	const uint32_t nb = qpc->limits->window_bytes >> qpc->mtu_shift;

	if (qpc->limits->window_bytes == 0)
		return;
	if (qpc->window_psns > nb)
		qpc->window_psns = (uint16_t)(nb > WINDOW_MIN ? nb : WINDOW_MIN);
	if (qpc->chunk_psns > qpc->window_psns)
		qpc->chunk_psns = qpc->window_psns;
}

/*
 * Compute the fields of the context that depend on attributes and are used for each packet. The
 * function is called after attributes have changed.
 */
static void
derive_packet_fields(struct uroce_qpc *qpc)
{
	const struct uroce_qpc_attr *attr = &qpc->attr;
	/* a UD QP has no attribute path_mtu, so the MTU of the port is used */
	const unsigned mtu = qpc->type == IBV_QPT_UD ? qpc->limits->active_mtu : attr->path_mtu;

	qpc->pkey = qpc->pkeys[attr->pkey_index];
	qpc->hdr_template.payload_len = UROCE_HDR_TEMPLATE_NONE;
	/* log2 of the MTU is the value of the enum plus 7: IBV_MTU_256 is 1 */
	qpc->mtu_shift = (uint8_t)(mtu + 7);
	qpc->chunk_psns = chunk_of(qpc->window_psns, attr->max_rd_atomic);
	if (mtu > 0)
		limit_window(qpc);
}

/*
 * Lock the send and the receive queue against posts. The function does not wait for a thread that
 * is posting, because an application may keep a queue locked for any time between ibv_wr_start()
 * and ibv_wr_complete().
 * @return false: another thread is posting, and neither queue is locked
 */
static bool
close_queues(struct uroce_qpc *qpc)
{
	if (qpc->sq && !uroce_lock_try(&qpc->sq->lock))
		return false;
	if (!qpc->rq || uroce_lock_try(&qpc->rq->lock))
		return true;
	if (qpc->sq)
		uroce_lock_release(&qpc->sq->lock);
	return false;
}

/* Empty the send and the receive queue of a QP, and unlock them. */
static void
reset_queues(struct uroce_qpc *qpc)
{
	struct uroce_wq *queues[] = { qpc->rq, qpc->sq };

	for (int i = 0; i < 2; i++) {
		if (!queues[i])
			continue;
		uroce_ring_reset(&queues[i]->ring);
		uroce_lock_release(&queues[i]->lock);
	}
}

/* XRC: remove the completions of this QP from the CQs of all SRQs in its XRC domain. */
static void
forget_srqs(struct uroce_qpc *qpc)
{
	for (uint32_t srqn = 1; srqn <= qpc->srqs->nb_slots; srqn++) {
		const struct uroce_srq *srq = uroce_srq_table_find(qpc->srqs, srqn);

		if (srq && srq->xrcd == qpc->xrcd)
			uroce_cq_purge(srq->cq, qpc->cookie);
	}
	qpc->srq = NULL;
	qpc->pdn = 0;
}

/* Reset the context: clear its attributes, queues, completions and the state of both roles. */
static void
reset_context(struct uroce_qpc *qpc)
{
	reset_queues(qpc);
	if (qpc->send_cq)
		uroce_cq_purge(qpc->send_cq, qpc->cookie);
	if (qpc->recv_cq && qpc->recv_cq != qpc->send_cq)
		uroce_cq_purge(qpc->recv_cq, qpc->cookie);
	qpc->attr = (struct uroce_qpc_attr){ 0 };
	qpc->access = 0;
	qpc->qkey = 0;
	qpc->dest_qpn = 0;
	qpc->is_established = false;
	qpc->end_status = 0;
	qpc->end_vendor_err = 0;
	uroce_cc_stop(&qpc->cc);
	uroce_req_reset(qpc);
	uroce_resp_reset(qpc);
	if (qpc->srqs)
		forget_srqs(qpc);
}

/* Change the state of a QP, and perform the actions of the transition. */
static void
enter_state(struct uroce_qpc *qpc, enum ibv_qp_state from, enum ibv_qp_state to, uint64_t now_ns)
{
	uroce_qpc_set_state(qpc, to);
	switch (to) {
	case IBV_QPS_RESET:
		reset_context(qpc);
		break;
	case IBV_QPS_RTR:
		uroce_resp_reset(qpc);
		break;
	case IBV_QPS_RTS:
		if (from == IBV_QPS_RTR)
			uroce_requester_start(qpc);
		if (from == IBV_QPS_SQE) {
			/* flush the requests that were posted while the QP was in SQE */
			uroce_completion_flush_sq(qpc, now_ns);
			uroce_requester_resume(qpc);
		}
		qpc->req.is_draining = false;
		break;
	case IBV_QPS_SQD:
		qpc->req.is_draining = qpc->req.is_draining || from == IBV_QPS_RTS;
		uroce_completer_check_drained(qpc);
		break;
	case IBV_QPS_ERR:
		uroce_qpc_set_state(qpc, from);
		uroce_qpc_fail(qpc, now_ns);
		break;
	case IBV_QPS_INIT:
	case IBV_QPS_SQE:
	case IBV_QPS_UNKNOWN:
		break;
	}
}

/*
 * Set the path of the QP. If the QP reacts to CNPs, its packets are marked as ECN-capable,
 * regardless of the ECN bits of the traffic class [RFC 3168].
 */
static void
set_path(struct uroce_qpc *qpc, const struct uroce_path *path)
{
	const uint8_t tclass = uroce_path_tclass(path);

	qpc->path = *path;
	if (uroce_cc_is_reacting(&qpc->cc))
		uroce_path_set_tclass(&qpc->path,
				      (uint8_t)((tclass & ~UROCE_ECN_MASK) | UROCE_ECN_ECT0));
}

int
uroce_qpc_modify(struct uroce_qpc *qpc, const struct ibv_qp_attr *attr, int mask,
		 const struct uroce_path *path, uint64_t now_ns)
{
	const enum ibv_qp_state from = (enum ibv_qp_state)qpc->state;
	const enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

	if (uroce_qpc_modify_check(qpc, attr, mask) || ((mask & IBV_QP_AV) && !path))
		return -EINVAL;
	if ((mask & IBV_QP_STATE) && to == IBV_QPS_RESET && !close_queues(qpc))
		return -EAGAIN;
	/* IBV_EVENT_SQ_DRAINED is raised only if the modify to SQD requests the event */
	if (from == IBV_QPS_RTS && to == IBV_QPS_SQD)
		qpc->attr.en_sqd_async_notify = 0;
	if (from != to)
		qpc->is_stopped = false;
	copy_attrs(&qpc->attr, attr, mask);
	copy_identity(qpc, attr, mask);
	if (mask & IBV_QP_AV)
		set_path(qpc, path);
	/*
	 * A new path may lead to another host. So everything that loss recovery has learnt about
	 * the peer, such as the round-trip time, is discarded.
	 */
	if ((mask & IBV_QP_AV) && from == IBV_QPS_SQD)
		uroce_loss_recovery_start(qpc);
	if (mask & (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY))
		uroce_retry_refill(qpc);
	enter_state(qpc, from, to, now_ns);
	derive_packet_fields(qpc);
	return 0;
}

int
uroce_qpc_set_cc(struct uroce_qpc *qpc, const struct uroce_cc_conf *conf)
{
	if (qpc->type == IBV_QPT_UD || qpc->state > IBV_QPS_INIT)
		return -EINVAL;
	uroce_cc_init(&qpc->cc, conf);
	return 0;
}

void
uroce_qpc_query(const struct uroce_qpc *qpc, struct ibv_qp_attr *attr)
{
	const struct uroce_qpc_attr *from = &qpc->attr;

	/*
	 * memset() also clears the padding between fields, so that callers can compare attributes
	 * with memcmp()
	 */
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = (enum ibv_qp_state)qpc->state;
	attr->cur_qp_state = (enum ibv_qp_state)qpc->state;
	attr->path_mtu = (enum ibv_mtu)from->path_mtu;
	attr->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
	attr->qkey = qpc->qkey;
	attr->rq_psn = from->rq_psn;
	attr->sq_psn = from->sq_psn;
	attr->dest_qp_num = qpc->dest_qpn;
	attr->qp_access_flags = (unsigned)qpc->access;
	attr->ah_attr = from->ah_attr;
	attr->alt_ah_attr = from->alt_ah_attr;
	attr->pkey_index = from->pkey_index;
	attr->alt_pkey_index = from->alt_pkey_index;
	attr->en_sqd_async_notify = from->en_sqd_async_notify;
	attr->sq_draining = qpc->state == IBV_QPS_SQD && qpc->req.is_draining;
	attr->max_rd_atomic = from->max_rd_atomic;
	attr->max_dest_rd_atomic = from->max_dest_rd_atomic;
	attr->min_rnr_timer = from->min_rnr_timer;
	attr->port_num = from->port_num;
	attr->timeout = from->timeout;
	attr->retry_cnt = from->retry_cnt;
	attr->rnr_retry = from->rnr_retry;
	attr->alt_port_num = from->alt_port_num;
	attr->alt_timeout = from->alt_timeout;
	if (qpc->state >= IBV_QPS_RTR && qpc->state <= IBV_QPS_SQE)
		attr->rq_psn = qpc->resp.epsn;
	if (qpc->state >= IBV_QPS_RTS && qpc->state <= IBV_QPS_SQE)
		attr->sq_psn = qpc->req.max_psn;
}
