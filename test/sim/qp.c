/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ends of connections: creates QPs, connects them and posts their requests. The checks are in the
 * oracle.
 */

#include "qp.h"

#include <assert.h>
#include <string.h>

#include "mcast.h"
#include "host.h"
#include "mkey.h"
#include "oracle.h"
#include "shared.h"
#include "transport/mcast.h"
#include "wire/psn.h"
#include "world.h"

#define QKEY      0x11111111u
#define SGE_PARTS 4

static const uint16_t pkeys[] = { 0xffff };

static void
make_queues(struct world *world, struct qp *qp)
{
	const struct qp_conf *conf = &qp->conf;
	const bool is_ud = conf->type == IBV_QPT_UD;
	const uint32_t send_stride = uroce_send_wqe_stride(conf->max_sge, conf->max_inline, is_ud);
	const uint32_t recv_stride = uroce_recv_wqe_stride(conf->max_sge);
	const uint32_t sq_cqes = 2 * conf->sq_len + 16, rq_cqes = 2 * conf->rq_len + 16;

	uroce_sq_init(&qp->sq, world_alloc(world, uroce_ring_memsize(conf->sq_len, send_stride)),
		      conf->sq_len, conf->max_sge, conf->max_inline, is_ud);
	qp->sq.is_xrc = conf->type == IBV_QPT_XRC_SEND;
	uroce_rq_init(&qp->rq, world_alloc(world, uroce_ring_memsize(conf->rq_len, recv_stride)),
		      conf->rq_len, conf->max_sge);
	uroce_cq_init(&qp->send_cq, world_alloc(world, uroce_cq_memsize(sq_cqes)), sq_cqes);
	uroce_cq_init(&qp->recv_cq, world_alloc(world, uroce_cq_memsize(rq_cqes)), rq_cqes);
}

static void
make_memory(struct world *world, struct qp *qp)
{
	const struct qp_conf *conf = &qp->conf;

	qp->mem = world_alloc(world, conf->mem_len);
	qp->shadow = world_alloc(world, conf->mem_len);
	qp->iova = world->next_iova;
	world->next_iova += (conf->mem_len + 0xffffu) & ~UINT64_C(0xffff);
	qp->recv_base = conf->mem_len - conf->nb_bufs * (conf->recv_len + 16);
	const struct uroce_mr_conf mr = {
		.addr = qp->mem,
		.iova = qp->iova,
		.len = conf->mem_len,
		.pdn = qp->host->pdn,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
			  UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT,
	};
	const int ret = uroce_mr_add(qp->host->mrs, &mr, &qp->key);

	assert(ret == 0);
	(void)ret;
}

struct qp *
qp_create(struct world *world, struct host *host, const struct qp_conf *conf)
{
	struct qp *qp = world_alloc(world, sizeof(*qp));

	*qp = (struct qp){
		.conf = *conf,
		.world = world,
		.host = host,
		.bad_recv = UINT32_MAX,
		.sqd_limit = UINT32_MAX,
	};
	qp->is_lenient = !qp_is_reliable(qp);
	qp->reqs = world_alloc(world, conf->max_requests * sizeof(*qp->reqs));
	make_queues(world, qp);
	make_memory(world, qp);
	host_add_qp(host, qp);
	if (conf->is_shared) {
		qp->shared = host->shared;
		world->tally.shared++;
	}
	const bool is_xi = conf->type == IBV_QPT_XRC_SEND, is_xt = conf->type == IBV_QPT_XRC_RECV;

	if (is_xt) {
		memcpy(qp->srqs, host->xrc, sizeof(qp->srqs));
		qp->shared = qp->srqs[0];
	}
	const struct uroce_qpc_conf qpc_conf = {
		.type = conf->type,
		.qpn = qp->qpn,
		.pdn = host->pdn,
		.sq = is_xt ? NULL : &qp->sq,
		.rq = qp->shared || is_xi ? NULL : &qp->rq,
		.srq = qp->shared && !is_xt ? &qp->shared->srq : NULL,
		.srqs = is_xt ? host->srqs : NULL,
		.xrcd = is_xt ? HOST_XRCD : 0,
		.send_cq = is_xt ? NULL : &qp->send_cq,
		.recv_cq = is_xt || is_xi ? NULL : &qp->recv_cq,
		.mrs = host->mrs,
		.rd_pool = host->rd_pool,
		.reorder_buffer = host->reorder_buffer,
		.window_psns = conf->window_psns,
		.is_req_gbn = conf->is_req_gbn,
		.is_resp_gbn = conf->is_resp_gbn,
		.is_pipelined = conf->is_pipelined,
		.cc = conf->cc,
		.limits = &host->limits,
		.pkeys = pkeys,
		.cookie = qp,
	};

	uroce_qpc_init(&qp->qpc, &qpc_conf);
	world->tally.reacting += uroce_cc_is_reacting(&qp->qpc.cc);
	assert(world->nb_qps < QPS_MAX);
	world->qps[world->nb_qps++] = qp;
	world->tally.services[conf->type]++;
	return qp;
}

