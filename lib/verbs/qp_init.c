/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating and destroying queue pairs. A QP is one piece of memory: struct uroce_vqp, followed by
 * the slots of its queues. The struct contains the verbs object, and the worker QP of lib/datapath
 * with the QP context of lib/transport. The table `kinds` has the queues and objects of each QP
 * type.
 */

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <rte_common.h>

#include "datapath/device/hugemem.h"
#include "datapath/device/qpn.h"
#include "datapath/log.h"
#include "mem/mkey.h"
#include "mem/sge.h"
#include "verbs/event.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/post.h"
#include "verbs/qp_log.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"
#include "verbs/wr.h"
#include "verbs/xrc.h"

/*
 * Minimum number of bytes of inline data of each QP, because some programs send inline data without
 * requesting it in max_inline_data.
 */
#define INLINE_MIN 64u
/*
 * Number of bytes of inline data for the configuration of an mkey with four pieces
 * [mlx5dv_wr_mkey_configure(3)].
 */
#define INLINE_MKEY ((uint32_t)uroce_mkey_conf_len(4))

#define BIT(opcode) (1u << IBV_WR_##opcode)
#define OPCODES_UD  (BIT(SEND) | BIT(SEND_WITH_IMM))
#define OPCODES_UC                                                                                 \
	(OPCODES_UD | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) | BIT(LOCAL_INV) | BIT(BIND_MW))
#define OPCODES_RC                                                                                 \
	(OPCODES_UC | BIT(RDMA_READ) | BIT(ATOMIC_CMP_AND_SWP) | BIT(ATOMIC_FETCH_AND_ADD) |       \
	 BIT(SEND_WITH_INV) | 1u << UROCE_DV_WR_FLUSH | 1u << UROCE_DV_WR_ATOMIC_WRITE)

static const struct kind {
	bool is_known;
	bool has_sq; /* QPs of this type have a send queue, a PD and a send CQ */
	bool has_rq; /* QPs of this type have a receive CQ, and a receive queue or an SRQ */
	bool has_path;
	uint32_t opcodes; /* opcodes that the send queue accepts [IBA table 57] */
} kinds[] = {
	[IBV_QPT_RC] = { .is_known = true, .has_sq = true, .has_rq = true, .opcodes = OPCODES_RC },
	[IBV_QPT_UC] = { .is_known = true, .has_sq = true, .has_rq = true, .opcodes = OPCODES_UC },
	[IBV_QPT_UD] = { .is_known = true,
			 .has_sq = true,
			 .has_rq = true,
			 .has_path = true,
			 .opcodes = OPCODES_UD },
	[IBV_QPT_XRC_SEND] = { .is_known = true, .has_sq = true, .opcodes = OPCODES_RC },
	[IBV_QPT_XRC_RECV] = { .is_known = true },
};

static bool
is_known(enum ibv_qp_type type)
{
	return (unsigned)type < RTE_DIM(kinds) && kinds[type].is_known;
}

/* --- checks of the attributes ---------------------------------------------------------------------- */

static bool
is_cq_of_context(const struct ibv_context *context, const struct ibv_cq *cq)
{
	return cq != NULL && cq->context == context;
}

static bool
is_srq_legal(const struct ibv_context *context, struct ibv_srq *srq)
{
	return srq == NULL || (srq->context == context && uroce_vsrq(srq)->xrcd == NULL);
}

static bool
is_cap_legal(const struct ibv_qp_cap *cap, bool has_rq)
{
	const struct {
		const char *name;
		uint32_t value, max;
		bool is_used;
	} rows[] = {
		{ "max_send_wr", cap->max_send_wr, UROCE_MAX_QP_WR, true },
		{ "max_send_sge", cap->max_send_sge, UROCE_SGE_MAX, true },
		{ "max_inline_data", cap->max_inline_data, UROCE_MAX_INLINE, true },
		{ "max_recv_wr", cap->max_recv_wr, UROCE_MAX_QP_WR, has_rq },
		{ "max_recv_sge", cap->max_recv_sge, UROCE_SGE_MAX, has_rq },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		if (!rows[i].is_used || rows[i].value <= rows[i].max)
			continue;
		UROCE_LOG_LIMITED(WARNING, qp, "create_qp: %s is %u: allowed are up to %u",
				  rows[i].name, rows[i].value, rows[i].max);
		return false;
	}
	return true;
}

