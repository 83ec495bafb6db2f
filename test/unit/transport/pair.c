/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The two hosts, and the loop that advances time. In a round the loop delivers the frames that have
 * arrived, expires timers, and lets both hosts send a burst. Then it advances the time to the next
 * event.
 */

#include "pair.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "link.h"
#include "names.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

#define XRCD         5
#define NB_GAPS      2
#define NB_MR        16
#define NB_RD_BLOCKS 1
#define STEPS_MAX    10000000
#define UDP_SPORT    0xc0de
#define QKEY         0x11111111u
#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

static const uint32_t qpns[] = { [A] = 0xaaaaa1, [B] = 0xbbbbb2 };
static const uint32_t pdns[] = { [A] = 7, [B] = 8 };
static const uint16_t pkeys[] = { 0xffff, 0x7fff, 0x8001 };

static enum pair_side
other(enum pair_side side)
{
	return side == A ? B : A;
}

struct pair_conf
pair_conf(enum ibv_qp_type type)
{
	return (struct pair_conf){
		.type = type,
		.tclass = 0x28,
		.mtu = IBV_MTU_1024,
		.psn = { 0, 1000 },
		.mem_len = 1 << 20,
		.sq_len = 64,
		.rq_len = 64,
		.cq_len = 256,
		.max_sge = 8,
		.max_inline = 256,
		.burst = PAIR_BURST_MAX,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.access = ACCESS_ALL,
	};
}

static void *
allocate(struct pair_host *host, size_t len)
{
	const size_t nb = sizeof(host->blocks) / sizeof(host->blocks[0]);
	void *mem = aligned_alloc(64, (len + 63) / 64 * 64);

	assert(mem);
	memset(mem, 0, len);
	for (size_t i = 0; i < nb; i++) {
		if (!host->blocks[i]) {
			host->blocks[i] = mem;
			return mem;
		}
	}
	assert(0);
	return NULL;
}

/* The type of a side's QP. On an XRC connection A is the initiator and B the target. */
static enum ibv_qp_type
type_of(const struct pair_conf *conf, enum pair_side side)
{
	return conf->type == IBV_QPT_XRC_SEND && side == B ? IBV_QPT_XRC_RECV : conf->type;
}

/*
 * Create the shared receive queue of a host. For XRC, also create the table of shared receive
 * queues, and add a second queue, which belongs to another XRC domain.
 */
static void
make_srq(struct pair_host *host, const struct pair_conf *conf)
{
	const bool is_xrc = conf->type == IBV_QPT_XRC_SEND;
	const struct uroce_srq_conf srq_conf = {
		.max_wr = conf->rq_len,
		.max_sge = conf->max_sge,
		.pdn = pdns[host->side],
		.xrcd = is_xrc ? XRCD : 0,
		.cq = is_xrc ? &host->recv_cq : NULL,
		.cookie = host,
	};

	uroce_srq_init(&host->srq, allocate(host, uroce_srq_memsize(conf->rq_len, conf->max_sge)),
		       &srq_conf);
	if (!is_xrc)
		return;
	host->srqs = uroce_srq_table_init(allocate(host, uroce_srq_table_memsize(4)), 4);
	host->other_srq = (struct uroce_srq){ .xrcd = XRCD + 1 };
	assert_int_equal(uroce_srq_table_add(host->srqs, &host->srq), 0);
	assert_int_equal(uroce_srq_table_add(host->srqs, &host->other_srq), 0);
}

static void
make_queues(struct pair_host *host, const struct pair_conf *conf)
{
	const bool is_ud = conf->type == IBV_QPT_UD;
	const uint32_t send_stride = uroce_send_wqe_stride(conf->max_sge, conf->max_inline, is_ud);
	const uint32_t recv_stride = uroce_recv_wqe_stride(conf->max_sge);

	uroce_sq_init(&host->sq, allocate(host, uroce_ring_memsize(conf->sq_len, send_stride)),
		      conf->sq_len, conf->max_sge, conf->max_inline, is_ud);
	uroce_rq_init(&host->rq, allocate(host, uroce_ring_memsize(conf->rq_len, recv_stride)),
		      conf->rq_len, conf->max_sge);
	host->sq.is_xrc = conf->type == IBV_QPT_XRC_SEND;
	if (conf->has_srq || type_of(conf, host->side) == IBV_QPT_XRC_RECV)
		make_srq(host, conf);
	uroce_cq_init(&host->send_cq, allocate(host, uroce_cq_memsize(conf->cq_len)), conf->cq_len);
	uroce_cq_init(&host->recv_cq, allocate(host, uroce_cq_memsize(conf->cq_len)), conf->cq_len);
}

