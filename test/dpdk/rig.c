/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The implementation of rig.h: devices and QPs for tests. Most tests create their devices with
 * drive=none and drive them in the thread of the test. So each run of such a test has the same
 * order of events.
 */

#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/worker/round.h"

struct uroce_dev *dev_a, *dev_b;
uint8_t rig_timeout = 14;

#define TIMEOUT_S 300 /* time limit in seconds, which only a hang exceeds */
#define PDN       7

/* Make the argument of EAL for three lcores that may use all CPUs of the process. */
static void
name_lcores(char *text, size_t room)
{
	cpu_set_t cpus;
	int len = snprintf(text, room, "--lcores=(0,1,2)@(");
	const char *comma = "";

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		CPU_ZERO(&cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE && (size_t)len + 8 < room; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		len += snprintf(text + len, room - (size_t)len, "%s%d", comma, cpu);
		comma = ",";
	}
	snprintf(text + len, room - (size_t)len, ")");
}

bool
rig_init(void)
{
	char lcores[128];
	char *argv[] = { (char *)"test",
			 (char *)"--no-huge",
			 (char *)"--no-pci",
			 (char *)"-m",
			 (char *)"256",
			 (char *)"--no-shconf",
			 (char *)"--no-telemetry",
			 (char *)"--log-level=lib.eal:error",
			 lcores };

	name_lcores(lcores, sizeof(lcores));
	return rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])), argv) >= 0;
}

void
rig_wire(const char *a, const char *b, unsigned nb_queues, unsigned shift)
{
	struct rte_ring *there[8], *back[8], *a_in[8], *b_in[8];
	char name[64];

	assert_true(nb_queues <= 8);
	for (unsigned i = 0; i < nb_queues; i++) {
		snprintf(name, sizeof(name), "%s_tx%u", a, i);
		there[i] = rte_ring_create(name, 1024, 0, 0);
		snprintf(name, sizeof(name), "%s_tx%u", b, i);
		back[i] = rte_ring_create(name, 1024, 0, 0);
		assert_non_null(there[i]);
		assert_non_null(back[i]);
	}
	for (unsigned i = 0; i < nb_queues; i++) {
		a_in[(i + shift) % nb_queues] = back[i];
		b_in[(i + shift) % nb_queues] = there[i];
	}
	assert_true(rte_eth_from_rings(a, a_in, nb_queues, there, nb_queues, 0) >= 0);
	assert_true(rte_eth_from_rings(b, b_in, nb_queues, back, nb_queues, 0) >= 0);
}

/*
 * The factor of the clock for the time stamp counter, while rig_own_clock() has replaced this
 * clock; otherwise 0.
 */
static uint64_t counter_factor;

/* Use the time stamp counter as the clock again. The clock must not go back. */
void
rig_end_own_clock(void)
{
	const uint64_t now_ns = uroce_clock_ns();

	if (counter_factor == 0)
		return;
	uroce_clock_base = 0;
	uroce_clock_factor = counter_factor;
	counter_factor = 0;
	if (uroce_clock_ns() < now_ns)
		uroce_clock_base = now_ns - uroce_clock_ns();
}

struct uroce_dev *
rig_dev(const char *spec)
{
	struct uroce_dev_conf conf;
	struct uroce_dev *dev = NULL;

	const time_t end = time(NULL) + TIMEOUT_S;
	int ret;

	rig_end_own_clock();
	assert_int_equal(uroce_dev_conf_parse(spec, &conf), 0);
	/*
	 * The creation fails after some seconds if the scheduler delays uroced. So repeat the
	 * creation.
	 */
	do
		ret = uroce_dev_create(&conf, &dev);
	while (ret == -ETIMEDOUT && time(NULL) < end);
	assert_int_equal(ret, 0);
	return dev;
}

void
rig_pair(unsigned nb_queues, unsigned shift)
{
	char spec[64];

	rig_wire("a", "b", nb_queues, shift);
	snprintf(spec, sizeof(spec), "net_ring_a,drive=none,workers=%u,addr=192.0.2.1/24",
		 nb_queues);
	dev_a = rig_dev(spec);
	snprintf(spec, sizeof(spec), "net_ring_b,drive=none,workers=%u,addr=192.0.2.2/24",
		 nb_queues);
	dev_b = rig_dev(spec);
}

int
rig_teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	assert_int_equal(uroce_dev_destroy(dev_b), 0);
	return 0;
}