static int
check_target(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *init)
{
	const bool is_legal = (init->comp_mask & IBV_QP_INIT_ATTR_XRCD) && init->xrcd != NULL &&
			      init->xrcd->context == context;

	return is_legal ? 0 : -EINVAL;
}

static int
check_objects(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *init)
{
	const struct kind *const kind = &kinds[init->qp_type];

	if (!(init->comp_mask & IBV_QP_INIT_ATTR_PD) || init->pd == NULL ||
	    init->pd->context != context || !is_cq_of_context(context, init->send_cq)) {
		UROCE_LOG_LIMITED(WARNING, qp,
				  "create_qp: pd or send_cq is missing or of another context: "
				  "allowed are those of the context");
		return -EINVAL;
	}
	if (kind->has_rq &&
	    (!is_cq_of_context(context, init->recv_cq) || !is_srq_legal(context, init->srq))) {
		UROCE_LOG_LIMITED(
			WARNING, qp,
			"create_qp: recv_cq is missing or of another context, or srq is not "
			"for this type: allowed are those of the context");
		return -EINVAL;
	}
	if (uroce_vpd_check(init->pd) != 0 || uroce_vcq_check(init->send_cq) != 0 ||
	    (kind->has_rq && uroce_vcq_check(init->recv_cq) != 0) ||
	    (kind->has_rq && init->srq != NULL && uroce_vsrq_check(init->srq) != 0))
		return -ENOENT;
	/* max_recv_wr and max_recv_sge are ignored if the QP has an SRQ [ibv_create_qp(3)] */
	return is_cap_legal(&init->cap, kind->has_rq && init->srq == NULL) ? 0 : -EINVAL;
}

