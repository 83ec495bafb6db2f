/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The moment at which a completion becomes visible: after the transmission of the ACK of its
 * message. A callback of the transmit function checks that the CQ is still empty. Another test
 * checks that a QP processes all frames that have arrived before the QP enters the error state.
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
static atomic_uint nb_bursts; /* number of bursts that host b has transmitted */
/* number of bursts of host b during which its CQ already had a visible entry or an event */
static atomic_uint nb_late;

static struct uroce_worker *
worker_b(void)
{
	return dev_b->worker[0];
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

/* devices with service threads, for the tests of delayed ACKs and of commands to a QP */
static struct uroce_dev *serviced_a, *serviced_b;
/* devices without service threads, which only the test drives */
static struct uroce_dev *manual_a, *manual_b;

static int
setup_devices(void **state)
{
	(void)state;
	/* the scheduler may delay the service threads, which respond */
	rig_timeout = RIG_TIMEOUT_LONG;
	rig_wire("c", "d", 1, 0);
	serviced_a = rig_dev("net_ring_c,addr=192.0.2.1/24");
	serviced_b = rig_dev("net_ring_d,addr=192.0.2.2/24");
	rig_pair(1, 0);
	manual_a = dev_a;
	manual_b = dev_b;
	return 0;
}

static int
teardown_devices(void **state)
{
	assert_int_equal(uroce_dev_destroy(serviced_a), 0);
	assert_int_equal(uroce_dev_destroy(serviced_b), 0);
	dev_a = manual_a;
	dev_b = manual_b;
	return rig_teardown(state);
}

static void
make_qps(void)
{
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	notify_b.event_fd = eventfd(0, EFD_NONBLOCK);
	atomic_store(&notify_b.nb_events, 0);
	qp_b->rcq.cookie = &notify_b;
	nb_bursts = nb_late = 0;
}

static int
setup(void **state)
{
	(void)state;
	dev_a = manual_a;
	dev_b = manual_b;
	make_qps();
	return 0;
}

static int
setup_serviced(void **state)
{
	(void)state;
	dev_a = serviced_a;
	dev_b = serviced_b;
	make_qps();
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

/*
 * Drive a worker for one round. If the service thread has the lock of the worker, wait for the
 * lock.
 */
static void
drive_surely(struct uroce_worker *worker)
{
	uroce_lock_take(&worker->lock);
	(void)uroce_worker_round(worker);
	uroce_lock_release(&worker->lock);
}

/* Post a SEND from host a to host b, and transmit it. Host b does not receive it yet. */
static void
send_one(uint64_t wr_id)
{
	rig_post_recv(qp_b, wr_id, 0, 64);
	rig_post_send(qp_a, IBV_WR_SEND, wr_id, 0, 64, NULL, 0);
	drive_surely(dev_a->worker[0]);
}

static void
publish__is_behind_the_ack(void **state)
{
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_tx_callback(dev_b->port->id, 0, look, NULL);

	(void)state;
	assert_non_null(callback);
	for (unsigned i = 1; i <= 20; i++) {
		eventfd_t one;

		uroce_cq_arm(&qp_b->rcq, false);
		send_one(i);
		assert_int_equal(rig_await(&qp_b->rcq, dev_b, dev_b).status, IBV_WC_SUCCESS);
		assert_true(has_event());
		(void)eventfd_read(notify_b.event_fd, &one);
		assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	}
	assert_true(nb_bursts > 0);
	assert_int_equal(nb_late, 0);
	(void)rte_eth_remove_tx_callback(dev_b->port->id, 0, callback);
}

/*
 * The ACKs of a program that responds before each poll may be delayed. But the ACK of a message
 * that completes a receive request must not be delayed, because the completion becomes visible only
 * after the ACK.
 */
static void
publish__a_program_that_answers_is_no_exception(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 40; i++) {
		for (unsigned j = 0; j < 32; j++)
			/* host b polls continuously, so that its ACKs may be delayed */
			rig_drive(dev_b);
		send_one(i);
		rig_drive(dev_b);
		assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
		drive_surely(dev_a->worker[0]);
		assert_int_equal(rig_wait(&qp_a->scq).status, IBV_WC_SUCCESS);
		/* host b responds, so that its next ACK may be delayed, too */
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

/* The completion of the last request must be visible before the event SQ_DRAINED is raised. */
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
	struct uroce_worker *worker_a = dev_a->worker[0];

	(void)state;
	/*
	 * Take the lock of the worker of host b, so that the service thread does not receive the
	 * three SENDs.
	 */
	uroce_lock_take(&worker_b()->lock);
	for (unsigned i = 1; i <= 3; i++)
		send_one(i);
	uroce_lock_take(&worker_a->lock);
	uroce_lock_release(&worker_b()->lock);
	rig_post_recv(qp_b, 4, 0, 64);
	assert_int_equal(uroce_worker_qp_quiesce(&qp_b->wqp, to_error, &qp_b->wqp.qpc), 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_WR_FLUSH_ERR);
	/*
	 * qp_a has received no ACK yet. uroce_worker_qp_quiesce() must process the ACKs before it
	 * moves qp_a to ERR.
	 */
	assert_true(uroce_cq_is_empty(&qp_a->scq));
	uroce_lock_release(&worker_a->lock);
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
						setup_serviced, teardown),
		cmocka_unit_test_setup_teardown(publish__is_before_an_event_that_tells_of_the_end,
						setup, teardown),
		cmocka_unit_test_setup_teardown(end_life__what_has_arrived_is_received_and_answered,
						setup_serviced, teardown),
	};

	if (!rig_init())
		return 77;
	return cmocka_run_group_tests(tests, setup_devices, teardown_devices);
}
