/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When completions become visible: after the transmission of their acknowledgement. A callback of
 * the transmit function checks the CQ. Also: a QP handles the frames that have arrived before it
 * ends.
 */

#include "rig.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rte_ethdev.h>

#include "datapath/clock.h"
#include "datapath/worker/round.h"

static struct rig_qp *qp_a, *qp_b;
static struct uroce_cq_notify notify_b;
static atomic_uint nb_bursts; /* number of bursts that b transmitted */
/* bursts during which the CQ already had a visible entry or an event */
static atomic_uint nb_late;

static struct uroce_worker *
worker_b(void)
{
	return dev_b->worker[0];
}

/*
 * Pretend that the application drives both workers, so that no service thread drives them during
 * the test.
 */
static void
keep(void)
{
	atomic_store(&dev_a->worker[0]->app_ns, UINT64_MAX / 2);
	atomic_store(&dev_b->worker[0]->app_ns, UINT64_MAX / 2);
}

static bool
has_event(void)
{
	struct pollfd fd = { notify_b.event_fd, POLLIN, 0 };

	return poll(&fd, 1, 0) == 1;
}

static uint16_t
look(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port;
	(void)queue;
	(void)frames;
	(void)arg;
	nb_bursts += nb > 0;
	nb_late += nb > 0 && (!uroce_cq_is_empty(&qp_b->rcq) || has_event());
	return nb;
}

static int
setup_devices(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24");
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	notify_b.event_fd = eventfd(0, EFD_NONBLOCK);
	atomic_store(&notify_b.nb_events, 0);
	qp_b->rcq.cookie = &notify_b;
	nb_bursts = nb_late = 0;
	keep();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	close(notify_b.event_fd);
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return 0;
}

/* A SEND of a is in flight to b. */
static void
send_one(uint64_t wr_id)
{
	rig_post_recv(qp_b, wr_id, 0, 64);
	rig_post_send(qp_a, IBV_WR_SEND, wr_id, 0, 64, NULL, 0);
	rig_drive(dev_a);
	keep();
}

static void
publish__is_behind_the_ack(void **state)
{
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_tx_callback(dev_b->port->id, 0, look, NULL);

	(void)state;
	assert_non_null(callback);
	/* the service thread may have been about to drive a worker */
	for (unsigned i = 1; i <= 20; i++) {
		eventfd_t one;

		uroce_cq_arm(&qp_b->rcq, false);
		send_one(i);
		assert_int_equal(rig_await(&qp_b->rcq, dev_b, dev_b).status, IBV_WC_SUCCESS);
		while (!has_event())
			rig_drive(dev_b);
		(void)eventfd_read(notify_b.event_fd, &one);
		assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
		keep();
	}
	assert_true(nb_bursts > 0);
	assert_int_equal(nb_late, 0);
	(void)rte_eth_remove_tx_callback(dev_b->port->id, 0, callback);
}

/*
 * A program that responds before each poll has delayed ACKs. For a message with a completion event
 * the ACK is not delayed.
 */
static void
publish__a_program_that_answers_is_no_exception(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 40; i++) {
		for (unsigned j = 0; j < 32; j++)
			rig_drive(dev_b); /* b polls continuously */
		send_one(i);
		rig_drive(dev_b);
		assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
		rig_drive(dev_a);
		keep();
		assert_int_equal(rig_wait(&qp_a->scq).status, IBV_WC_SUCCESS);
		/* b posts its response */
		rig_post_send(qp_b, IBV_WR_RDMA_WRITE, i, 0, 100, qp_a, 0);
		assert_int_equal(rig_await(&qp_b->scq, dev_b, dev_a).status, IBV_WC_SUCCESS);
	}
}

static enum ibv_event_type
next_event(struct uroce_dev *dev)
{
	struct uroce_dev_event event;

	do
		assert_true(uroce_dev_event_pop(dev, &event));
	while (event.type == IBV_EVENT_COMM_EST);
	return event.type;
}

/* When the event SQ_DRAINED is raised, the completions are already visible. */
static void
publish__is_before_an_event_that_tells_of_the_end(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct uroce_worker *worker = dev_a->worker[0];

	(void)state;
	send_one(1);
	assert_int_equal(rig_modify(qp_a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	rig_drive(dev_b);
	uroce_lock_take(&worker->lock);
	uroce_worker_begin_round(worker);
	const unsigned nb = uroce_rx_run(worker);
	const bool is_visible = !uroce_cq_is_empty(&qp_a->scq);

	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
	assert_int_equal(nb, 1);
	assert_true(is_visible);
	assert_int_equal(next_event(dev_a), IBV_EVENT_SQ_DRAINED);
}

static int
to_error(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return uroce_qpc_modify(arg, &attr, IBV_QP_STATE, NULL, uroce_clock_ns());
}

static void
end_life__what_has_arrived_is_received_and_answered(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 3; i++)
		send_one(i);
	rig_post_recv(qp_b, 4, 0, 64);
	assert_int_equal(uroce_worker_qp_quiesce(&qp_b->wqp, to_error, &qp_b->wqp.qpc), 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_WR_FLUSH_ERR);
	/* the other end, too, handles the ACKs that have arrived before the QP ends */
	assert_true(uroce_cq_is_empty(&qp_a->scq));
	keep();
	assert_int_equal(uroce_worker_qp_quiesce(&qp_a->wqp, to_error, &qp_a->wqp.qpc), 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(rig_wait(&qp_a->scq).status, IBV_WC_SUCCESS);
	assert_int_equal(worker_b()->tx.nb_pending, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(publish__is_behind_the_ack, setup, teardown),
		cmocka_unit_test_setup_teardown(publish__a_program_that_answers_is_no_exception,
						setup, teardown),
		cmocka_unit_test_setup_teardown(publish__is_before_an_event_that_tells_of_the_end,
						setup, teardown),
		cmocka_unit_test_setup_teardown(end_life__what_has_arrived_is_received_and_answered,
						setup, teardown),
	};

	return rig_init() ? cmocka_run_group_tests(tests, setup_devices, rig_teardown) : 77;
}
