/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Migration of a QP to the worker that receives its frames. Every byte must arrive once and in
 * order, no packet may be retransmitted, and only the worker of the QP may call functions of the
 * QP. The rings connect the workers so that every frame would have to be forwarded if no QP
 * migrated.
 */

#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "datapath/worker/round.h"

/* --- checks of the calls of each QP ------------------------------------------------------------ */

#define MAX_QPS 64

static struct {
	const struct uroce_qpc *qpc;
	atomic_uint nb_inside;
} watched[MAX_QPS];
/* number of entries of `watched`; atomic because the threads of the workers read it */
static atomic_uint nb_watched;
/* number of calls of functions of a QP during another call for the same QP */
static atomic_uint nb_meetings;
/* number of calls by a thread that does not drive the worker of the QP */
static atomic_uint nb_strangers;
/* number of migrations of a QP whose CQ was still on a list of the worker that the QP left */
static atomic_uint nb_left;
/* index of the worker of this thread plus 1; 0 if this thread drives all workers */
static _Thread_local unsigned my_worker;

static unsigned
enter(const struct uroce_qpc *qpc)
{
	unsigned at = 0;

	while (at < nb_watched && watched[at].qpc != qpc)
		at++;
	if (at < nb_watched && my_worker > 0 &&
	    uroce_worker_qp_worker(RTE_PTR_SUB(qpc, offsetof(struct uroce_worker_qp, qpc)))->idx +
			    1 !=
		    my_worker)
		atomic_fetch_add(&nb_strangers, 1);
	if (at < nb_watched && atomic_fetch_add(&watched[at].nb_inside, 1) > 0)
		atomic_fetch_add(&nb_meetings, 1);
	return at;
}

static void
leave(unsigned at)
{
	if (at < nb_watched)
		atomic_fetch_sub(&watched[at].nb_inside, 1);
}

unsigned __real_uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				     unsigned nb, uint8_t *verdicts, uint64_t now_ns);
unsigned __wrap_uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts,
				     unsigned nb, uint8_t *verdicts, uint64_t now_ns);
unsigned __real_uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			       uint64_t now_ns);
unsigned __wrap_uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			       uint64_t now_ns);
void __real_uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns);
void __wrap_uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns);

unsigned
__wrap_uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb,
			    uint8_t *verdicts, uint64_t now_ns)
{
	const unsigned at = enter(qpc);
	const unsigned ret = __real_uroce_qpc_recv_burst(qpc, pkts, nb, verdicts, now_ns);

	leave(at);
	return ret;
}

unsigned
__wrap_uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	const unsigned at = enter(qpc);
	const unsigned ret = __real_uroce_qpc_send(qpc, out, max, now_ns);

	leave(at);
	return ret;
}

void
__wrap_uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const unsigned at = enter(qpc);

	__real_uroce_qpc_expire(qpc, now_ns);
	leave(at);
}

void __real_uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
			      struct uroce_reorder_buffer *reorder_buffer,
			      struct uroce_counters *counters, struct uroce_cq_list *unpublished);
void __wrap_uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
			      struct uroce_reorder_buffer *reorder_buffer,
			      struct uroce_counters *counters, struct uroce_cq_list *unpublished);

void
__wrap_uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
			 struct uroce_reorder_buffer *reorder_buffer,
			 struct uroce_counters *counters, struct uroce_cq_list *unpublished)
{
	if (qpc->send_cq->list == qpc->unpublished || qpc->recv_cq->list == qpc->unpublished)
		atomic_fetch_add(&nb_left, 1);
	__real_uroce_qpc_migrate(qpc, rd_pool, reorder_buffer, counters, unpublished);
}

/* --- pairs of QPs ------------------------------------------------------------------------------ */

static struct rig_qp *qa[MAX_QPS / 2], *qb[MAX_QPS / 2];
static unsigned nb_pairs;

