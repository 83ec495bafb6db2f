/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Delayed ACKs: when the acknowledgement of a message waits for the next poll of the program, and
 * what causes its transmission. An ACK is delayed only if the program polls continuously. The
 * scheduler may stop this process at any time, so a test repeats a step until the ACK is delayed.
 */

#include "rig.h"

#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"
#include "wire/opcode.h"

#define SPINS     32
#define TRIES     1000

#define SILENT_NS UINT64_C(100000)
#define TIMEOUT_S 300 /* time limit, which only a hang exceeds */

static struct rig_qp *qp_a, *qp_b;
/* number of WRITEs that host b has posted as responses and that have not completed */
static unsigned nb_answers;

static struct uroce_worker *
worker_b(void)
{
	return dev_b->worker[0];
}

static int
setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24");
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	return 0;
}

static int
teardown(void **state)
{
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return rig_teardown(state);
}

static void
spin_b(void)
{
	for (unsigned i = 0; i < SPINS; i++)
		rig_drive(dev_b);
}

/*
 * The program at host b responds to the messages that it has received: it posts a WRITE before its
 * next poll.
 */
static void
answer(void)
{
	rig_post_send(qp_b, IBV_WR_RDMA_WRITE, 9, 0, 100, qp_a, 0);
	assert_int_equal(rig_await(&qp_b->scq, dev_b, dev_a).status, IBV_WC_SUCCESS);
}

/*
 * The program at host b polls continuously, and its next poll receives `nb` WRITEs of host a.
 * @return whether the ACK of these WRITEs is delayed
 */
static bool
receive(unsigned nb)
{
	spin_b();
	for (unsigned i = 0; i < nb; i++)
		rig_post_send(qp_a, IBV_WR_RDMA_WRITE, i, 0, 100, qp_b, 0);
	rig_drive(dev_a);
	rig_drive(dev_b);
	return worker_b()->delayed_ack.is_on;
}

static void
finish(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
}

/*
 * Set the time of the latest poll of the program to the far future. Then the service thread does
 * not take over the worker.
 */
static void
keep(struct uroce_dev *dev)
{
	atomic_store(&dev->worker[0]->app_ns, UINT64_MAX / 2);
}

static void
receive_and_wait(void)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (receive(1)) {
			keep(dev_a);
			keep(dev_b);
			/* the service thread may have sent the ACK before keep() */
			if (worker_b()->delayed_ack.is_on)
				return;
		}
		answer();
		finish(1);
	}
	fail_msg("no acknowledgement waited");
}

/*
 * Whether host a has got the completion of its WRITE. Only host a is driven here, so the ACK of
 * host b must have been sent before.
 */
static bool
is_acknowledged(void)
{
	struct ibv_wc wc;

	rig_drive(dev_a);
	return uroce_cq_poll(&qp_a->scq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

static void
delayed_ack__the_ack_leaves_in_the_next_poll(void **state)
{
	(void)state;
	receive_and_wait();
	assert_false(is_acknowledged());
	rig_drive(dev_b);
	assert_false(worker_b()->delayed_ack.is_on);
	assert_true(is_acknowledged());
}

static uint8_t
opcode_of(const struct rte_mbuf *mbuf)
{
	return *rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, 14 + 20 + 8);
}

static void
delayed_ack__the_answer_goes_first(void **state)
{
	struct rte_mbuf *frames[4];

	(void)state;
	receive_and_wait();
	rig_post_send(qp_b, IBV_WR_RDMA_WRITE, 9, 0, 100, qp_a, 0);
	rig_drive(dev_b);
	assert_int_equal(rte_eth_rx_burst(dev_a->port->id, 0, frames, 4), 2);
	assert_int_equal(opcode_of(frames[0]), UROCE_OP_WRITE_ONLY);
	assert_int_equal(opcode_of(frames[1]), UROCE_OP_ACK);
	for (unsigned i = 0; i < 2; i++)
		rte_pktmbuf_free(frames[i]);
	/*
	 * The test has freed the WRITE and the ACK of host b. Host a does not receive them, so host
	 * b retransmits.
	 */
	finish(1);
	assert_int_equal(rig_await(&qp_b->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
}

static void
delayed_ack__many_frames_are_acknowledged_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_false(receive(3));
		answer();
		finish(3);
	}
}

static void
delayed_ack__a_program_that_does_not_answer_acknowledges_at_once(void **state)
{
	(void)state;
	receive_and_wait();
	rig_drive(dev_b); /* host b polls again before it has posted a response */
	assert_true(is_acknowledged());
	for (unsigned i = 0; i < 100; i++) {
		assert_false(receive(1));
		finish(1);
	}
}

static void
delayed_ack__a_program_that_polls_now_and_then_acknowledges_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		spin_b();
		rig_post_send(qp_a, IBV_WR_RDMA_WRITE, i, 0, 100, qp_b, 0);
		rig_drive(dev_a);
		worker_b()->app_ns -= 1000000;
		rig_drive(dev_b);
		assert_false(worker_b()->delayed_ack.is_on);
		answer();
		finish(1);
	}
}