static void *
room(struct rig_qp *qp, unsigned i, size_t len)
{
	qp->mem[i] = aligned_alloc(64, (len + 63) / 64 * 64);
	assert_non_null(qp->mem[i]);
	memset(qp->mem[i], 0, len);
	return qp->mem[i];
}

static void
make_queues(struct rig_qp *qp, bool has_path)
{
	const uint32_t s = uroce_send_wqe_stride(1, 0, has_path);
	const uint32_t r = uroce_recv_wqe_stride(1);

	uroce_sq_init(&qp->sq, room(qp, 0, uroce_ring_memsize(RIG_WR, s)), RIG_WR, 1, 0, has_path);
	uroce_rq_init(&qp->rq, room(qp, 1, uroce_ring_memsize(RIG_WR, r)), RIG_WR, 1);
	uroce_cq_init(&qp->scq, room(qp, 2, uroce_cq_memsize(2 * RIG_WR)), 2 * RIG_WR);
	uroce_cq_init(&qp->rcq, room(qp, 3, uroce_cq_memsize(2 * RIG_WR)), 2 * RIG_WR);
}

static void
register_buf(struct rig_qp *qp)
{
	struct uroce_mr_conf conf = {
		.len = RIG_BUF_LEN,
		.pdn = PDN,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	qp->buf = aligned_alloc(64, RIG_BUF_LEN);
	assert_non_null(qp->buf);
	memset(qp->buf, 0, RIG_BUF_LEN);
	conf.addr = qp->buf;
	conf.iova = (uintptr_t)qp->buf;
	assert_int_equal(uroce_mr_add(qp->dev->mrs, &conf, &qp->key), 0);
}

struct uroce_srq *rig_shared;

/*
 * Set the queues of a QP. An XRC_SEND QP has no receive queue, and an XRC_RECV QP has no send
 * queue.
 */
static void
fill_queues(struct uroce_qpc_conf *conf, struct rig_qp *qp)
{
	qp->sq.is_xrc = conf->type == IBV_QPT_XRC_SEND;
	conf->send_cq = &qp->scq;
	if (conf->type == IBV_QPT_XRC_RECV) {
		conf->srqs = qp->dev->srqs;
		conf->xrcd = RIG_XRCD;
		return;
	}
	conf->sq = &qp->sq;
	if (conf->type == IBV_QPT_XRC_SEND)
		return;
	conf->rq = rig_shared ? NULL : &qp->rq;
	conf->srq = rig_shared;
	conf->recv_cq = &qp->rcq;
}

struct rig_qp *
rig_qp(struct uroce_dev *dev, unsigned worker, enum ibv_qp_type type)
{
	struct rig_qp *qp = aligned_alloc(64, (sizeof(*qp) + 63) / 64 * 64);
	struct uroce_qpc_conf conf = {
		.type = type,
		.pdn = PDN,
		.mrs = dev->mrs,
		.rd_pool = uroce_worker_rd_pool(dev->worker[worker]),
		.reorder_buffer = uroce_worker_reorder_buffer(dev->worker[worker]),
		.counters = uroce_worker_counters(dev->worker[worker]),
		.unpublished = uroce_worker_unpublished(dev->worker[worker]),
		.cc = dev->conf.cc.ops ? &dev->cc : NULL,
		.limits = &dev->limits,
		.pkeys = dev->pkeys,
	};

	assert_non_null(qp);
	memset(qp, 0, sizeof(*qp));
	qp->dev = dev;
	make_queues(qp, type == IBV_QPT_UD);
	register_buf(qp);
	assert_int_equal(uroce_dev_alloc_qpn(dev, &conf.qpn), 0);
	conf.cookie = qp;
	fill_queues(&conf, qp);
	uroce_qpc_init(&qp->wqp.qpc, &conf);
	qp->wqp.event_cookie = qp;
	assert_int_equal(uroce_dev_add_qp(dev, &qp->wqp, dev->worker[worker]), 0);
	return qp;
}

void
rig_qp_free(struct rig_qp *qp)
{
	const uint32_t qpn = qp->wqp.qpc.qpn;

	uroce_dev_remove_qp(qp->dev, &qp->wqp);
	uroce_dev_free_qpn(qp->dev, qpn);
	assert_int_equal(uroce_mr_invalidate(qp->dev->mrs, qp->key), 0);
	uroce_dev_grace(qp->dev);
	uroce_mr_free(qp->dev->mrs, qp->key);
	for (unsigned i = 0; i < 4; i++)
		free(qp->mem[i]);
	free(qp->buf);
	free(qp);
}

void (*rig_meanwhile)(struct uroce_dev *peer) = rig_drive;

/* A thread that drives the device of a peer, so that the peer can respond. */
struct driver {
	struct uroce_dev *dev;
	pthread_t thread;
	atomic_bool is_stopping;
};

static void *
drive(void *arg)
{
	struct driver *driver = arg;

	while (!atomic_load(&driver->is_stopping)) {
		rig_meanwhile(driver->dev);
		sched_yield();
	}
	return NULL;
}

static int
resolve_towards(const struct rig_qp *qp, struct uroce_dev *peer, const struct ibv_ah_attr *av,
		struct uroce_path *path)
{
	struct driver driver = { .dev = peer };
	const time_t end = time(NULL) + TIMEOUT_S;
	int ret;

	assert_int_equal(pthread_create(&driver.thread, NULL, drive, &driver), 0);
	/*
	 * The resolution fails after a second if the scheduler delays the thread of the peer. So
	 * repeat the resolution.
	 */
	do
		ret = uroce_dev_resolve(qp->dev, av, 0xc000, path);
	while (ret == -ETIMEDOUT && time(NULL) < end);
	atomic_store(&driver.is_stopping, true);
	pthread_join(driver.thread, NULL);
	return ret;
}

/* Arguments of uroce_qpc_modify(), for call_modify() on the worker. */
struct modify {
	struct rig_qp *qp;
	const struct ibv_qp_attr *attr;
	int mask;
	const struct uroce_path *path;
};

static int
call_modify(void *arg)
{
	const struct modify *m = arg;

	return uroce_qpc_modify(&m->qp->wqp.qpc, m->attr, m->mask, m->path,
				uroce_worker_now_ns(m->qp->wqp.worker));
}

static int
modify(struct rig_qp *qp, const struct ibv_qp_attr *attr, int mask, const struct uroce_path *path)
{
	struct modify m = { .qp = qp, .attr = attr, .mask = mask, .path = path };

	return uroce_worker_call(qp->wqp.worker, &qp->wqp, call_modify, &m);
}

int
rig_modify(struct rig_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	return modify(qp, attr, mask, NULL);
}

/*
 * The attributes for RTR that only QPs with a responder need, and the attributes for RTS that only
 * QPs with a requester need.
 */
#define ANSWER_RTR (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define ASK_RTS    (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/*
 * Move a QP from RESET to RTS.
 * @param rtr  attributes of the peer: ah_attr, dest_qp_num
 */
static void
take_to_rts(struct rig_qp *qp, struct ibv_qp_attr rtr, const struct uroce_path *path,
	    uint8_t timeout)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffff0,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	const enum ibv_qp_type type = qp->wqp.qpc.type;
	const bool is_acked = type != IBV_QPT_UC;
	const bool can_ask = is_acked && type != IBV_QPT_XRC_RECV;
	const bool can_answer = is_acked && type != IBV_QPT_XRC_SEND;

	rtr.qp_state = IBV_QPS_RTR;
	rtr.path_mtu = (enum ibv_mtu)qp->dev->limits.active_mtu;
	rtr.rq_psn = 0xfffff0;
	rtr.max_dest_rd_atomic = 4;
	rtr.min_rnr_timer = 12;
	assert_int_equal(
		rig_modify(qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	assert_int_equal(modify(qp, &rtr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | (can_answer ? ANSWER_RTR : 0),
				path),
			 0);
	assert_int_equal(rig_modify(qp, &rts,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | (is_acked ? IBV_QP_TIMEOUT : 0) |
					    (can_ask ? ASK_RTS : 0)),
			 0);
}

void
rig_connect(struct rig_qp *qp, const struct rig_qp *peer, uint8_t gid)
{
	struct ibv_qp_attr rtr = {
		.dest_qp_num = peer->wqp.qpc.qpn,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = gid },
	};
	struct uroce_path path;

	memcpy(rtr.ah_attr.grh.dgid.raw, peer->dev->gids->addr[gid].ip, 16);
	assert_int_equal(resolve_towards(qp, peer->dev, &rtr.ah_attr, &path), 0);
	take_to_rts(qp, rtr, &path, rig_timeout);
}

void
rig_connect_nowhere(struct rig_qp *qp, uint8_t timeout)
{
	const struct uroce_path_conf conf = {
		.smac = { 2, 0, 0, 0, 0, 1 },
		.dmac = { 2, 0, 0, 0, 0, 2 },
		.sip = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.dip = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
		.udp_sport = 0xc000,
	};
	struct ibv_qp_attr rtr = {
		.dest_qp_num = 17,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};
	struct uroce_path path;

	memcpy(rtr.ah_attr.grh.dgid.raw, conf.dip, 16);
	uroce_path_init(&path, &conf);
	take_to_rts(qp, rtr, &path, timeout);
}

void
rig_queue_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
	       uint32_t len, const struct rig_qp *target, uint32_t target_offset)
{
	struct ibv_sge sge = { .addr = (uintptr_t)qp->buf + offset,
			       .length = len,
			       .lkey = qp->key };
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (target) {
		wr.wr.rdma.remote_addr = (uintptr_t)target->buf + target_offset;
		wr.wr.rdma.rkey = target->key;
	}
	uroce_lock_take(&qp->sq.lock);
	assert_int_equal(uroce_sq_fill(&qp->sq, 0, &wr, NULL, false), 0);
	uroce_ring_push(&qp->sq.ring, 1);
	uroce_lock_release(&qp->sq.lock);
}