static void
make_pairs(unsigned nb)
{
	nb_pairs = nb;
	nb_watched = 2 * nb;
	for (unsigned i = 0; i < nb; i++) {
		qa[i] = rig_qp(dev_a, i % dev_a->nb_workers, IBV_QPT_RC);
		qb[i] = rig_qp(dev_b, i % dev_b->nb_workers, IBV_QPT_RC);
		rig_connect(qa[i], qb[i], 1);
		rig_connect(qb[i], qa[i], 1);
		rig_fill(qa[i], (uint8_t)(i + 1));
		watched[2 * i].qpc = &qa[i]->wqp.qpc;
		watched[2 * i + 1].qpc = &qb[i]->wqp.qpc;
	}
}

/*
 * Create pairs of QPs for a test that drives both devices itself. The clock advances only when the
 * test calls rig_drive(), so no timer expires because the machine is slow.
 */
static void
make_pairs_by_own_clock(unsigned nb)
{
	make_pairs(nb);
	rig_own_clock();
}

static void
free_pairs(void)
{
	nb_watched = 0;
	for (unsigned i = 0; i < nb_pairs; i++) {
		rig_qp_free(qa[i]);
		rig_qp_free(qb[i]);
	}
}

static uint64_t
sum(const struct uroce_dev *dev, enum uroce_verdict verdict)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		nb += uroce_worker_stats(dev->worker[i])->verdict[verdict];
	return nb;
}

static uint64_t
nb_moved(const struct uroce_dev *dev)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		nb += uroce_worker_counted(dev->worker[i], UROCE_COUNTER_MIGRATED_QPS);
	return nb;
}

static uint64_t
nb_forwarded(void)
{
	return sum(dev_a, UROCE_VERDICT_FORWARDED) + sum(dev_b, UROCE_VERDICT_FORWARDED);
}

static void
expect_nothing_dropped(void)
{
	assert_int_equal(sum(dev_a, UROCE_VERDICT_OVERRUN), 0);
	assert_int_equal(sum(dev_b, UROCE_VERDICT_OVERRUN), 0);
}

/*
 * Check that no packet arrived out of order. Duplicates are allowed, because a slow machine may
 * cause probes.
 */
static void
expect_order(void)
{
	static const enum uroce_verdict ahead[] = { UROCE_VERDICT_OOO_PLACED,
						    UROCE_VERDICT_OOO_BUFFERED,
						    UROCE_VERDICT_PSN_GAP,
						    UROCE_VERDICT_RESPONSE_GAP };

	expect_nothing_dropped();
	for (unsigned i = 0; i < RTE_DIM(ahead); i++) {
		assert_int_equal(sum(dev_a, ahead[i]), 0);
		assert_int_equal(sum(dev_b, ahead[i]), 0);
	}
}

/*
 * Post one request for each pair of QPs, and await the completions. The buffers of the peers are
 * cleared before.
 */
static void
exchange(enum ibv_wr_opcode opcode, uint32_t len)
{
	for (unsigned i = 0; i < nb_pairs; i++) {
		memset(qb[i]->buf, 0, len);
		rig_post_send(qa[i], opcode, i, 0, len, qb[i], 0);
	}
	for (unsigned i = 0; i < nb_pairs; i++) {
		const struct ibv_wc wc = rig_await(&qa[i]->scq, dev_a, dev_b);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (opcode == IBV_WR_RDMA_WRITE)
			rig_check(qb[i], 0, qa[i], 0, len);
	}
}

/*
 * Exchange messages until all QPs have migrated. The function exchanges twice as many messages as
 * the migrations need.
 */
static void
exchange_until_settled(void)
{
	for (unsigned i = 0; i < 40; i++)
		exchange(IBV_WR_RDMA_WRITE, RIG_BUF_LEN);
}