/*
 * Drop the frames that host b has sent to host a, and stop the probe timer of host b, so that host
 * b does not notice the loss.
 */
static void
lose_frames_to_a(void)
{
	struct rte_mbuf *frames[4];
	const unsigned nb = rte_eth_rx_burst(dev_a->port->id, 0, frames, 4);

	rte_pktmbuf_free_bulk(frames, nb);
	qp_b->wqp.qpc.req.loss_recovery.probe_deadline = UROCE_NEVER;
}

/*
 * The program at host b has a WRITE in flight when a WRITE of host a arrives.
 * @return whether the ACK of the WRITE of host a is delayed
 */
static bool
receive_meanwhile(void)
{
	receive_and_wait();
	answer();
	finish(1);
	rig_post_send(qp_b, IBV_WR_RDMA_WRITE, 10, 0, 100, qp_a, 0);
	rig_drive(dev_b);
	lose_frames_to_a();
	return receive(1);
}

static void
delayed_ack__one_that_waits_for_its_own_request_has_some_polls_more(void **state)
{
	unsigned nb_tries = 0;

	(void)state;
	while (!receive_meanwhile()) {
		assert_true(nb_tries++ < TRIES);
		finish(1);
		assert_int_equal(rig_await(&qp_b->scq, dev_a, dev_b).wr_id, 10);
	}
	keep(dev_b);
	for (unsigned i = 0; i < 4; i++) {
		rig_drive(dev_b);
		assert_true(worker_b()->delayed_ack.is_on);
		assert_false(is_acknowledged());
	}
	rig_drive(dev_b);
	assert_false(worker_b()->delayed_ack.is_on);
	assert_true(is_acknowledged());
	assert_int_equal(rig_await(&qp_b->scq, dev_a, dev_b).wr_id, 10);
}

/*
 * While an ACK is delayed, the program at host b responds by an inline transmit, and polls.
 * @return whether the ACK is still delayed after the response, until the next message of host a
 */
static bool
answer_and_keep(void)
{
	rig_queue_send(qp_b, IBV_WR_RDMA_WRITE, nb_answers++, 0, 8, qp_a, 0);
	if (!uroce_worker_send(worker_b(), &qp_b->wqp))
		uroce_worker_ring_doorbell(worker_b(), &qp_b->wqp);
	rig_drive(dev_b);
	rig_drive(dev_a);
	return worker_b()->delayed_ack.is_kept;
}

/*
 * Wait for the completions of `nb` requests of host a, and of all WRITEs that host b has posted as
 * responses.
 */
static void
finish_exchange(unsigned nb)
{
	finish(nb);
	for (; nb_answers > 0; nb_answers--)
		(void)rig_await(&qp_b->scq, dev_a, dev_b);
}

/*
 * Repeat an exchange until the ACK of a message of host a is still delayed after the response of
 * host b to that message.
 */
static void
receive_and_keep(void)
{
	for (unsigned i = 0; i < TRIES; i++) {
		worker_b()->delayed_ack.nb_to_trial = 0;
		(void)receive(1);
		if (answer_and_keep()) {
			keep(dev_a);
			keep(dev_b);
			return;
		}
		finish_exchange(1);
	}
	fail_msg("no acknowledgement was kept");
}

/*
 * The number of messages of host a that one ACK acknowledges together, if host a sends each message
 * after the response to the previous message.
 */
