/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: modifying, querying and destroying them. The QP's worker executes each change of the
 * QP context. Before that, the calling thread resolves the peer's MAC, which may take long.
 */

#include <errno.h>
#include <sched.h>

#include "datapath/clock.h"
#include "datapath/log.h"
#include "transport/mcast.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/qp_log.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"
#include "verbs/xrc.h"

/* Arguments of uroce_modify_qp(), which the calling thread passes to the QP's worker. */
struct change {
	struct uroce_worker_qp *wqp;
	const struct ibv_qp_attr *attr;
	int mask;
	/* path of the new address vector; NULL: the call sets no address vector */
	const struct uroce_path *path;
	/* output: reason why the modify call was refused, if it was refused */
	struct uroce_refusal refusal;
};

static int
apply_change(void *arg)
{
	struct change *const change = arg;
	const int ret = uroce_qpc_modify(&change->wqp->qpc, change->attr, change->mask,
					 change->path, uroce_clock_ns());

	/*
	 * If the device is attached to uroced, uroced must know the QP's peer before the program
	 * can notify the peer that the QP receives.
	 */
	if (ret == 0)
		uroce_worker_qp_bind(change->wqp);
	else if (ret == -EINVAL)
		change->refusal = uroce_refusal_of(&change->wqp->qpc, change->attr, change->mask);
	return ret;
}

/*
 * A modify call that is checked before the neighbour is resolved, so that an invalid call does not
 * wait for the neighbour.
 */
struct modify_query {
	const struct uroce_qpc *qpc;
	const struct ibv_qp_attr *attr;
	int mask;
	uint32_t dest_qpn; /* output: destination QPN that the QP will have after the modify call */
	/*
	 * output: reason why the modify call will be refused; UROCE_REFUSAL_NONE: it will not be
	 * refused
	 */
	struct uroce_refusal refusal;
};

static int
query_modify(void *arg)
{
	struct modify_query *const modify_query = arg;

	modify_query->dest_qpn = modify_query->mask & IBV_QP_DEST_QPN
					 ? modify_query->attr->dest_qp_num
					 : modify_query->qpc->dest_qpn;
	modify_query->refusal =
		uroce_refusal_of(modify_query->qpc, modify_query->attr, modify_query->mask);
	return modify_query->refusal.reason == UROCE_REFUSAL_NONE ? 0 : -EINVAL;
}

/*
 * Find the path to the peer. The call waits for the neighbour's ARP or ND response, so the caller
 * must not hold a lock.
 */
static int
resolve_path(struct ibv_context *context, struct uroce_vqp *qp, const struct ibv_qp_attr *attr,
	     int mask, struct uroce_path *path)
{
	struct modify_query modify_query = { .qpc = &qp->wqp.qpc, .attr = attr, .mask = mask };
	int ret = uroce_worker_qp_query(&qp->wqp, query_modify, &modify_query);

	if (ret != 0) {
		uroce_qp_log_refusal(qp, &modify_query.refusal);
		return ret;
	}
	if (uroce_gid_is_multicast(attr->ah_attr.grh.dgid.raw)) {
		UROCE_LOG_LIMITED(WARNING, qp,
				  "qp 0x%x: modify refused: the destination is a multicast group: "
				  "allowed is one peer, except for UD",
				  qp->ibv.qp_num);
		return -EINVAL;
	}
	ret = uroce_dev_resolve(uroce_vcontext_dev(context), &attr->ah_attr,
				uroce_sport(&attr->ah_attr, qp->ibv.qp_num, modify_query.dest_qpn),
				path);
	if (ret != 0)
		uroce_qp_log_no_path(qp, &attr->ah_attr, ret);
	return ret;
}

/*
 * Set the QP state in the struct that the program sees. If several threads modify the QP, the call
 * that returns last determines this state.
 */