static void
open_pair(unsigned nb_queues)
{
	static unsigned nb_made;
	char a[16], b[16], spec[80];

	snprintf(a, sizeof(a), "a%u", nb_made);
	snprintf(b, sizeof(b), "b%u", nb_made++);
	rig_wire(a, b, nb_queues, 1);
	snprintf(spec, sizeof(spec), "net_ring_%s,drive=none,mtu=1024,workers=%u,addr=192.0.2.1/24",
		 a, nb_queues);
	dev_a = rig_dev(spec);
	snprintf(spec, sizeof(spec), "net_ring_%s,drive=none,mtu=1024,workers=%u,addr=192.0.2.2/24",
		 b, nb_queues);
	dev_b = rig_dev(spec);
}

static void
close_pair(void)
{
	free_pairs();
	(void)rig_teardown(NULL);
}

/* --- one thread drives all workers -------------------------------------------------------------- */

static void
migration__a_qp_goes_where_its_frames_arrive(void **state)
{
	uint64_t nb_before;

	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(4);
	exchange_until_settled();
	assert_true(nb_moved(dev_a) + nb_moved(dev_b) >= 4);
	for (unsigned i = 0; i < nb_pairs; i++)
		assert_int_not_equal(uroce_worker_qp_worker(&qa[i]->wqp)->idx,
				     uroce_worker_qp_worker(&qb[i]->wqp)->idx);
	nb_before = nb_forwarded();
	exchange(IBV_WR_RDMA_WRITE, RIG_BUF_LEN);
	assert_int_equal(nb_forwarded(), nb_before);
	expect_order();
	close_pair();
}

static void
migration__messages_stay_in_order(void **state)
{
	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	for (unsigned i = 0; i < 4000; i++) {
		struct ibv_wc wc;

		rig_post_recv(qb[0], i, 64 * (i % 1000), 64);
		rig_post_send(qa[0], IBV_WR_SEND, i, 32 * (i % 2000), 4, NULL, 0);
		if (i % 32 != 31)
			continue;
		for (unsigned k = i - 31; k <= i; k++) {
			assert_int_equal(rig_await(&qa[0]->scq, dev_a, dev_b).wr_id, k);
			wc = rig_await(&qb[0]->rcq, dev_a, dev_b);
			assert_int_equal(wc.wr_id, k);
			rig_check(qb[0], 64 * (k % 1000), qa[0], 32 * (k % 2000), 4);
		}
	}
	assert_true(nb_moved(dev_a) + nb_moved(dev_b) > 0);
	expect_order();
	close_pair();
}

/*
 * A responder that migrates keeps its resources for READs and atomics, so that it can still respond
 * to duplicates.
 */
static void
migration__reads_and_atomics_move_too(void **state)
{
	uint64_t sums[4] = { 0 };

	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(4);
	for (unsigned i = 0; i < 1500; i++) {
		for (unsigned k = 0; k < 4; k++) {
			struct ibv_sge sge = { (uintptr_t)qa[k]->buf, 8, qa[k]->key };
			struct ibv_send_wr wr = {
				.sg_list = &sge,
				.num_sge = 1,
				.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.atomic = { .remote_addr = (uintptr_t)qb[k]->buf,
					       .rkey = qb[k]->key,
					       .compare_add = i + k },
			};

			assert_int_equal(uroce_sq_fill(&qa[k]->sq, 0, &wr, NULL, false), 0);
			uroce_ring_push(&qa[k]->sq.ring, 1);
			uroce_worker_ring_doorbell(uroce_worker_qp_worker(&qa[k]->wqp),
						   &qa[k]->wqp);
		}
		for (unsigned k = 0; k < 4; k++) {
			uint64_t before;

			assert_int_equal(rig_await(&qa[k]->scq, dev_a, dev_b).status,
					 IBV_WC_SUCCESS);
			memcpy(&before, qa[k]->buf, 8);
			assert_int_equal(before, sums[k]);
			sums[k] += i + k;
		}
	}
	for (unsigned i = 0; i < 20; i++) {
		exchange(IBV_WR_RDMA_READ, RIG_BUF_LEN);
		for (unsigned k = 0; k < 4; k++)
			rig_check(qa[k], 0, qb[k], 0, RIG_BUF_LEN);
	}
	assert_true(nb_moved(dev_a) + nb_moved(dev_b) > 0);
	/*
	 * Responses of the new worker may overtake responses that the old worker sent before the
	 * migration. The requester may then repeat the request.
	 */
	expect_nothing_dropped();
	close_pair();
}