static unsigned
nb_for_one_ack(void)
{
	unsigned nb = 1;

	receive_and_keep();
	do {
		rig_post_send(qp_a, IBV_WR_RDMA_WRITE, nb++, 0, 100, qp_b, 0);
		/*
		 * Stop the probe timer of host a. The earlier messages of host a have no ACK yet,
		 * so host a would send a probe.
		 */
		qp_a->wqp.qpc.req.loss_recovery.probe_deadline = UROCE_NEVER;
		rig_drive(dev_a);
		rig_drive(dev_b);
	} while (worker_b()->delayed_ack.is_on && answer_and_keep());
	finish_exchange(nb);
	return nb;
}

static void
delayed_ack__a_peer_that_goes_on_is_acknowledged_every_eighth_time(void **state)
{
	unsigned nb = 0, nb_tries = 0;

	(void)state;
	while (nb != 8) {
		assert_true(nb_tries++ < TRIES);
		nb = nb_for_one_ack();
		assert_true(nb <= 8);
	}
}

/* The reply leaves without the ACK also on a port where a burst with both is one system call. */
static void
delayed_ack__is_kept_on_a_port_whose_burst_is_a_system_call(void **state)
{
	static struct uroce_port_policy policy;

	policy = *dev_b->port->policy;
	policy.is_burst_syscall = true;
	dev_b->port->policy = &policy;
	delayed_ack__a_peer_that_goes_on_is_acknowledged_every_eighth_time(state);
}

static void
delayed_ack__a_peer_that_waits_is_not_tried_again_soon(void **state)
{
	(void)state;
	receive_and_keep();
	while (worker_b()->delayed_ack.is_on)
		rig_drive(dev_b);
	assert_true(is_acknowledged());
	finish_exchange(0);
	for (unsigned i = 0; i < 32; i++) {
		(void)receive(1);
		assert_false(answer_and_keep());
		finish_exchange(1);
	}
}

/*
 * The program at host b receives a WRITE of host a, and responds by an inline transmit.
 * @param[out] frames the frames of that transmission, which host a does not receive
 * @return number of frames, or 0 if no ACK was delayed or the post used the doorbell
 */
static unsigned
answer_in_one_burst(struct rte_mbuf **frames)
{
	const bool is_left = receive(1);

	rig_queue_send(qp_b, IBV_WR_RDMA_WRITE, nb_answers++, 0, 8, qp_a, 0);
	if (!uroce_worker_send(worker_b(), &qp_b->wqp)) {
		uroce_worker_ring_doorbell(worker_b(), &qp_b->wqp);
		return 0;
	}
	return is_left ? rte_eth_rx_burst(dev_a->port->id, 0, frames, 4) : 0;
}

static void
delayed_ack__a_peer_that_waits_has_the_ack_with_the_answer(void **state)
{
	struct rte_mbuf *frames[4];
	unsigned nb, nb_tries = 0;

	(void)state;
	receive_and_keep();
	while (worker_b()->delayed_ack.is_on)
		rig_drive(dev_b);
	finish_exchange(1);
	while ((nb = answer_in_one_burst(frames)) == 0) {
		assert_true(nb_tries++ < TRIES);
		rig_drive(dev_b);
		finish_exchange(1);
	}
	assert_int_equal(nb, 2);
	assert_int_equal(opcode_of(frames[0]), UROCE_OP_WRITE_ONLY);
	assert_int_equal(opcode_of(frames[1]), UROCE_OP_ACK);
	assert_false(worker_b()->delayed_ack.is_on);
	/*
	 * The test frees the WRITE and the ACK of host b. Host a does not receive them, so host b
	 * retransmits.
	 */
	rte_pktmbuf_free_bulk(frames, nb);
	finish_exchange(1);
}

static void
delayed_ack__when_the_qp_moves_away_nothing_is_kept(void **state)
{
	(void)state;
	receive_and_wait();
	uroce_tx_unschedule(worker_b(), &qp_b->wqp);
	/* A post of another QP of the worker counts as the response of the program. */
	worker_b()->inline_tx.nb_posts = 1;
	worker_b()->delayed_ack.nb_to_trial = 0;
	rig_drive(dev_b);
	assert_false(worker_b()->delayed_ack.is_on);
	uroce_tx_schedule(worker_b(), &qp_b->wqp);
	rig_drive(dev_b);
	assert_true(is_acknowledged());
}

