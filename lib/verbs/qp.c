/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs. A QP is one piece of memory: the verbs object, the transport's context and the
 * worker's record in it, and behind them the slots of both queues. What changes a context is done
 * as its worker; what takes time (finding the peer's MAC) is done before, by the caller.
 */

#include <errno.h>
#include <rte_common.h>

#include "datapath/clock.h"
#include "datapath/hugemem.h"
#include "mem/sge.h"
#include "transport/mcast.h"
#include "verbs/event.h"
#include "verbs/object.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"

/* Granted without being asked for: some programs do not ask, and send inline. */
#define INLINE_MIN  64u

#define BIT(opcode) (1u << IBV_WR_##opcode)

/* What may be posted to a send queue [IBA table 57]. */
static const uint32_t opcodes[] = {
	[IBV_QPT_RC] = BIT(SEND) | BIT(SEND_WITH_IMM) | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) |
		       BIT(RDMA_READ) | BIT(ATOMIC_CMP_AND_SWP) | BIT(ATOMIC_FETCH_AND_ADD) |
		       BIT(SEND_WITH_INV) | BIT(LOCAL_INV) | BIT(BIND_MW) |
		       1u << UROCE_DV_WR_FLUSH | 1u << UROCE_DV_WR_ATOMIC_WRITE,
	[IBV_QPT_UC] = BIT(SEND) | BIT(SEND_WITH_IMM) | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) |
		       BIT(LOCAL_INV) | BIT(BIND_MW),
	[IBV_QPT_UD] = BIT(SEND) | BIT(SEND_WITH_IMM),
};