/*
 * Each worker of one device sends to the next worker of the other device. With three workers, the
 * two QPs of a pair can never be where the frames of both arrive, so each QP migrates less and less
 * often.
 */
static void
migration__those_that_never_meet_grow_patient(void **state)
{
	(void)state;
	open_pair(3);
	make_pairs_by_own_clock(1);
	for (unsigned i = 0; i < 3; i++)
		exchange_until_settled();
	/* the exchanges have about six times as many frames as one migration needs */
	assert_in_range(nb_moved(dev_a) + nb_moved(dev_b), 1, 4);
	expect_order();
	close_pair();
}

static void
migration__a_call_follows_the_qp(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	exchange_until_settled();
	struct rig_qp *moved = uroce_worker_qp_worker(&qb[0]->wqp)->idx ? qb[0] : qa[0];

	assert_int_equal(uroce_worker_qp_worker(&moved->wqp)->idx, 1);
	/*
	 * Both calls use the worker that the QP has left: the post rings the doorbell there, and
	 * rig_modify() makes its call there.
	 */
	rig_post_send(moved, IBV_WR_RDMA_WRITE, 5, 0, 64, moved, 0);
	assert_int_equal(rig_modify(moved, &attr, IBV_QP_STATE), 0);
	assert_int_equal(rig_await(&moved->scq, dev_a, dev_b).status, IBV_WC_WR_FLUSH_ERR);
	close_pair();
}

/* --- frames that the test passes to single workers ---------------------------------------------- */

/*
 * Take all frames that device A wants to send, and pass them to worker `at` of device B. No other
 * function drives the workers of device B.
 */
static void
carry_to(unsigned at)
{
	struct rte_mbuf *frames[UROCE_BURST], *rest[UROCE_BURST];
	unsigned nb;

	for (unsigned i = 0; i < dev_a->nb_workers; i++) {
		while ((nb = uroce_worker_output(dev_a->worker[i], frames, UROCE_BURST)) > 0)
			assert_int_equal(uroce_worker_input(dev_b->worker[at], frames, nb, rest),
					 0);
	}
}

static void
answer_from(unsigned worker)
{
	struct rte_mbuf *frames[UROCE_BURST], *rest[UROCE_BURST];
	unsigned nb;

	while ((nb = uroce_worker_output(dev_b->worker[worker], frames, UROCE_BURST)) > 0)
		assert_int_equal(uroce_worker_input(dev_a->worker[0], frames, nb, rest), 0);
}

static void
finish(unsigned at)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	unsigned nb = 0;

	for (unsigned i = 0; i < 1000 && nb == 0; i++) {
		carry_to(at);
		answer_from(0);
		answer_from(1);
		nb = (unsigned)uroce_cq_poll(&qa[0]->scq, 1, &wc);
	}
	assert_int_equal(nb, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_check(qb[0], 0, qa[0], 0, RIG_BUF_LEN);
}

/* Post WRITEs until worker 1 of device B is the target worker of the QP. */
static void
write_until_target_worker(void)
{
	for (unsigned i = 0; i < 100 && atomic_load(&qb[0]->wqp.target_worker) == 0; i++) {
		memset(qb[0]->buf, 0, RIG_BUF_LEN);
		rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 0, 0, RIG_BUF_LEN, qb[0], 0);
		finish(1);
	}
	assert_int_equal(atomic_load(&qb[0]->wqp.target_worker), 2);
	assert_int_equal(dev_b->worker[1]->migrating.nb, 0);
}

/*
 * A QP migrates in the round in which it completes a receive request. The worker that the QP leaves
 * must still publish the completion in the CQ.
 */