static void
make_path(struct pair_host *host, enum pair_side side, const struct pair_conf *pair)
{
	const bool is_ipv6 = pair->is_ipv6;
	struct uroce_path_conf conf = {
		.smac = { 2, 0, 0, 0, 0, (uint8_t)(side + 1) },
		.dmac = { 2, 0, 0, 0, 0, (uint8_t)(other(side) + 1) },
		.udp_sport = UDP_SPORT,
		.tclass = pair->tclass,
	};
	static const uint8_t prefix[2][16] = {
		{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2 },
		{ 0x20, 0x01, 0x0d, 0xb8 },
	};

	memcpy(conf.sip, prefix[is_ipv6], 16);
	memcpy(conf.dip, prefix[is_ipv6], 16);
	conf.sip[15] = (uint8_t)(side + 1);
	conf.dip[15] = (uint8_t)(other(side) + 1);
	uroce_path_init(&host->path, &conf);
}

static void
make_host(struct pair *pair, enum pair_side side)
{
	static const uint8_t secrets[2][16] = { "secret of host A", "secret of host B" };
	const struct pair_conf *conf = &pair->conf;
	struct pair_host *host = &pair->host[side];

	host->side = side;
	make_queues(host, conf);
	make_path(host, side, conf);
	host->mrs = uroce_mr_table_init(allocate(host, uroce_mr_table_memsize(NB_MR)), NB_MR,
					secrets[side]);
	if (conf->nb_hold)
		host->reorder_buffer = uroce_reorder_buffer_init(
			allocate(host, uroce_reorder_buffer_memsize(NB_GAPS, conf->nb_hold)),
			NB_GAPS, conf->nb_hold);
	host->rd_pool = uroce_rd_pool_init(allocate(host, uroce_rd_pool_memsize(NB_RD_BLOCKS)),
					   NB_RD_BLOCKS);
	host->limits = (struct uroce_qpc_limits){
		.nb_gids = 4,
		.nb_pkeys = sizeof(pkeys) / sizeof(pkeys[0]),
		.nb_ports = 1,
		.active_mtu = IBV_MTU_4096,
		.max_rd_atomic = UROCE_RD_ATOMIC_MAX,
		.max_dest_rd_atomic = UROCE_RD_ATOMIC_MAX,
		.window_bytes = conf->window_bytes,
	};
	const enum ibv_qp_type type = type_of(conf, side);
	const bool is_xrc = conf->type == IBV_QPT_XRC_SEND;
	const struct uroce_qpc_conf qpc_conf = {
		.type = type,
		.qpn = qpns[side],
		.pdn = pdns[side],
		.sq = type == IBV_QPT_XRC_RECV ? NULL : &host->sq,
		.rq = conf->has_srq || is_xrc ? NULL : &host->rq,
		.srq = conf->has_srq ? &host->srq : NULL,
		.srqs = host->srqs,
		.xrcd = XRCD,
		.send_cq = &host->send_cq,
		.recv_cq = is_xrc ? NULL : &host->recv_cq,
		.mrs = host->mrs,
		.rd_pool = host->rd_pool,
		.reorder_buffer = host->reorder_buffer,
		.counters = &host->counters,
		.window_psns = conf->window_psns,
		.is_req_gbn = conf->is_req_gbn,
		.is_resp_gbn = conf->is_resp_gbn,
		.cc = conf->cc,
		.limits = &host->limits,
		.pkeys = pkeys,
		.cookie = host,
	};

	uroce_qpc_init(&host->qpc, &qpc_conf);
	host->mem = allocate(host, conf->mem_len);
	host->key = pair_register(pair, side, host->mem, conf->mem_len,
				  ACCESS_ALL | IBV_ACCESS_MW_BIND);
}

void
pair_open_reset(struct pair *pair, const struct pair_conf *conf)
{
	assert(conf->burst <= PAIR_BURST_MAX);
	*pair = (struct pair){ .conf = *conf };
	make_host(pair, A);
	make_host(pair, B);
}