static bool
is_type(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

static int
check_init(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	const struct ibv_qp_cap *const cap = &init->cap;

	if (init->qp_type == IBV_QPT_XRC_SEND || init->qp_type == IBV_QPT_XRC_RECV ||
	    init->qp_type == IBV_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	if (!is_type(init->qp_type) || init->send_cq == NULL || init->recv_cq == NULL ||
	    init->send_cq->context != pd->context || init->recv_cq->context != pd->context)
		return -EINVAL;
	if (init->srq != NULL &&
	    (init->srq->context != pd->context || uroce_vsrq(init->srq)->srqr.srq.cq != NULL))
		return -EINVAL;
	if (cap->max_send_wr > UROCE_MAX_QP_WR || cap->max_recv_wr > UROCE_MAX_QP_WR ||
	    cap->max_send_sge > UROCE_SGE_MAX || cap->max_recv_sge > UROCE_SGE_MAX ||
	    cap->max_inline_data > UROCE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* What is given: no less than was asked for, and what the slots hold anyway. */
static struct ibv_qp_cap
granted(const struct ibv_qp_cap *asked, bool has_rq)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = RTE_MAX(asked->max_send_wr, 1u),
		.max_recv_wr = has_rq ? RTE_MAX(asked->max_recv_wr, 1u) : 0,
		.max_send_sge = RTE_MAX(asked->max_send_sge, 1u),
		.max_recv_sge = has_rq ? RTE_MAX(asked->max_recv_sge, 1u) : 0,
	};
	const uint32_t list_len = cap.max_send_sge * (uint32_t)sizeof(struct ibv_sge);

	cap.max_inline_data = RTE_MAX(RTE_MAX(asked->max_inline_data, INLINE_MIN), list_len);
	return cap;
}

/*
 * QPs that are made one after the other lie side by side. If that is a power of two apart, what is read of
 * each is in the same few sets of the caches, and is gone when it is wanted again.
 */
static size_t
odd_lines(size_t len)
{
	const size_t nb_lines = RTE_CACHE_LINE_ROUNDUP(len) / RTE_CACHE_LINE_SIZE;

	return (nb_lines | 1) * RTE_CACHE_LINE_SIZE;
}

/* The object with its queues behind it. */
static struct uroce_vqp *
alloc_qp(const struct ibv_qp_cap *cap, bool has_path, int socket_id)
{
	const uint32_t send_stride =
		uroce_send_wqe_stride(cap->max_send_sge, cap->max_inline_data, has_path);
	const uint32_t recv_stride = uroce_recv_wqe_stride(cap->max_recv_sge);
	const size_t sq_at = RTE_CACHE_LINE_ROUNDUP(sizeof(struct uroce_vqp));
	const size_t rq_at =
		RTE_CACHE_LINE_ROUNDUP(sq_at + uroce_ring_memsize(cap->max_send_wr, send_stride));
	const size_t rq_len =
		cap->max_recv_wr > 0 ? uroce_ring_memsize(cap->max_recv_wr, recv_stride) : 0;
	struct uroce_vqp *const qp = uroce_hugemem_alloc(odd_lines(rq_at + rq_len), socket_id);

	if (qp == NULL)
		return NULL;
	uroce_sq_init(&qp->sq, (uint8_t *)qp + sq_at, cap->max_send_wr, cap->max_send_sge,
		      cap->max_inline_data, has_path);
	if (cap->max_recv_wr > 0)
		uroce_rq_init(&qp->rq, (uint8_t *)qp + rq_at, cap->max_recv_wr, cap->max_recv_sge);
	qp->cap = *cap;
	return qp;
}

static void
fill_verbs(struct uroce_vqp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
	   uint32_t qpn)
{
	qp->ibv.context = pd->context;
	qp->ibv.qp_context = init->qp_context;
	qp->ibv.pd = pd;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->ibv.srq = init->srq;
	qp->ibv.handle = qpn;
	qp->ibv.qp_num = qpn;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = init->qp_type;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp->sq.is_all_signaled = init->sq_sig_all != 0;
	qp->sq.opcodes = opcodes[init->qp_type];
}

/* The transport's context and the worker's record. */
static void
fill_record(struct uroce_vqp *qp, const struct uroce_dev *dev)
{
	struct uroce_vcq *const send_cq = uroce_vcq(qp->ibv.send_cq);
	struct uroce_vcq *const recv_cq = uroce_vcq(qp->ibv.recv_cq);
	const struct uroce_qpc_conf conf = {
		.type = qp->ibv.qp_type,
		.qpn = qp->ibv.qp_num,
		.pdn = uroce_vpd(qp->ibv.pd)->pdn,
		.sq = &qp->sq,
		.rq = qp->ibv.srq == NULL ? &qp->rq : NULL,
		.srq = qp->ibv.srq != NULL ? &uroce_vsrq(qp->ibv.srq)->srqr.srq : NULL,
		.send_cq = &send_cq->queue,
		.recv_cq = &recv_cq->queue,
		.mrs = dev->mrs,
		.rd_pool = uroce_worker_rd_pool(send_cq->worker),
		.hold = uroce_worker_hold(send_cq->worker),
		.cc = dev->conf.cc.ops ? &dev->cc : NULL,
		.limits = &dev->limits,
		.pkeys = dev->pkeys,
		.cookie = qp,
	};

	uroce_qpc_init(&qp->qpr.qpc, &conf);
	qp->qpr.send_notify = &send_cq->notify;
	qp->qpr.recv_notify = &recv_cq->notify;
	qp->qpr.event_cookie = qp;
}

/* The QP uses its PD, CQs and SRQ, or does no longer. */
static void
count_uses(struct uroce_vqp *qp, void (*count)(struct ibv_context *, unsigned *))
{
	count(qp->ibv.context, &uroce_vpd(qp->ibv.pd)->nb_users);
	count(qp->ibv.context, &uroce_vcq(qp->ibv.send_cq)->nb_users);
	count(qp->ibv.context, &uroce_vcq(qp->ibv.recv_cq)->nb_users);
	if (qp->ibv.srq != NULL)
		count(qp->ibv.context, &uroce_vsrq(qp->ibv.srq)->nb_users);
}

static void
free_qp(struct uroce_vqp *qp)
{
	pthread_mutex_destroy(&qp->ibv.mutex);
	pthread_cond_destroy(&qp->ibv.cond);
	uroce_hugemem_free(qp);
}

static int
create_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *init, struct uroce_vqp **out)
{
	struct uroce_dev *const dev = uroce_vcontext_dev(pd->context);
	const struct ibv_qp_cap cap = granted(&init->cap, init->srq == NULL);
	struct uroce_vqp *qp;
	uint32_t qpn;
	int ret;

	ret = uroce_dev_alloc_qpn(dev, &qpn);
	if (ret != 0)
		return ret;
	qp = alloc_qp(&cap, init->qp_type == IBV_QPT_UD, uroce_dev_socket_id(dev));
	if (qp == NULL) {
		ret = -ENOMEM;
		goto free_qpn;
	}
	fill_verbs(qp, pd, init, qpn);
	fill_record(qp, dev);
	ret = uroce_dev_add_qp(dev, &qp->qpr, uroce_vcq(init->send_cq)->worker);
	if (ret != 0)
		goto free_qp;
	count_uses(qp, uroce_users_add);
	*out = qp;
	return 0;

free_qp:
	free_qp(qp);
free_qpn:
	uroce_dev_free_qpn(dev, qpn);
	return ret;
}

struct ibv_qp *
uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr)
{
	struct uroce_vqp *qp = NULL;
	int ret = -EINVAL;

	if (pd != NULL && init_attr != NULL)
		ret = check_init(pd, init_attr);
	if (ret == 0)
		ret = create_qp(pd, init_attr, &qp);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	init_attr->cap = qp->cap;
	return &qp->ibv;
}