static void
migration__a_qp_leaves_no_cq_behind(void **state)
{
	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	write_until_target_worker();
	/*
	 * Without a target worker, the frame of the first message is forwarded. The frame of the
	 * second message waits for the migration.
	 */
	atomic_store(&qb[0]->wqp.target_worker, 0);
	for (unsigned i = 1; i <= 2; i++) {
		rig_post_recv(qb[0], i, 0, 64);
		rig_post_send(qa[0], IBV_WR_SEND, i, 0, 64, NULL, 0);
		carry_to(1);
		atomic_store(&qb[0]->wqp.target_worker, 2);
	}
	assert_int_equal(dev_b->worker[1]->migrating.nb, 1);
	answer_from(0);
	assert_ptr_equal(uroce_worker_qp_worker(&qb[0]->wqp), dev_b->worker[1]);
	assert_int_equal(rig_wait(&qb[0]->rcq).wr_id, 1);
	assert_int_equal(atomic_load(&nb_left), 0);
	finish(1);
	finish(1);
	close_pair();
}

static void
migration__what_is_parked_is_acted_on_first(void **state)
{
	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	write_until_target_worker();
	memset(qb[0]->buf, 0, RIG_BUF_LEN);
	rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 0, 0, RIG_BUF_LEN, qb[0], 0);
	carry_to(1);
	/*
	 * At least the frames of the WRITE wait. More frames may wait, because the requester may
	 * have sent a probe.
	 */
	assert_true(dev_b->worker[1]->migrating.nb >= RIG_BUF_LEN / 1024);
	answer_from(0);
	assert_ptr_equal(uroce_worker_qp_worker(&qb[0]->wqp), dev_b->worker[1]);
	assert_int_equal(atomic_load(&qb[0]->wqp.target_worker), 0);
	/*
	 * Worker 1 owns the QP after the migration. Frames of the QP that wait at worker 1 must be
	 * processed before the frames of the next WRITE.
	 */
	rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 1, 0, 4096, qb[0], 0);
	carry_to(1);
	assert_true(dev_b->worker[1]->migrating.nb >= RIG_BUF_LEN / 1024 + 4);
	finish(1);
	finish(1);
	assert_int_equal(dev_b->worker[1]->migrating.nb, 0);
	assert_int_equal(nb_moved(dev_b), 1);
	expect_order();
	close_pair();
}

static void
migration__a_frame_on_the_owners_queue_ends_it(void **state)
{
	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	write_until_target_worker();
	rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 0, 0, 4096, qb[0], 0);
	carry_to(1);
	assert_int_equal(dev_b->worker[1]->migrating.nb, 4);
	/* Cancel the migration, as the old worker does when a frame of the QP arrives there. */
	uroce_migrate_stay(&qb[0]->wqp);
	answer_from(0);
	assert_ptr_equal(uroce_worker_qp_worker(&qb[0]->wqp), dev_b->worker[0]);
	answer_from(1); /* worker 1 forwards the frames that waited for the migration */
	assert_int_equal(dev_b->worker[1]->migrating.nb, 0);
	finish(0);
	assert_int_equal(nb_moved(dev_b), 0);
	expect_order();
	close_pair();
}

static void
migration__a_qp_that_ends_leaves_nothing_parked(void **state)
{
	struct rte_mempool *pool;
	unsigned nb_before;

	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	write_until_target_worker();
	pool = dev_a->port->pool[0];
	nb_before = rte_mempool_in_use_count(pool);
	rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 0, 0, RIG_BUF_LEN, qb[0], 0);
	carry_to(1);
	assert_int_equal(dev_b->worker[1]->migrating.nb, RIG_BUF_LEN / 1024);
	rig_qp_free(qb[0]);
	answer_from(0); /* worker 0 receives a migration request for a QP that was destroyed */
	answer_from(1);
	assert_int_equal(dev_b->worker[1]->migrating.nb, 0);
	assert_true(rte_mempool_in_use_count(pool) <= nb_before + 64);
	qb[0] = rig_qp(dev_b, 0, IBV_QPT_RC);
	close_pair();
}