static void
tell_state(struct ibv_qp *ibv, enum ibv_qp_state state)
{
	__atomic_store_n(&ibv->state, state, __ATOMIC_RELAXED);
}

/*
 * Whether a call of uroce_modify_qp() makes the QP stop or start receiving from its peer. The QP
 * stops receiving all packets in ERR and RESET, and responses in SQD. It starts receiving in RTR.
 * Frames that arrived before such a change must be processed in the old state.
 */
static bool
ends_life(const struct ibv_qp_attr *attr, int mask)
{
	const unsigned states =
		1u << IBV_QPS_ERR | 1u << IBV_QPS_RESET | 1u << IBV_QPS_SQD | 1u << IBV_QPS_RTR;

	return mask & IBV_QP_STATE && attr->qp_state < 32u && states >> attr->qp_state & 1;
}

static int
apply_modify(struct uroce_vqp *qp, struct change *change)
{
	if (ends_life(change->attr, change->mask))
		return uroce_worker_qp_quiesce(&qp->wqp, apply_change, change);
	return uroce_worker_call(qp->wqp.worker, &qp->wqp, apply_change, change);
}

int
uroce_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);
	struct uroce_path path;
	int ret;

	ret = uroce_vqp_check_any(ibv);
	if (ret != 0)
		return uroce_errno_ret(ret);
	if (attr == NULL)
		return uroce_fail(EINVAL);
	if (attr_mask & IBV_QP_AV) {
		ret = resolve_path(ibv->context, qp, attr, attr_mask, &path);
		if (ret != 0)
			return uroce_errno_ret(ret);
	}
	struct change change = {
		.wqp = &qp->wqp,
		.attr = attr,
		.mask = attr_mask,
		.path = attr_mask & IBV_QP_AV ? &path : NULL,
	};

	/*
	 * -EAGAIN means that a thread is posting and holds the lock of a queue, between
	 * ibv_wr_start() and ibv_wr_complete() for an unlimited time. The calling thread then tries
	 * again, because the worker must not wait.
	 */
	while ((ret = apply_modify(qp, &change)) == -EAGAIN)
		sched_yield();
	if (ret == -EINVAL)
		uroce_qp_log_refusal(qp, &change.refusal);
	if (ret != 0)
		return uroce_errno_ret(ret);
	uroce_qp_log_modified(qp, attr, attr_mask);
	if (!(attr_mask & IBV_QP_STATE))
		return 0;
	tell_state(ibv, attr->qp_state);
	/*
	 * After a reset, the memory of the posted requests belongs to the program. So the port must
	 * release this memory first.
	 */
	if (attr->qp_state == IBV_QPS_RESET)
		uroce_dev_reclaim_qp(uroce_vcontext_dev(ibv->context), &qp->wqp);
	return 0;
}

struct question {
	const struct uroce_qpc *qpc;
	struct ibv_qp_attr *attr;
};

static int
answer_question(void *arg)
{
	const struct question *const question = arg;

	uroce_qpc_query(question->qpc, question->attr);
	return 0;
}

int
uroce_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
	       struct ibv_qp_init_attr *init_attr)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);

	/*
	 * `attr_mask` is ignored and all attributes are returned, because reading fewer would not
	 * be faster.
	 */
	(void)attr_mask;
	const int ret = uroce_vqp_check_any(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (attr == NULL || init_attr == NULL)
		return uroce_fail(EINVAL);
	struct question question = { .qpc = &qp->wqp.qpc, .attr = attr };

	(void)uroce_worker_qp_query(&qp->wqp, answer_question, &question);
	attr->cap = qp->cap;
	tell_state(ibv, attr->qp_state);
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq.is_all_signaled,
	};
	return 0;
}

int
uroce_destroy_qp(struct ibv_qp *ibv)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);
	const int ret = uroce_vqp_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (qp->target == NULL)
		return uroce_errno_ret(uroce_vqp_destroy(qp));
	uroce_target_close(qp);
	return 0;
}