void
pair_open(struct pair *pair, const struct pair_conf *conf)
{
	pair_open_reset(pair, conf);
	pair_bring_up(pair, A, IBV_QPS_RTS);
	pair_bring_up(pair, B, IBV_QPS_RTS);
}

void
pair_close(struct pair *pair)
{
	for (unsigned side = A; side <= B; side++) {
		if (pair->host[side].reorder_buffer) {
			uroce_qpc_fini(&pair->host[side].qpc);
			link_reap(&pair->host[side]);
			assert_int_equal(
				uroce_reorder_buffer_count(pair->host[side].reorder_buffer), 0);
			assert_int_equal(
				uroce_reorder_buffer_count_gaps(pair->host[side].reorder_buffer),
				0);
		}
		for (unsigned i = 0; i < sizeof(pair->host[side].blocks) / sizeof(void *); i++)
			free(pair->host[side].blocks[i]);
	}
	link_free(pair);
	text_free(&pair->trace);
	text_free(&pair->done);
	*pair = (struct pair){ .now_ns = 0 };
}

/* --- states of the QPs --- */

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
	[IBV_QPT_UC] = { { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   [IBV_QPS_RTR] =
				   IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			   [IBV_QPS_RTS] = IBV_QP_SQ_PSN } },
	[IBV_QPT_UD] = { { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			   [IBV_QPS_RTS] = IBV_QP_SQ_PSN } },
};

int
pair_attr(const struct pair *pair, enum pair_side side, enum ibv_qp_state state,
	  struct ibv_qp_attr *attr)
{
	const struct pair_conf *conf = &pair->conf;

	*attr = (struct ibv_qp_attr){
		.qp_state = state,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = conf->access,
		.ah_attr = { .is_global = 1, .port_num = 1 },
		.path_mtu = conf->mtu,
		.dest_qp_num = qpns[other(side)],
		.rq_psn = conf->psn[other(side)],
		.sq_psn = conf->psn[side],
		.max_rd_atomic = conf->max_rd_atomic,
		.max_dest_rd_atomic = conf->max_dest_rd_atomic,
		.min_rnr_timer = conf->min_rnr_timer,
		.timeout = conf->timeout,
		.retry_cnt = conf->retry_cnt,
		.rnr_retry = conf->rnr_retry,
	};
	return IBV_QP_STATE | steps[type_of(conf, side)].mask[state];
}

/* Add the events of the last call to host->events, as the owner of the QP would do. */
static void
collect(struct pair_host *host)
{
	host->events |= host->qpc.events;
	host->qpc.events = 0;
}

int
pair_modify(struct pair *pair, enum pair_side side, const struct ibv_qp_attr *attr, int mask)
{
	struct pair_host *host = &pair->host[side];
	const int ret = uroce_qpc_modify(&host->qpc, attr, mask, &host->path, pair->now_ns);

	collect(host);
	return ret;
}

void
pair_set_state(struct pair *pair, enum pair_side side, enum ibv_qp_state state)
{
	const struct ibv_qp_attr attr = { .qp_state = state };

	assert_int_equal(pair_modify(pair, side, &attr, IBV_QP_STATE), 0);
}

void
pair_bring_up(struct pair *pair, enum pair_side side, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;

	for (int step = IBV_QPS_INIT; step <= (int)state; step++) {
		const int mask = pair_attr(pair, side, (enum ibv_qp_state)step, &attr);

		assert_int_equal(pair_modify(pair, side, &attr, mask), 0);
	}
}

/* --- memory of the hosts --- */

uint32_t
pair_register(struct pair *pair, enum pair_side side, void *addr, uint64_t len, unsigned access)
{
	const struct pair_host *host = &pair->host[side];
	const struct uroce_mr_conf conf = {
		.addr = addr,
		.iova = (uintptr_t)addr,
		.len = len,
		.pdn = pdns[side],
		.access = access,
	};
	uint32_t key;

	assert_int_equal(uroce_mr_add(host->mrs, &conf, &key), 0);
	return key;
}

void
pair_fill(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len, uint32_t seed)
{
	uint64_t random = seed + UINT64_C(0x9e3779b97f4a7c15);

	assert(offset + len <= pair->conf.mem_len);
	for (uint32_t i = 0; i < len; i += 8) {
		const uint64_t word = link_random(&random) >> 1;

		memcpy(pair->host[side].mem + offset + i, &word, len - i < 8 ? len - i : 8);
	}
}