static void
delayed_ack__the_end_of_the_process_sends(void **state)
{
	(void)state;
	receive_and_wait();
	uroce_delayed_ack_flush_all();
	assert_false(worker_b()->delayed_ack.is_on);
	assert_true(is_acknowledged());
}

static void
delayed_ack__the_service_thread_sends_when_the_program_stays_away(void **state)
{
	(void)state;
	receive_and_wait();
	uroce_worker_leave(worker_b());
	while (!is_acknowledged())
		;
}

static unsigned
nb_hasty(void)
{
	return atomic_load(&uroce_service_stats(dev_b->service)->early_takeovers);
}

/*
 * The service thread takes over a worker sooner if an ACK is delayed there. The test stops the
 * clock of the data path at SILENT_NS after the latest poll.
 */
static void
delayed_ack__the_service_thread_does_not_wait_for_a_millisecond(void **state)
{
	const time_t end = time(NULL) + TIMEOUT_S;
	const uint64_t factor = uroce_clock_factor;
	struct ibv_wc wc;

	(void)state;
	while (nb_hasty() > 0)
		spin_b();
	receive_and_wait();
	rig_own_clock();
	atomic_store(&worker_b()->app_ns, uroce_clock_ns() - SILENT_NS);
	while (uroce_cq_poll(&qp_a->scq, 1, &wc) == 0) {
		assert_true(time(NULL) < end);
		(void)uroce_worker_poll(dev_a->worker[0]);
		(void)usleep(100);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	uroce_clock_base = 0;
	uroce_clock_factor = factor;
}

static int
look_at_round(void *arg)
{
	*(uint64_t *)arg = atomic_load(&worker_b()->round);
	return 0;
}

/*
 * A control call transmits the delayed ACK. It may also transmit from memory that another thread
 * wants to deregister. That thread waits for the end of a round, so the call must count as a round.
 */
static void
delayed_ack__a_control_call_is_a_round(void **state)
{
	uint64_t round = 0;

	(void)state;
	receive_and_wait();
	assert_int_equal(uroce_worker_call(worker_b(), NULL, look_at_round, &round), 0);
	assert_true(is_acknowledged());
	assert_int_equal(round % 2, 1);
	assert_int_equal(atomic_load(&worker_b()->round) % 2, 0);
}

/* This test must be the last one of the group, because its QP enters the error state. */
static void
delayed_ack__a_control_call_sends_first(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)state;
	receive_and_wait();
	assert_int_equal(rig_modify(qp_b, &attr, IBV_QP_STATE), 0);
	assert_true(is_acknowledged());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delayed_ack__the_ack_leaves_in_the_next_poll),
		cmocka_unit_test(delayed_ack__the_answer_goes_first),
		cmocka_unit_test(delayed_ack__many_frames_are_acknowledged_at_once),
		cmocka_unit_test(delayed_ack__a_program_that_does_not_answer_acknowledges_at_once),
		cmocka_unit_test(
			delayed_ack__a_program_that_polls_now_and_then_acknowledges_at_once),
		cmocka_unit_test(
			delayed_ack__one_that_waits_for_its_own_request_has_some_polls_more),
		cmocka_unit_test(
			delayed_ack__a_peer_that_goes_on_is_acknowledged_every_eighth_time),
		cmocka_unit_test(delayed_ack__is_kept_on_a_port_whose_burst_is_a_system_call),
		cmocka_unit_test(delayed_ack__a_peer_that_waits_is_not_tried_again_soon),
		cmocka_unit_test(delayed_ack__a_peer_that_waits_has_the_ack_with_the_answer),
		cmocka_unit_test(delayed_ack__when_the_qp_moves_away_nothing_is_kept),
		cmocka_unit_test(delayed_ack__the_end_of_the_process_sends),
		cmocka_unit_test(delayed_ack__the_service_thread_sends_when_the_program_stays_away),
		cmocka_unit_test(delayed_ack__the_service_thread_does_not_wait_for_a_millisecond),
		cmocka_unit_test(delayed_ack__a_control_call_is_a_round),
		cmocka_unit_test(delayed_ack__a_control_call_sends_first),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