void
rig_post_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
	      uint32_t len, const struct rig_qp *target, uint32_t target_offset)
{
	rig_queue_send(qp, opcode, wr_id, offset, len, target, target_offset);
	uroce_worker_ring_doorbell(qp->wqp.worker, &qp->wqp);
}

void
rig_post_recv(struct rig_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)qp->buf + offset,
			       .length = len,
			       .lkey = qp->key };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(uroce_rq_fill(&qp->rq, 0, &wr), 0);
	uroce_ring_push(&qp->rq.ring, 1);
}

/*
 * Free the frames that a device has received and processed. The mbufs of these frames belong to the
 * pool of the other device.
 */
static void
free_received(const struct uroce_dev *dev)
{
	for (unsigned i = 0; dev && i < dev->nb_workers; i++)
		uroce_rx_free(dev->worker[i]);
}

unsigned
rig_nb_away(const struct uroce_dev *dev)
{
	const struct uroce_worker *worker = dev->worker[0];

	free_received(dev_a);
	free_received(dev_b);
	return rte_mempool_in_use_count(worker->pool) - worker->tx.nb_spare - worker->tx.nb_pending;
}

void
rig_own_clock(void)
{
	const uint64_t now_ns = uroce_clock_ns();

	if (uroce_clock_factor != 0)
		counter_factor = uroce_clock_factor;
	uroce_clock_factor = 0;
	uroce_clock_base = now_ns;
}