int
uroce_vqp_check_init(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *init)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if ((init->comp_mask & ~known) != 0 || init->qp_type == IBV_QPT_RAW_PACKET ||
	    init->qp_type == IBV_QPT_DRIVER) {
		UROCE_LOG_LIMITED(
			INFO, qp,
			"create_qp: qp_type %d with comp_mask 0x%x is not supported: allowed "
			"are RC, UC, UD and XRC",
			(int)init->qp_type, init->comp_mask);
		return -EOPNOTSUPP;
	}
	if ((init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && init->create_flags != 0)
		return -EOPNOTSUPP;
	if (!is_known(init->qp_type)) {
		UROCE_LOG_LIMITED(
			WARNING, qp,
			"create_qp: there is no qp_type %d: allowed are RC, UC, UD and XRC",
			(int)init->qp_type);
		return -EINVAL;
	}
	if ((init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (init->send_ops_flags & ~uroce_vwr_flags(kinds[init->qp_type].opcodes)) != 0)
		return -EOPNOTSUPP;
	if (init->qp_type == IBV_QPT_XRC_RECV)
		return check_target(context, init);
	return check_objects(context, init);
}

/* --- memory of a QP -------------------------------------------------------------------------------- */

/*
 * Compute the capabilities of a new QP: at least those that were requested, and at least 1. Inline
 * data is in the place of the scatter list in a slot, so max_inline_data is at least the length of
 * the longest scatter list.
 */
static struct ibv_qp_cap
get_granted_cap(const struct ibv_qp_cap *asked, bool has_sq, bool has_rq, uint32_t inline_min)
{
	struct ibv_qp_cap cap = { 0 };

	if (has_sq) {
		cap.max_send_wr = RTE_MAX(asked->max_send_wr, 1u);
		cap.max_send_sge = RTE_MAX(asked->max_send_sge, 1u);
		cap.max_inline_data = RTE_MAX(RTE_MAX(asked->max_inline_data, inline_min),
					      cap.max_send_sge * (uint32_t)sizeof(struct ibv_sge));
	}
	if (has_rq) {
		cap.max_recv_wr = RTE_MAX(asked->max_recv_wr, 1u);
		cap.max_recv_sge = RTE_MAX(asked->max_recv_sge, 1u);
	}
	return cap;
}

/*
 * Round a length up to an odd number of cache lines. QPs that are created one after the other are
 * adjacent in memory. If their distance were a power of two, the most used lines of all QPs would
 * be in the same few cache sets and evict each other.
 */
static size_t
odd_lines(size_t len)
{
	const size_t nb_lines = RTE_CACHE_LINE_ROUNDUP(len) / RTE_CACHE_LINE_SIZE;

	return (nb_lines | 1) * RTE_CACHE_LINE_SIZE;
}

/*
 * Compute the number of bytes of all slots of a send or receive queue. The result is 0 if the QP
 * does not have this queue.
 */
static size_t
slots_len(uint32_t max_wr, uint32_t stride)
{
	return max_wr > 0 ? RTE_CACHE_LINE_ROUNDUP(uroce_ring_memsize(max_wr, stride)) : 0;
}

/*
 * Allocate a QP: the object, its queues behind it, and `room` bytes for the request that the
 * ibv_wr_*() calls build.
 */
static struct uroce_vqp *
alloc_qp(const struct ibv_qp_cap *cap, bool has_path, size_t room, int socket_id)
{
	const size_t sq_at = RTE_CACHE_LINE_ROUNDUP(sizeof(struct uroce_vqp));
	const size_t rq_at =
		sq_at +
		slots_len(cap->max_send_wr,
			  uroce_send_wqe_stride(cap->max_send_sge, cap->max_inline_data, has_path));
	const size_t room_at =
		rq_at + slots_len(cap->max_recv_wr, uroce_recv_wqe_stride(cap->max_recv_sge));
	struct uroce_vqp *const qp = uroce_hugemem_alloc(odd_lines(room_at + room), socket_id);

	if (qp == NULL)
		return NULL;
	if (cap->max_send_wr > 0)
		uroce_sq_init(&qp->sq, (uint8_t *)qp + sq_at, cap->max_send_wr, cap->max_send_sge,
			      cap->max_inline_data, has_path);
	if (cap->max_recv_wr > 0)
		uroce_rq_init(&qp->rq, (uint8_t *)qp + rq_at, cap->max_recv_wr, cap->max_recv_sge);
	qp->cap = *cap;
	if (room > 0)
		qp->vwr = (void *)((uint8_t *)qp + room_at);
	return qp;
}

static void
free_qp(struct uroce_vqp *qp)
{
	pthread_mutex_destroy(&qp->ibv.mutex);
	pthread_cond_destroy(&qp->ibv.cond);
	uroce_vqp_end(qp);
	uroce_hugemem_free(qp);
}

/* --- creation and end of a QP ---------------------------------------------------------------------- */

static void
fill_verbs(struct uroce_vqp *qp, struct ibv_context *context,
	   const struct ibv_qp_init_attr_ex *init, uint32_t qpn)
{
	const struct kind *const kind = &kinds[init->qp_type];

	qp->ibv.context = context;
	qp->ibv.qp_context = init->qp_context;
	if (kind->has_sq) {
		qp->ibv.pd = init->pd;
		qp->ibv.send_cq = init->send_cq;
	}
	if (kind->has_rq) {
		qp->ibv.recv_cq = init->recv_cq;
		qp->ibv.srq = init->srq;
	}
	qp->ibv.handle = qpn;
	qp->ibv.qp_num = qpn;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = init->qp_type;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	uroce_vqp_begin(qp);
	qp->sq.is_all_signaled = init->sq_sig_all != 0;
	qp->sq.opcodes = kind->opcodes;
	qp->sq.is_xrc = init->qp_type == IBV_QPT_XRC_SEND;
	qp->sq.is_single_threaded = qp->rq.is_single_threaded =
		kind->has_sq && uroce_vpd(init->pd)->td != NULL;
}

/*
 * Choose the worker for a QP. A QP gets the worker of its send CQ, but an XRC target has no send
 * CQ. If the device has the key drive=app, programs drive only the workers of the CQs that they
 * poll, mostly worker 0, and other workers wait for the service thread. So an XRC target of such a
 * device is placed on worker 0.
 */
static struct uroce_worker *
choose_worker(const struct uroce_vqp *qp, const struct uroce_dev *dev)
{
	if (qp->ibv.send_cq != NULL)
		return uroce_vcq(qp->ibv.send_cq)->worker;
	if (dev->conf.drive == UROCE_DRIVE_APP)
		return dev->worker[0];
	return dev->worker[qp->ibv.qp_num % dev->nb_workers];
}

/* Fill in the QP context (lib/transport) and the worker QP (lib/datapath) of a new QP. */
static void
fill_record(struct uroce_vqp *qp, const struct uroce_dev *dev, const struct uroce_vqp_conf *vconf)
{
	struct uroce_worker *const worker = choose_worker(qp, dev);
	struct uroce_vcq *const send_cq = uroce_vcq(qp->ibv.send_cq);
	struct uroce_vcq *const recv_cq = uroce_vcq(qp->ibv.recv_cq);
	const struct uroce_qpc_conf conf = {
		.type = qp->ibv.qp_type,
		.qpn = qp->ibv.qp_num,
		.pdn = qp->ibv.pd != NULL ? uroce_vpd(qp->ibv.pd)->pdn : 0,
		.sq = qp->cap.max_send_wr > 0 ? &qp->sq : NULL,
		.rq = qp->cap.max_recv_wr > 0 ? &qp->rq : NULL,
		.srq = qp->ibv.srq != NULL ? &uroce_vsrq(qp->ibv.srq)->wsrq.srq : NULL,
		.srqs = qp->ibv.qp_type == IBV_QPT_XRC_RECV ? dev->srqs : NULL,
		.xrcd = vconf->xrcd,
		.is_pipelined = vconf->is_pipelined,
		.send_cq = send_cq != NULL ? &send_cq->queue : NULL,
		.recv_cq = recv_cq != NULL ? &recv_cq->queue : NULL,
		.mrs = dev->mrs,
		.rd_pool = uroce_worker_rd_pool(worker),
		.reorder_buffer = uroce_worker_reorder_buffer(worker),
		.counters = uroce_worker_counters(worker),
		.unpublished = uroce_worker_unpublished(worker),
		.cc = dev->conf.cc.ops ? &dev->cc : NULL,
		.limits = &dev->limits,
		.pkeys = dev->pkeys,
		.cookie = qp,
	};

	uroce_qpc_init(&qp->wqp.qpc, &conf);
	qp->wqp.event_cookie = qp;
}

/*
 * Apply `count` to the PD, the CQs and the SRQ of a QP. With uroce_users_add() the QP is counted
 * as their user, with uroce_users_drop() it is subtracted.
 */
static void
count_qp_uses(struct uroce_vqp *qp, void (*count)(struct ibv_context *, unsigned *))
{
	const struct ibv_qp *const ibv = &qp->ibv;

	if (ibv->pd != NULL)
		count(ibv->context, &uroce_vpd(ibv->pd)->nb_users);
	if (ibv->send_cq != NULL)
		count(ibv->context, &uroce_vcq(ibv->send_cq)->nb_users);
	if (ibv->recv_cq != NULL)
		count(ibv->context, &uroce_vcq(ibv->recv_cq)->nb_users);
	if (ibv->srq != NULL)
		count(ibv->context, &uroce_vsrq(ibv->srq)->nb_users);
}

/*
 * Log why a new QP gets no QP number. No line is logged for QP 1, because programs do not create
 * it.
 */
static void
log_no_qpn(const struct uroce_dev *dev, bool is_gsi, int ret)
{
	if (is_gsi)
		return;
	if (ret == -EAGAIN || ret == -ENOTCONN)
		UROCE_LOG_LIMITED(WARNING, qp,
				  "create_qp: uroced leases no QP number, because it restarts or "
				  "does not reply: try again: %s",
				  strerror(-ret));
	else
		UROCE_LOG_LIMITED(WARNING, qp,
				  "create_qp: all QP numbers of %s are in use: allowed are %u, or "
				  "more by the key qps=NUMBER: %s",
				  dev->conf.port, dev->conf.max_qp, strerror(-ret));
}

int
uroce_vqp_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *init,
		 const struct uroce_vqp_conf *conf, struct uroce_vqp **out)
{
	const struct kind *const kind = &kinds[init->qp_type];
	struct uroce_dev *const dev = uroce_vcontext_dev(context);
	const struct ibv_qp_cap cap =
		get_granted_cap(&init->cap, kind->has_sq, kind->has_rq && init->srq == NULL,
				conf->has_mkeys ? INLINE_MKEY : INLINE_MIN);
	const bool has_wr = kind->has_sq && (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	struct uroce_vqp *qp;
	uint32_t qpn = UROCE_QPN_GSI;
	int ret;

	ret = conf->is_gsi ? uroce_dev_alloc_gsi(dev) : uroce_dev_alloc_qpn(dev, &qpn);
	if (ret != 0) {
		log_no_qpn(dev, conf->is_gsi, ret);
		return ret;
	}
	qp = alloc_qp(&cap, kind->has_path, has_wr ? uroce_vwr_memsize() : 0,
		      uroce_dev_socket_id(dev));
	if (qp == NULL) {
		ret = -ENOMEM;
		goto free_qpn;
	}
	fill_verbs(qp, context, init, qpn);
	if (has_wr)
		uroce_vwr_init(qp, qp->vwr, init->send_ops_flags);
	if (has_wr)
		qp->vwr->has_mkeys = conf->has_mkeys;
	fill_record(qp, dev, conf);
	ret = uroce_dev_add_qp(dev, &qp->wqp, choose_worker(qp, dev));
	if (ret != 0)
		goto free_qp;
	count_qp_uses(qp, uroce_users_add);
	uroce_qp_log_created(qp);
	*out = qp;
	return 0;

free_qp:
	free_qp(qp);
free_qpn:
	uroce_dev_free_qpn(dev, qpn);
	return ret;
}

/* Remove the completions of an XRC target, which are in the CQs of its domain's SRQs. */
static void
purge_targets_cqs(struct uroce_dev *dev, const struct uroce_vqp *qp)
{
	pthread_mutex_lock(&dev->lock);
	for (uint32_t srqn = 1; srqn <= dev->srqs->nb_slots; srqn++) {
		const struct uroce_srq *const srq = uroce_srq_table_find(dev->srqs, srqn);

		if (srq != NULL && srq->xrcd == qp->wqp.qpc.xrcd)
			uroce_cq_purge(srq->cq, qp);
	}
	pthread_mutex_unlock(&dev->lock);
}

static void
purge_cqs(struct uroce_dev *dev, const struct uroce_vqp *qp)
{
	if (qp->ibv.qp_type == IBV_QPT_XRC_RECV)
		purge_targets_cqs(dev, qp);
	if (qp->ibv.send_cq != NULL)
		uroce_cq_purge(&uroce_vcq(qp->ibv.send_cq)->queue, qp);
	if (qp->ibv.recv_cq != NULL)
		uroce_cq_purge(&uroce_vcq(qp->ibv.recv_cq)->queue, qp);
}

/*
 * Wait until no thread posts to the QP. A thread may still be ringing the doorbell, and hold the
 * queue's lock, when its requests have completed. Another thread of the program may have seen the
 * completions and destroy the QP. The function does not wait for requests that are being built
 * (ibv_wr_*), because the calling thread may be the thread that builds them, and would wait for
 * ever. The locks are not released, because no thread posts to the QP any more.
 */
static void
wait_for_posts(struct uroce_vqp *qp)
{
	while (!uroce_lock_try(&qp->sq.lock) &&
	       !atomic_load_explicit(&qp->is_building, memory_order_relaxed))
		sched_yield();
	uroce_lock_take(&qp->rq.lock);
}

int
uroce_vqp_destroy(struct uroce_vqp *qp)
{
	struct uroce_dev *const dev = uroce_vcontext_dev(qp->ibv.context);

	if (uroce_dev_is_attached(dev, &qp->wqp))
		return -EBUSY;
	wait_for_posts(qp);
	UROCE_LOG(DEBUG, qp, "qp 0x%x: destroyed", qp->ibv.qp_num);
	uroce_dev_remove_qp(dev, &qp->wqp);
	purge_cqs(dev, qp);
	uroce_vevent_forget_qp(qp);
	uroce_dev_free_qpn(dev, qp->ibv.qp_num);
	count_qp_uses(qp, uroce_users_drop);
	free_qp(qp);
	return 0;
}
