/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared receive queues and the worker. An XRC request must use the shared receive queue that it
 * names, whichever worker owns the target QP. Completions must go to the CQ of the shared receive
 * queue, and errors must become events of the device. A shared receive queue must not be used after
 * its destruction.
 */

#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <rte_mbuf.h>

#define NB_WR    8
#define BUF_LEN  16384
#define OTHER_PD 99

static struct rig_qp *a, *b; /* QP a is the initiator, QP b the target */

/* A shared receive queue with its CQ and the memory of its requests. */
struct queue {
	struct uroce_worker_srq wsrq;
	struct uroce_cq cq;
	struct uroce_cq_notify notify;
	uint8_t *buf;
	uint32_t key;
	void *mem[2];
};

static struct queue *one, *two;

static void
post_recv(struct queue *queue, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)queue->buf,
			       .length = BUF_LEN,
			       .lkey = queue->key };
	const struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	uroce_lock_take(&queue->wsrq.srq.lock);
	assert_int_equal(uroce_srq_post(&queue->wsrq.srq, &wr), 0);
	uroce_lock_release(&queue->wsrq.srq.lock);
}

static struct queue *
make_queue(uint32_t xrcd)
{
	struct queue *queue = aligned_alloc(64, (sizeof(*queue) + 63) / 64 * 64);
	const struct uroce_srq_conf conf = {
		.max_wr = NB_WR,
		.max_sge = 1,
		.pdn = OTHER_PD, /* a different protection domain from that of the target QP */
		.xrcd = xrcd,
		.cq = xrcd ? &queue->cq : NULL,
		.cookie = queue,
	};
	struct uroce_mr_conf mr = {
		.len = BUF_LEN,
		.pdn = OTHER_PD,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	assert_non_null(queue);
	memset(queue, 0, sizeof(*queue));
	queue->mem[0] = aligned_alloc(64, (uroce_srq_memsize(NB_WR, 1) + 63) / 64 * 64);
	queue->mem[1] = aligned_alloc(64, (uroce_cq_memsize(NB_WR) + 63) / 64 * 64);
	queue->buf = calloc(1, BUF_LEN);
	uroce_srq_init(&queue->wsrq.srq, queue->mem[0], &conf);
	uroce_cq_init(&queue->cq, queue->mem[1], NB_WR);
	queue->notify.event_fd = -1;
	queue->cq.cookie = &queue->notify;
	mr.addr = queue->buf;
	mr.iova = (uintptr_t)queue->buf;
	assert_int_equal(uroce_mr_add(dev_b->mrs, &mr, &queue->key), 0);
	if (xrcd)
		assert_int_equal(uroce_dev_add_srq(dev_b, &queue->wsrq), 0);
	return queue;
}

static void
free_queue(struct queue *queue)
{
	if (queue->wsrq.srq.xrcd)
		uroce_dev_remove_srq(dev_b, &queue->wsrq);
	assert_int_equal(uroce_mr_invalidate(dev_b->mrs, queue->key), 0);
	uroce_dev_grace(dev_b);
	uroce_mr_free(dev_b->mrs, queue->key);
	free(queue->buf);
	free(queue->mem[0]);
	free(queue->mem[1]);
	free(queue);
}

static void
post_send(enum ibv_wr_opcode opcode, uint32_t srqn, uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->buf + offset, .length = len, .lkey = a->key };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = srqn,
		/*
		 * The rkey is valid in the protection domain of the shared receive queue, but not
		 * in that of the target QP.
		 */
		.wr.rdma = { .remote_addr = (uintptr_t)one->buf, .rkey = one->key },
	};

	uroce_lock_take(&a->sq.lock);
	assert_int_equal(uroce_sq_fill(&a->sq, 0, &wr, NULL, false), 0);
	uroce_ring_push(&a->sq.ring, 1);
	uroce_lock_release(&a->sq.lock);
	uroce_worker_ring_doorbell(a->wqp.worker, &a->wqp);
}

static void
expect_event(enum ibv_event_type type, const void *cookie)
{
	struct uroce_dev_event event;

	assert_true(uroce_dev_event_pop(dev_b, &event));
	assert_int_equal(event.type, type);
	assert_ptr_equal(event.cookie, cookie);
}

static void
expect_no_event(void)
{
	struct uroce_dev_event event;

	assert_false(uroce_dev_event_pop(dev_b, &event));
}

static void
xrc__a_request_finds_the_queue_that_it_names(void **state)
{
	(void)state;
	post_recv(one, 1);
	post_recv(two, 2);
	post_send(IBV_WR_SEND, two->wsrq.srq.srqn, 0, 10000);
	post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 10000, 9000);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_await(&one->cq, dev_a, dev_b).wr_id, 1);
	assert_int_equal(rig_await(&two->cq, dev_a, dev_b).wr_id, 2);
	assert_memory_equal(two->buf, a->buf, 10000);
	assert_memory_equal(one->buf, a->buf + 10000, 9000);
}