void
rig_drive(struct uroce_dev *dev)
{
	if (uroce_clock_factor == 0)
		uroce_clock_base += 1000;
	for (unsigned i = 0; i < dev->nb_workers; i++)
		(void)uroce_worker_poll(dev->worker[i]);
}

struct ibv_wc
rig_await(struct uroce_cq *cq, struct uroce_dev *a, struct uroce_dev *b)
{
	const uint64_t end = rte_rdtsc() + TIMEOUT_S * rte_get_tsc_hz();
	struct ibv_wc wc;

	while (uroce_cq_poll(cq, 1, &wc) == 0) {
		assert_true(rte_rdtsc() < end);
		rig_drive(a);
		rig_drive(b);
	}
	return wc;
}

struct ibv_wc
rig_wait(struct uroce_cq *cq)
{
	const uint64_t end = rte_rdtsc() + TIMEOUT_S * rte_get_tsc_hz();
	struct ibv_wc wc;

	while (uroce_cq_poll(cq, 1, &wc) == 0) {
		assert_true(rte_rdtsc() < end);
		sched_yield();
	}
	return wc;
}

void
rig_fill(struct rig_qp *qp, uint8_t seed)
{
	for (uint32_t i = 0; i < RIG_BUF_LEN; i++)
		qp->buf[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

void
rig_check(const struct rig_qp *qp, uint32_t offset, const struct rig_qp *from, uint32_t from_offset,
	  uint32_t len)
{
	assert_memory_equal(qp->buf + offset, from->buf + from_offset, len);
}