bool
pair_is_equal(const struct pair *pair, uint32_t a, uint32_t b, uint32_t len)
{
	return !memcmp(pair->host[A].mem + a, pair->host[B].mem + b, len);
}

/* --- posting of requests --- */

int
pair_post_raw(struct pair *pair, enum pair_side side, struct ibv_send_wr *wr)
{
	struct pair_host *host = &pair->host[side];

	wr->wr_id = host->next_send_id;
	const int ret = uroce_sq_fill(&host->sq, 0, wr, host->sq.has_path ? &host->path : NULL,
				      !pair->conf.is_unsignaled);

	if (ret)
		return ret;
	host->next_send_id++;
	uroce_ring_push(&host->sq.ring, 1);
	return 0;
}

int
pair_post(struct pair *pair, enum pair_side side, const struct pair_wr *op)
{
	struct pair_host *host = &pair->host[side];
	const struct pair_host *peer = &pair->host[other(side)];
	const bool is_atomic = op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			       op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {
		.addr = (uintptr_t)host->mem + op->local,
		.length = is_atomic ? 8 : op->len,
		.lkey = host->key,
	};
	struct ibv_send_wr wr = {
		.opcode = op->opcode,
		.send_flags = op->flags,
		.sg_list = &sge,
		.num_sge = sge.length ? 1 : 0,
		.imm_data = op->imm,
		.qp_type.xrc.remote_srqn = op->srqn ? op->srqn : peer->srq.srqn,
	};

	if (host->sq.has_path) {
		wr.wr.ud.remote_qpn = peer->qpc.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (is_atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->mem + op->remote;
		wr.wr.atomic.rkey = peer->key;
		wr.wr.atomic.compare_add = op->compare_add;
		wr.wr.atomic.swap = op->swap;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->mem + op->remote;
		wr.wr.rdma.rkey = peer->key;
	}
	return pair_post_raw(pair, side, &wr);
}

int
pair_post_recv_raw(struct pair *pair, enum pair_side side, struct ibv_recv_wr *wr)
{
	struct pair_host *host = &pair->host[side];

	wr->wr_id = host->next_recv_id;
	const bool has_srq = host->srq.slots;
	const int ret = has_srq ? uroce_srq_post(&host->srq, wr) : uroce_rq_fill(&host->rq, 0, wr);

	if (ret)
		return ret;
	host->next_recv_id++;
	if (!has_srq)
		uroce_ring_push(&host->rq.ring, 1);
	return 0;
}

int
pair_post_recv(struct pair *pair, enum pair_side side, uint32_t offset, uint32_t len)
{
	struct pair_host *host = &pair->host[side];
	struct ibv_sge sge = {
		.addr = (uintptr_t)host->mem + offset,
		.length = len,
		.lkey = host->key,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = len ? 1 : 0 };

	return pair_post_recv_raw(pair, side, &wr);
}

/* --- faults of the wire that a test scripts --- */

void
pair_script(struct pair *pair, enum pair_side from, uint32_t nth, enum pair_action action)
{
	assert(pair->nb_actions < PAIR_ACTIONS);
	pair->actions[pair->nb_actions].from = from;
	pair->actions[pair->nb_actions].nth = pair->host[from].nb_sent + nth;
	pair->actions[pair->nb_actions].action = action;
	pair->nb_actions++;
}

void
pair_lose(struct pair *pair, enum pair_side from, uint32_t nth)
{
	pair_script(pair, from, nth, PAIR_LOSE);
}

void
pair_make_noise(struct pair *pair, const struct pair_noise *noise)
{
	assert(noise->seed);
	pair->noise = *noise;
}

/* --- the loop that advances time --- */

/* Check the invariants of a host's QP, which must be true between any two calls. */
static void
check_host(const struct pair_host *host)
{
	const struct uroce_qpc *qpc = &host->qpc;
	const struct uroce_req *req = &qpc->req;

	if (qpc->state == IBV_QPS_ERR) {
		assert_true(uroce_qpc_deadline(qpc) == UROCE_NEVER);
		assert_int_equal(qpc->resp.operation, UROCE_OPERATION_NONE);
	}
	if (!uroce_qpc_is_reliable(qpc) || !qpc->sq ||
	    (qpc->state != IBV_QPS_RTS && qpc->state != IBV_QPS_SQD))
		return;
	/*
	 * next_psn is between una_psn and max_psn; the packets in flight are at most two windows
	 * (fast retransmission) and a READ chunk
	 */
	const uint32_t window = uroce_psn_dist(req->una_psn, req->max_psn);

	assert_true(window < 2u * qpc->window_psns + UROCE_READ_CHUNK_PSNS);
	assert_true(uroce_psn_dist(req->una_psn, req->next_psn) <= window);
	assert_true(req->nb_rd_out <= qpc->attr.max_rd_atomic);
	/* the indexes of the send queue are in this order: una, next, begun, head */
	const uint32_t tail = uroce_ring_tail(&host->sq.ring);
	const uint32_t head = uroce_ring_head(&host->sq.ring);

	assert_int_equal(req->una_idx, tail);
	assert_true(req->next_idx - tail <= req->begun_idx - tail);
	assert_true(req->begun_idx - tail <= head - tail);
	assert_true(req->retry_left <= qpc->attr.retry_cnt);
	/* a QP with packets in flight has a timer */
	if (window && uroce_qpc_ack_timeout_ns(qpc))
		assert_true(uroce_qpc_deadline(qpc) != UROCE_NEVER);
	assert_true(__builtin_popcount(qpc->resp.pending) <= UROCE_RD_ATOMIC_MAX);
}

/*
 * Send a burst of one side.
 * @return whether the side may have more to send now
 */
static bool
send_burst(struct pair *pair, enum pair_side side, bool is_wired)
{
	struct pair_host *host = &pair->host[side];
	uint8_t hdr[PAIR_BURST_MAX][UROCE_HDR_MAX + 4096];
	struct uroce_txd txd[PAIR_BURST_MAX];
	const uint32_t send_tail = uroce_ring_tail(&host->sq.ring);
	const uint32_t recv_tail = uroce_ring_tail(&host->rq.ring);
	const bool has_work = uroce_qpc_has_work(&host->qpc);

	for (unsigned i = 0; i < pair->conf.burst; i++)
		txd[i] = (struct uroce_txd){ .hdr = hdr[i] };
	const unsigned nb = uroce_qpc_send(&host->qpc, txd, pair->conf.burst, pair->now_ns);

	assert_true(nb <= pair->conf.burst);
	/* if the QP reports no work, a call must send and complete nothing */
	assert_true(has_work || nb == 0);
	assert_true(has_work || (send_tail == uroce_ring_tail(&host->sq.ring) &&
				 recv_tail == uroce_ring_tail(&host->rq.ring)));
	for (unsigned i = 0; i < nb; i++)
		link_send(pair, side, &txd[i], is_wired);
	if (nb)
		uroce_qpc_sent(&host->qpc, pair->now_ns);
	collect(host);
	check_host(host);
	return nb == pair->conf.burst;
}

static void
expire(struct pair *pair, enum pair_side side)
{
	struct pair_host *host = &pair->host[side];
	const uint64_t nb_timeouts = host->qpc.stats.timeouts;

	if (uroce_qpc_deadline(&host->qpc) > pair->now_ns)
		return;
	uroce_qpc_expire(&host->qpc, pair->now_ns);
	if (!pair->conf.is_quiet)
		text_add(&pair->trace, "%c %s\n", side == A ? 'A' : 'B',
			 host->qpc.stats.timeouts != nb_timeouts ? "TIMEOUT" : "RNR_TIMER");
	collect(host);
	check_host(host);
	/* a timer that has expired must not be due again at once */
	assert_true(uroce_qpc_deadline(&host->qpc) > pair->now_ns);
}

/* Execute all events that are due now. */
static void
go_round(struct pair *pair)
{
	link_deliver(pair);
	for (unsigned side = A; side <= B; side++) {
		collect(&pair->host[side]);
		check_host(&pair->host[side]);
		expire(pair, (enum pair_side)side);
	}
	for (unsigned side = A; side <= B; side++)
		pair->host[side].has_more = send_burst(pair, (enum pair_side)side, true);
}

static uint64_t
min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The time of the next event; UROCE_NEVER: there is none. */
static uint64_t
next_ns(const struct pair *pair)
{
	uint64_t at = link_next_ns(pair);

	for (unsigned side = A; side <= B; side++) {
		at = min_ns(at, uroce_qpc_deadline(&pair->host[side].qpc));
		if (pair->host[side].has_more)
			at = min_ns(at, pair->now_ns + PAIR_GAP_NS);
	}
	return at;
}

bool
pair_step(struct pair *pair)
{
	const uint64_t at = next_ns(pair);

	if (at == UROCE_NEVER)
		return false;
	if (at > pair->now_ns)
		pair->now_ns = at;
	go_round(pair);
	return true;
}

void
pair_run(struct pair *pair)
{
	unsigned nb = 0;

	go_round(pair);
	while (pair_step(pair))
		assert_true(++nb < STEPS_MAX);
}

void
pair_run_for(struct pair *pair, uint64_t ns)
{
	const uint64_t end = pair->now_ns + ns;

	go_round(pair);
	while (next_ns(pair) <= end)
		pair_step(pair);
	pair->now_ns = end;
}

void
pair_flush(struct pair *pair, enum pair_side side)
{
	while (send_burst(pair, side, false))
		;
}

void
pair_wait(struct pair *pair, enum pair_side side, uint64_t ns)
{
	pair->now_ns += ns;
	expire(pair, side);
}

/* --- comparison of the trace and of completions --- */

void
pair_expect_trace(struct pair *pair, const char *expected)
{
	assert_string_equal(text_get(&pair->trace), expected);
	text_clear(&pair->trace);
}

static const char *
opcode_name(enum ibv_wc_opcode opcode)
{
	switch ((int)opcode) {
	case IBV_WC_SEND:
		return "SEND";
	case IBV_WC_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WC_RDMA_READ:
		return "RDMA_READ";
	case IBV_WC_DRIVER1:
		return "DRIVER1";
	case IBV_WC_COMP_SWAP:
		return "COMP_SWAP";
	case IBV_WC_FETCH_ADD:
		return "FETCH_ADD";
	case UROCE_WC_FLUSH:
		return "FLUSH";
	case UROCE_WC_ATOMIC_WRITE:
		return "ATOMIC_WRITE";
	case IBV_WC_BIND_MW:
		return "BIND_MW";
	case IBV_WC_LOCAL_INV:
		return "LOCAL_INV";
	case IBV_WC_RECV:
		return "RECV";
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return "RECV_RDMA_WITH_IMM";
	}
	return "?";
}

static void
note_completion(struct pair *pair, const struct ibv_wc *wc, bool is_recv)
{
	text_add(&pair->done, "%s %u", is_recv ? "recv" : "send", (unsigned)wc->wr_id);
	/* verbs define only wr_id, status, qp_num and vendor_err of a failed request */
	if (wc->status == IBV_WC_SUCCESS)
		text_add(&pair->done, " %s", opcode_name(wc->opcode));
	text_add(&pair->done, " %s", name_of_status(wc->status));
	if (is_recv && wc->status == IBV_WC_SUCCESS)
		text_add(&pair->done, " %u", wc->byte_len);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		text_add(&pair->done, " imm %08x", wc->imm_data);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		text_add(&pair->done, " invalidated");
	if (wc->wc_flags & IBV_WC_GRH)
		text_add(&pair->done, " from %x", wc->src_qp);
	text_add(&pair->done, "\n");
}

const char *
pair_completions(struct pair *pair, enum pair_side side)
{
	struct pair_host *host = &pair->host[side];
	struct ibv_wc wc;

	text_clear(&pair->done);
	while (uroce_cq_poll(&host->send_cq, 1, &wc) == 1)
		note_completion(pair, &wc, false);
	while (uroce_cq_poll(&host->recv_cq, 1, &wc) == 1)
		note_completion(pair, &wc, true);
	return text_get(&pair->done);
}

void
pair_expect_done(struct pair *pair, enum pair_side side, const char *expected)
{
	assert_string_equal(pair_completions(pair, side), expected);
}

uint32_t
pair_events(struct pair *pair, enum pair_side side)
{
	struct pair_host *host = &pair->host[side];
	const uint32_t events = host->events | host->qpc.events;

	host->events = 0;
	host->qpc.events = 0;
	return events;
}