static void
xrc__each_queues_consumer_is_notified_once(void **state)
{
	(void)state;
	post_recv(one, 1);
	post_recv(two, 2);
	uroce_cq_arm(&one->cq, false);
	uroce_cq_arm(&two->cq, false);
	/* QP b receives both messages in one burst */
	post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 0, 100);
	post_send(IBV_WR_SEND, two->wsrq.srq.srqn, 0, 100);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	assert_int_equal(one->notify.nb_events, 1);
	assert_int_equal(two->notify.nb_events, 1);
}

static void
xrc__a_queue_below_its_limit_is_an_event(void **state)
{
	(void)state;
	post_recv(one, 1);
	post_recv(one, 2);
	assert_false(uroce_srq_arm(&one->wsrq.srq, 2));
	expect_no_event();
	post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 0, 100);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, one);
	expect_no_event();
}

/* The CQ of a shared receive queue gets one completion more than it can hold. */
static void
xrc__a_queue_whose_cq_overruns_fails_the_target(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_WR; i++) {
		post_recv(one, i);
		post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 0, 100);
		assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	}
	post_recv(one, NB_WR);
	post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 0, 100);
	(void)rig_await(&a->scq, dev_a, dev_b);
	expect_event(IBV_EVENT_CQ_ERR, &one->cq);
	assert_int_equal(b->wqp.qpc.state, IBV_QPS_ERR);
}

static void
xrc__reads_are_served_from_the_workers_pool(void **state)
{
	struct uroce_rd_pool *pool = uroce_worker_rd_pool(b->wqp.worker);

	(void)state;
	memset(one->buf, 0x5a, BUF_LEN);
	assert_int_equal(uroce_rd_pool_count(pool), 0);
	post_send(IBV_WR_RDMA_READ, one->wsrq.srq.srqn, 20000, BUF_LEN);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	assert_memory_equal(a->buf + 20000, one->buf, BUF_LEN);
	assert_int_equal(uroce_rd_pool_count(pool), 1);
}

/*
 * The shared receive queue is destroyed in the middle of a message of two packets. The first packet
 * has taken a receive request of the queue.
 */
static void
xrc__a_queue_that_ends_cuts_its_message_off(void **state)
{
	struct rte_mbuf *frames[8], *rest[8];
	unsigned nb;

	(void)state;
	post_recv(one, 1);
	post_send(IBV_WR_SEND, one->wsrq.srq.srqn, 0, 5000);
	nb = uroce_worker_output(a->wqp.worker, frames, 8);
	assert_int_equal(nb, 2);
	assert_int_equal(uroce_worker_input(b->wqp.worker, frames, 1, rest), 0);
	assert_ptr_equal(b->wqp.qpc.srq, &one->wsrq.srq);
	assert_non_null(b->wqp.qpc.resp.recv);
	free_queue(one);
	assert_null(b->wqp.qpc.srq);
	assert_null(b->wqp.qpc.resp.recv);
	assert_int_equal(uroce_worker_input(b->wqp.worker, frames + 1, 1, rest), 0);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_REM_INV_REQ_ERR);
	one = make_queue(RIG_XRCD);
}

static void
srq__the_last_request_of_a_qp_is_an_event(void **state)
{
	const struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct queue *queue = make_queue(0);
	struct rig_qp *qp, *peer;

	(void)state;
	rig_shared = &queue->wsrq.srq;
	qp = rig_qp(dev_b, 1, IBV_QPT_RC);
	rig_shared = NULL;
	peer = rig_qp(dev_a, 1, IBV_QPT_RC);
	rig_connect(qp, peer, 1);
	assert_int_equal(rig_modify(qp, &error, IBV_QP_STATE), 0);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, qp);
	expect_no_event();
	rig_qp_free(qp);
	rig_qp_free(peer);
	free_queue(queue);
}

static int
connect_pair(void **state)
{
	(void)state;
	one = make_queue(RIG_XRCD);
	two = make_queue(RIG_XRCD);
	a = rig_qp(dev_a, 1, IBV_QPT_XRC_SEND);
	b = rig_qp(dev_b, 1, IBV_QPT_XRC_RECV);
	rig_connect(b, a, 1);
	rig_connect(a, b, 1);
	rig_fill(a, 1);
	return 0;
}

static int
free_pair(void **state)
{
	(void)state;
	free_queue(one);
	rig_qp_free(a);
	rig_qp_free(b);
	free_queue(two);
	return 0;
}

static int
group_setup(void **state)
{
	(void)state;
	/*
	 * The rings connect each worker to the other worker of the peer, so frames for worker 1
	 * arrive at worker 0, which forwards them.
	 */
	rig_pair(2, 1);
	return 0;
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, connect_pair, free_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(xrc__a_request_finds_the_queue_that_it_names),
		pair_test(xrc__each_queues_consumer_is_notified_once),
		pair_test(xrc__a_queue_below_its_limit_is_an_event),
		pair_test(xrc__a_queue_whose_cq_overruns_fails_the_target),
		pair_test(xrc__reads_are_served_from_the_workers_pool),
		pair_test(xrc__a_queue_that_ends_cuts_its_message_off),
		cmocka_unit_test(srq__the_last_request_of_a_qp_is_an_event),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, rig_teardown);
}