/* A modify or a query on its way to the worker. */
struct change {
	struct uroce_qpc *qpc;
	const struct ibv_qp_attr *attr;
	int mask;
	const struct uroce_path *path; /* NULL: no address vector */
};

static int
apply_change(void *arg)
{
	const struct change *const change = arg;

	return uroce_qpc_modify(change->qpc, change->attr, change->mask, change->path,
				uroce_clock_ns());
}

/* The path to the peer; waits for the neighbour's answer, so no lock may be held. */
static int
resolve(struct uroce_vqp *qp, const struct ibv_qp_attr *attr, int mask, struct uroce_path *path)
{
	const struct uroce_qpc *const qpc = &qp->qpr.qpc;
	const uint32_t dest_qpn = mask & IBV_QP_DEST_QPN ? attr->dest_qp_num : qpc->dest_qpn;

	if (uroce_gid_is_multicast(attr->ah_attr.grh.dgid.raw))
		return -EINVAL; /* a connection has one peer */
	return uroce_dev_resolve(uroce_vcontext_dev(qp->ibv.context), &attr->ah_attr,
				 uroce_sport(&attr->ah_attr, qpc->qpn, dest_qpn), path);
}

int
uroce_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);
	struct uroce_path path;
	int ret;

	if (ibv == NULL || ibv->context == NULL || attr == NULL)
		return EINVAL;
	/* Checked here without the worker, so that nobody waits for an answer to a bad question. */
	ret = uroce_qpc_modify_check(&qp->qpr.qpc, attr, attr_mask);
	if (ret == 0 && (attr_mask & IBV_QP_AV))
		ret = resolve(qp, attr, attr_mask, &path);
	if (ret != 0)
		return -ret;
	struct change change = {
		.qpc = &qp->qpr.qpc,
		.attr = attr,
		.mask = attr_mask,
		.path = attr_mask & IBV_QP_AV ? &path : NULL,
	};

	ret = uroce_worker_call(qp->qpr.worker, &qp->qpr, apply_change, &change);
	if (ret != 0)
		return -ret;
	if (attr_mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	/* what was posted is the application's again */
	if (ibv->state == IBV_QPS_RESET)
		uroce_dev_recall_qp(uroce_vcontext_dev(ibv->context), &qp->qpr);
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
	struct uroce_vqp *const qp = uroce_vqp(ibv);

	if (ibv == NULL || ibv->context == NULL)
		return -EINVAL;
	struct cancellation cancellation = { .qpc = &qp->qpr.qpc, .wr_id = wr_id };

	return uroce_worker_call(qp->qpr.worker, &qp->qpr, apply_cancellation, &cancellation);
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
	struct uroce_vqp *const qp = uroce_vqp(ibv);

	(void)attr_mask; /* all of them cost the same */
	if (ibv == NULL || ibv->context == NULL || attr == NULL || init_attr == NULL)
		return EINVAL;
	struct question question = { .qpc = &qp->qpr.qpc, .attr = attr };

	(void)uroce_qpr_ask(&qp->qpr, answer_question, &question);
	attr->cap = qp->cap;
	ibv->state = attr->qp_state;
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
	struct uroce_dev *dev;

	if (ibv == NULL)
		return EINVAL;
	dev = uroce_vcontext_dev(ibv->context);
	if (uroce_dev_is_attached(dev, &qp->qpr))
		return EBUSY;
	uroce_dev_remove_qp(dev, &qp->qpr);
	uroce_cq_purge(&uroce_vcq(ibv->send_cq)->queue, qp);
	uroce_cq_purge(&uroce_vcq(ibv->recv_cq)->queue, qp);
	uroce_vevent_forget_qp(qp);
	uroce_dev_free_qpn(dev, ibv->qp_num);
	count_uses(qp, uroce_users_drop);
	free_qp(qp);
	return 0;
}
