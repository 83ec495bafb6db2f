/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: modified, asked, destroyed. What changes a context is done as its worker; what takes time
 * (finding the peer's MAC) is done before, by the caller.
 */

#include <errno.h>
#include <sched.h>

#include "datapath/clock.h"
#include "transport/mcast.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"
#include "verbs/xrc.h"

/* A modify or a query on its way to the worker. */
struct change {
	struct uroce_worker_qp *wqp;
	const struct ibv_qp_attr *attr;
	int mask;
	const struct uroce_path *path; /* NULL: no address vector */
};

static int
apply_change(void *arg)
{
	const struct change *const change = arg;
	const int ret = uroce_qpc_modify(&change->wqp->qpc, change->attr, change->mask,
					 change->path, uroce_clock_ns());

	/* before the program can tell the peer that the QP receives */
	if (ret == 0)
		uroce_worker_qp_bind(change->wqp);
	return ret;
}

/* What is asked before the neighbour is, so that nobody waits for an answer to a bad question. */
struct doubt {
	const struct uroce_qpc *qpc;
	const struct ibv_qp_attr *attr;
	int mask;
	uint32_t dest_qpn; /* out: as it will be */
};

static int
check_doubt(void *arg)
{
	struct doubt *const doubt = arg;

	doubt->dest_qpn =
		doubt->mask & IBV_QP_DEST_QPN ? doubt->attr->dest_qp_num : doubt->qpc->dest_qpn;
	return uroce_qpc_modify_check(doubt->qpc, doubt->attr, doubt->mask);
}

/* The path to the peer; waits for the neighbour's answer, so no lock may be held. */
static int
resolve_path(struct ibv_context *context, struct uroce_vqp *qp, const struct ibv_qp_attr *attr,
	     int mask, struct uroce_path *path)
{
	struct doubt doubt = { .qpc = &qp->wqp.qpc, .attr = attr, .mask = mask };
	const int ret = uroce_worker_qp_query(&qp->wqp, check_doubt, &doubt);

	if (ret != 0)
		return ret;
	if (uroce_gid_is_multicast(attr->ah_attr.grh.dgid.raw))
		return -EINVAL; /* a connection has one peer */
	return uroce_dev_resolve(uroce_vcontext_dev(context), &attr->ah_attr,
				 uroce_sport(&attr->ah_attr, qp->ibv.qp_num, doubt.dest_qpn), path);
}

/* What the program's struct says: of the call that came back last. */
static void
tell_state(struct ibv_qp *ibv, enum ibv_qp_state state)
{
	__atomic_store_n(&ibv->state, state, __ATOMIC_RELAXED);
}

/*
 * Whether the QP stops hearing its peer (in ERR and RESET, and what it asked for in SQD), or begins to (in RTR): what was
 * sent to it before is of its life until now.
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

/* One without a context is not looked at: it may be shorter than ours. */
static int
check_qp(const struct ibv_qp *ibv)
{
	return ibv == NULL || ibv->context == NULL ? -EINVAL : uroce_vqp_check(ibv);
}

int
uroce_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);
	struct uroce_path path;
	int ret;

	ret = check_qp(ibv);
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

	/* a poster may be at work for as long as its program likes: it is waited for here, not by the worker */
	while ((ret = apply_modify(qp, &change)) == -EAGAIN)
		sched_yield();
	if (ret != 0)
		return uroce_errno_ret(ret);
	if (!(attr_mask & IBV_QP_STATE))
		return 0;
	tell_state(ibv, attr->qp_state);
	/* what was posted is the application's again */
	if (attr->qp_state == IBV_QPS_RESET)
		uroce_dev_reclaim_qp(uroce_vcontext_dev(ibv->context), &qp->wqp);
	return 0;
}

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

	const int ret = check_qp(ibv);

	if (ret != 0)
		return -uroce_errno_ret(ret);
	struct cancellation cancellation = { .qpc = &qp->wqp.qpc, .wr_id = wr_id };
	const int nb =
		uroce_worker_call(qp->wqp.worker, &qp->wqp, apply_cancellation, &cancellation);

	return nb < 0 ? -uroce_fail(-nb) : nb;
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

	(void)attr_mask; /* all of them cost the same */
	const int ret = check_qp(ibv);

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