static void
migration__what_is_not_parked_for_want_of_room_is_lost_and_sent_again(void **state)
{
	(void)state;
	open_pair(2);
	make_pairs_by_own_clock(1);
	write_until_target_worker();
	memset(qb[0]->buf, 0, RIG_BUF_LEN);
	for (unsigned i = 0; i < 6; i++)
		rig_post_send(qa[0], IBV_WR_RDMA_WRITE, 0, 0, RIG_BUF_LEN, qb[0], 0);
	carry_to(1);
	assert_int_equal(dev_b->worker[1]->migrating.nb, UROCE_MIGRATING_MAX);
	/*
	 * At least the frames without room are counted. The count may be larger, because the
	 * requester may have sent a probe.
	 */
	assert_true(sum(dev_b, UROCE_VERDICT_OVERRUN) >=
		    6 * RIG_BUF_LEN / 1024 - UROCE_MIGRATING_MAX);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(rig_await(&qa[0]->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	rig_check(qb[0], 0, qa[0], 0, RIG_BUF_LEN);
	close_pair();
}

/* --- a thread for each worker ------------------------------------------------------------------- */

static atomic_bool is_over;

/* The thread of worker i: drive this worker of both devices, until the test is over. */
static void *
drive_both(void *arg)
{
	const unsigned i = (unsigned)(uintptr_t)arg;

	my_worker = i + 1;
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		(void)uroce_worker_poll(dev_a->worker[i]);
		(void)uroce_worker_poll(dev_b->worker[i]);
		sched_yield();
	}
	return NULL;
}

static void
migration__workers_in_threads_never_meet_in_a_qp(void **state)
{
	pthread_t thread[2];
	unsigned nb_messages = 0;

	(void)state;
	open_pair(2);
	rig_timeout = RIG_TIMEOUT_LONG;
	make_pairs(16);
	atomic_store(&is_over, false);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, drive_both, (void *)(uintptr_t)i),
				 0);
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 0; i < nb_pairs; i++) {
			memset(qb[i]->buf, 0, RIG_BUF_LEN);
			rig_post_send(qa[i], IBV_WR_RDMA_WRITE, round, 0, RIG_BUF_LEN, qb[i], 0);
		}
		for (unsigned i = 0; i < nb_pairs; i++, nb_messages++) {
			const struct ibv_wc wc = rig_wait(&qa[i]->scq);

			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, round);
			rig_check(qb[i], 0, qa[i], 0, RIG_BUF_LEN);
		}
	}
	/* the QPs are destroyed while threads drive their workers */
	assert_true(nb_moved(dev_a) + nb_moved(dev_b) >= nb_pairs);
	assert_int_equal(atomic_load(&nb_meetings), 0);
	assert_int_equal(atomic_load(&nb_strangers), 0);
	assert_int_equal(atomic_load(&nb_left), 0);
	free_pairs();
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	(void)rig_teardown(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(migration__a_qp_goes_where_its_frames_arrive),
		cmocka_unit_test(migration__messages_stay_in_order),
		cmocka_unit_test(migration__reads_and_atomics_move_too),
		cmocka_unit_test(migration__those_that_never_meet_grow_patient),
		cmocka_unit_test(migration__a_call_follows_the_qp),
		cmocka_unit_test(migration__a_qp_leaves_no_cq_behind),
		cmocka_unit_test(migration__what_is_parked_is_acted_on_first),
		cmocka_unit_test(migration__a_frame_on_the_owners_queue_ends_it),
		cmocka_unit_test(migration__a_qp_that_ends_leaves_nothing_parked),
		cmocka_unit_test(
			migration__what_is_not_parked_for_want_of_room_is_lost_and_sent_again),
		cmocka_unit_test(migration__workers_in_threads_never_meet_in_a_qp),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