static void
make_path(struct qp *qp)
{
	const struct host *from = qp->host, *to = qp->peer->host;
	struct uroce_path_conf conf = {
		.smac = { 2, 0, 0, 0, 0, from->idx },
		.dmac = { 2, 0, 0, 0, 0, to->idx },
		.udp_sport = (uint16_t)(0xc000 | (qp->qpn & 0x3fff)),
		.tclass = qp->conf.tclass,
	};

	memcpy(conf.sip, from->ip, 16);
	memcpy(conf.dip, to->ip, 16);
	if (qp->conf.is_ipv6) {
		memcpy(conf.sip, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0", 12);
		memcpy(conf.dip, conf.sip, 12);
	}
	if (qp->is_to_group) {
		group_gid(qp->conf.is_ipv6, conf.dip);
		memcpy(conf.dmac, "\x01\x00\x5e\x01\x02\x03", 6);
	}
	uroce_path_init(&qp->path, &conf);
}

/* The attributes that are modified with each state, by type of QP. */
static const struct {
	int mask[IBV_QPS_ERR + 1];
} steps[IBV_QPT_XRC_RECV + 1] = {
	[IBV_QPT_RC] = { { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   [IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					   IBV_QP_MIN_RNR_TIMER,
			   [IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC } },
	[IBV_QPT_UC] = { { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   [IBV_QPS_RTR] =
				   IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			   [IBV_QPS_RTS] = IBV_QP_SQ_PSN } },
	[IBV_QPT_UD] = { { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			   [IBV_QPS_RTS] = IBV_QP_SQ_PSN } },
	[IBV_QPT_XRC_SEND] = { { [IBV_QPS_INIT] =
					 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
				 [IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						 IBV_QP_RQ_PSN,
				 [IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						 IBV_QP_MAX_QP_RD_ATOMIC } },
	[IBV_QPT_XRC_RECV] = { { [IBV_QPS_INIT] =
					 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
				 [IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
						 IBV_QP_MIN_RNR_TIMER,
				 [IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_SQ_PSN } },
};

int
qp_modify(struct qp *qp, enum ibv_qp_state state)
{
	const struct qp_conf *conf = &qp->conf;
	const struct qp *peer = qp->peer;
	const bool is_back = qp->qpc.state == IBV_QPS_SQD || qp->qpc.state == IBV_QPS_SQE;
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = conf->access,
		.ah_attr = { .is_global = 1, .port_num = 1 },
		.path_mtu = conf->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->conf.psn,
		.sq_psn = conf->psn,
		.max_rd_atomic = conf->max_rd_atomic,
		.max_dest_rd_atomic = conf->max_dest_rd_atomic,
		.min_rnr_timer = conf->min_rnr_timer,
		.timeout = conf->timeout,
		.retry_cnt = conf->retry_cnt,
		.rnr_retry = conf->rnr_retry,
		.en_sqd_async_notify = 1,
	};
	int mask = IBV_QP_STATE | (is_back ? 0 : steps[conf->type].mask[state]);

	if (state == IBV_QPS_SQD)
		mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET)
		qp->deaths |= DEATH_ORDERED;
	const int ret = uroce_qpc_modify(&qp->qpc, &attr, mask, mask & IBV_QP_AV ? &qp->path : NULL,
					 qp->world->now_ns);

	oracle_modified(qp, state);
	host_wake(qp->world, qp->host, qp->world->now_ns);
	return ret;
}

void
qp_link(struct qp *a, struct qp *b)
{
	a->peer = b;
	b->peer = a;
	make_path(a);
	make_path(b);
}

void
qp_connect(struct qp *a, struct qp *b)
{
	qp_connect_half(a, b);
	const int ret = qp_modify(b, IBV_QPS_RTS);

	assert(ret == 0);
	(void)ret;
}

void
qp_connect_half(struct qp *a, struct qp *b)
{
	qp_link(a, b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		const int ret = qp_modify(a, (enum ibv_qp_state)state) ||
				(state < IBV_QPS_RTS && qp_modify(b, (enum ibv_qp_state)state));

		assert(ret == 0);
		(void)ret;
	}
	a->progress_ns = a->world->now_ns;
	b->progress_ns = b->world->now_ns;
}

void
qp_destroy(struct qp *qp)
{
	if (qp->is_gone)
		return;
	group_leave(qp);
	qp_modify(qp, IBV_QPS_RESET);
	uroce_qpc_fini(&qp->qpc);
	host_wake(qp->world, qp->host, qp->world->now_ns);
	host_remove_qp(qp->host, qp);
	oracle_gone(qp);
}

uint32_t
qp_packets(const struct qp *qp, const struct request *req)
{
	const uint32_t shift = (uint32_t)qp->conf.mtu + 7;

	if (request_is_local(req))
		return 0;
	if (request_is_atomic(req) || !req->len)
		return 1;
	return (uint32_t)(((uint64_t)req->len + (1u << shift) - 1) >> shift);
}

void
qp_make_windows(struct qp *qp, enum uroce_mw_kind kind)
{
	struct uroce_mr_table *mrs = qp->host->mrs;
	uint32_t key;
	int ret = uroce_mw_add(mrs, kind, qp->host->pdn, &key);
	const struct uroce_mw_bind bind = {
		.rkey = key ^ 1,
		.mr_key = qp->key,
		.addr = qp->iova,
		.len = qp->conf.mem_len,
		.access = IBV_ACCESS_REMOTE_WRITE |
			  (qp->is_window_zero_based ? IBV_ACCESS_ZERO_BASED : 0),
		.pdn = qp->host->pdn,
		.qpn = qp->qpn,
	};

	ret |= uroce_mw_bind(mrs, &bind);
	ret |= uroce_mw_add(mrs, kind, qp->host->pdn, &qp->own_key);
	assert(ret == 0);
	(void)ret;
	qp->window_kind = kind;
	qp->window = bind.rkey;
}

struct request *
qp_plan(struct qp *qp)
{
	if (qp->nb_planned == qp->conf.max_requests)
		return NULL;
	struct request *req = &qp->reqs[qp->nb_planned++];

	*req = (struct request){ .recv_at = UINT32_MAX };
	return req;
}

/*
 * Build the SGE list of a request. Its memory is contiguous, but is described by up to four
 * elements.
 * @return the number of elements
 */
static int
make_list(struct qp *qp, const struct request *req, struct ibv_sge *sge)
{
	const bool has_response_data = request_is_atomic(req) || req->opcode == IBV_WR_RDMA_READ;
	uint32_t left = request_is_atomic(req) ? 8 : req->len;
	const bool is_own = has_response_data || req->bytes;
	const struct mkey *mkey = has_response_data ? req->into : req->from;
	uint64_t at = is_own ? qp->iova + req->local : NOISE_IOVA + req->src;
	uint32_t nb_max = qp->conf.max_sge < SGE_PARTS ? qp->conf.max_sge : SGE_PARTS;
	uint32_t lkey = is_own ? qp->key : qp->host->noise_key;
	int nb = 0;

	if (mkey) {
		at = 0;
		lkey = mkey->key;
	}
	if (req->flags & IBV_SEND_INLINE)
		at = (uintptr_t)qp->world->noise + req->src;
	if (req->bad == BAD_LKEY)
		lkey ^= 0x5a00;
	if (req->bad == BAD_LKEY_LATE) {
		sge[0] = (struct ibv_sge){ at, left / 2, lkey };
		sge[1] = (struct ibv_sge){ at + left / 2, left - left / 2, lkey ^ 0x5a00 };
		return 2;
	}
	/*
	 * the elements depend on the request alone: if the request is posted again because the send
	 * queue was full, the list is the same
	 */
	uint32_t lot = req->src ^ req->len ^ req->local;

	while (left && (uint32_t)nb + 1 < nb_max && lot & 1) {
		const uint32_t part = (uint32_t)(rng_mix(lot) % (left + 1));

		sge[nb++] = (struct ibv_sge){ at, part, lkey };
		at += part;
		left -= part;
		lot >>= 1;
	}
	if (left || (lot & 2))
		sge[nb++] = (struct ibv_sge){ at, left, lkey };
	return nb;
}

int
qp_post(struct qp *qp)
{
	struct request *req = &qp->reqs[qp->nb_posted];
	struct ibv_mw mw = { .rkey = qp->own_key };
	struct ibv_mr mr = { .lkey = qp->key, .rkey = qp->key };
	struct ibv_sge sge[SGE_PARTS];
	struct ibv_send_wr wr = {
		.wr_id = qp->nb_posted,
		.opcode = req->opcode,
		.send_flags = req->flags,
		.sg_list = sge,
		.imm_data = req->imm,
	};

	assert(qp->nb_posted < qp->nb_planned);
	wr.num_sge = make_list(qp, req, sge);
	if (qp->conf.type == IBV_QPT_UD) {
		wr.wr.ud.remote_qpn = qp->is_to_group ? UROCE_MCAST_QPN : qp->peer->qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (req->opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &mw;
		wr.bind_mw.rkey = req->imm;
		wr.bind_mw.bind_info.mr = &mr;
		wr.bind_mw.bind_info.addr = qp->iova;
		/*
		 * length 0 removes the binding of a window of type 1, which cannot be invalidated
		 */
		wr.bind_mw.bind_info.length = req->swap ? 0 : 64;
		wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	} else if (request_is_atomic(req) || (int)req->opcode == UROCE_WR_FLUSH) {
		wr.wr.atomic.remote_addr = req->remote;
		wr.wr.atomic.rkey = req->rkey;
		wr.wr.atomic.compare_add = req->compare_add;
		wr.wr.atomic.swap = req->swap;
	} else {
		wr.wr.rdma.remote_addr = req->remote;
		wr.wr.rdma.rkey = req->rkey;
	}
	if (qp->conf.type == IBV_QPT_XRC_SEND)
		wr.qp_type.xrc.remote_srqn =
			req->bad == BAD_SRQ ? 0xfffffe : qp->peer->srqs[req->srq]->srq.srqn;
	const int ret = uroce_sq_fill(&qp->sq, 0, &wr, qp->sq.has_path ? &qp->path : NULL,
				      qp->conf.all_signaled);

	if (ret)
		return ret;
	req->first = qp->nb_psn;
	req->nb_psn = qp_packets(qp, req);
	oracle_posted(qp, req);
	uroce_ring_push(&qp->sq.ring, 1);
	host_wake(qp->world, qp->host, qp->world->now_ns);
	return 0;
}

uint32_t
qp_recv_len(const struct qp *qp)
{
	return qp->shared ? qp->shared->buf_len : qp->conf.recv_len;
}

uint32_t
qp_recv_at(const struct qp *qp, uint32_t nth)
{
	return qp->recv_base + nth % qp->conf.nb_bufs * (qp->conf.recv_len + 16);
}

int
qp_post_recv(struct qp *qp)
{
	const uint32_t nth = qp->nb_recv_posted;
	struct ibv_sge sge = {
		.addr = qp->iova + qp_recv_at(qp, nth),
		.length = qp->conf.recv_len,
		.lkey = nth == qp->bad_recv ? qp->key ^ 0x5a00 : qp->key,
	};

	if (qp->recv_mkeys) {
		const struct mkey *mkey = &qp->recv_mkeys[nth % qp->conf.nb_bufs];

		sge.addr = 0;
		sge.length = mkey_spread(&mkey->wire, mkey_room(mkey));
		sge.lkey = mkey->key;
	}
	const struct ibv_recv_wr wr = {
		.wr_id = nth,
		.sg_list = &sge,
		.num_sge = sge.length ? 1 : 0,
	};
	const int ret = uroce_rq_fill(&qp->rq, 0, &wr);

	if (ret)
		return ret;
	qp->nb_recv_posted++;
	uroce_ring_push(&qp->rq.ring, 1);
	/* in ERR the next round of the host flushes the receive request */
	host_wake(qp->world, qp->host, qp->world->now_ns);
	return 0;
}

const uint8_t *
request_bytes(const struct qp *qp, const struct request *req)
{
	return req->bytes ? req->bytes : qp->world->noise + req->src;
}

uint32_t
request_extent(const struct request *req)
{
	return req->into ? req->into->extent : req->len;
}

struct request *
qp_request_at(struct qp *qp, uint32_t idx)
{
	uint32_t low = 0, high = qp->nb_posted;

	if (idx >= qp->nb_psn)
		return NULL;
	while (high - low > 1) {
		const uint32_t mid = (low + high) / 2;

		if (qp->reqs[mid].first <= idx)
			low = mid;
		else
			high = mid;
	}
	return &qp->reqs[low];
}
