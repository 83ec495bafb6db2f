/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Inline transmit: when a post transmits in the caller, and when it uses the doorbell instead. A
 * post transmits inline only if the program polls continuously. The scheduler may stop this process
 * at any time, so a test repeats a post until it transmits inline.
 */

#include "rig.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/port/port.h"
#include "datapath/worker/round.h"
#include "wire/opcode.h"

/* number of consecutive rounds with one post each after which inline transmit is enabled */
#define HABIT 16
#define SPINS 32
#define TRIES 1000

static struct rig_qp *qp_a, *qp_b;

static struct uroce_worker *
worker_a(void)
{
	return dev_a->worker[0];
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
queue(struct rig_qp *qp, uint64_t wr_id, uint32_t len)
{
	rig_queue_send(qp, IBV_WR_RDMA_WRITE, wr_id, 0, len, qp == qp_a ? qp_b : qp_a, 0);
}

static bool
send_now(struct rig_qp *qp)
{
	return uroce_worker_send(qp->wqp.worker, &qp->wqp);
}

static void
ring(struct rig_qp *qp)
{
	uroce_worker_ring_doorbell(qp->wqp.worker, &qp->wqp);
}

static void
await(struct rig_qp *qp, uint64_t wr_id)
{
	const struct ibv_wc wc = rig_await(&qp->scq, dev_a, dev_b);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
}

/* The program at host a makes `nb` posts, and polls after each post. */
static void
post_singly(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		rig_post_send(qp_a, IBV_WR_RDMA_WRITE, i, 0, 8, qp_b, 0);
		await(qp_a, i);
	}
}

/*
 * Set the time of the latest poll of b to the far future: until the next poll, the service thread
 * of b takes no frames, also if this thread is kept from its CPU.
 */
static void
keep_b(void)
{
	atomic_store(&dev_b->worker[0]->app_ns, UINT64_MAX / 2);
}

/* Post a WRITE of `len` bytes at a, until a post transmits inline. */
static void
send_singly(uint64_t wr_id, uint32_t len)
{
	for (unsigned i = 0; i < TRIES; i++) {
		post_singly(HABIT);
		keep_b();
		rig_drive(dev_a);
		queue(qp_a, wr_id, len);
		if (send_now(qp_a))
			return;
		ring(qp_a);
		await(qp_a, wr_id);
	}
	fail_msg("no post was sent by itself");
}

/*
 * Take the frames that are on the way to host b, and free them, so that host b does not receive
 * them.
 * @param[out] opcodes opcodes of the first `max` frames
 * @return number of frames
 */
static unsigned
take_frames(uint8_t *opcodes, unsigned max)
{
	struct rte_mbuf *frames[16];
	const unsigned nb = rte_eth_rx_burst(dev_b->port->id, 0, frames, 16);

	for (unsigned i = 0; i < nb; i++) {
		if (i < max)
			opcodes[i] =
				*rte_pktmbuf_mtod_offset(frames[i], const uint8_t *, 14 + 20 + 8);
		rte_pktmbuf_free(frames[i]);
	}
	return nb;
}

/*
 * Post a request that must not be transmitted inline. The post rings the doorbell, and the request
 * completes.
 */
static void
expect_doorbell(struct rig_qp *qp, uint64_t wr_id)
{
	queue(qp, wr_id, 8);
	assert_false(send_now(qp));
	ring(qp);
	await(qp, wr_id);
}

static void
inline_tx__without_a_habit_a_post_rings(void **state)
{
	(void)state;
	expect_doorbell(qp_a, 1);
}

static void
inline_tx__a_single_post_is_sent_at_once(void **state)
{
	uint8_t opcode = 0;

	(void)state;
	send_singly(7, 8);
	assert_int_equal(take_frames(&opcode, 1), 1);
	assert_int_equal(opcode, UROCE_OP_WRITE_ONLY);
	/* The test has freed the frame, so host a retransmits it after a timeout. */
	await(qp_a, 7);
}

static void
inline_tx__a_post_that_arrives_completes(void **state)
{
	(void)state;
	send_singly(8, 100);
	await(qp_a, 8);
}

/* A frame to a QP of the same device does not leave the device. */
static void
inline_tx__a_post_to_ourselves_stays(void **state)
{
	struct rig_qp *const a = qp_a, *const b = qp_b;
	uint64_t nb_sent;

	(void)state;
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_a, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	nb_sent = uroce_worker_counted(worker_a(), UROCE_COUNTER_TX_FRAMES);
	send_singly(8, 100);
	await(qp_a, 8);
	assert_int_equal(uroce_worker_counted(worker_a(), UROCE_COUNTER_TX_FRAMES), nb_sent);
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	qp_a = a;
	qp_b = b;
}

static void
inline_tx__a_long_message_goes_on_in_the_round(void **state)
{
	uint8_t opcodes[16];

	(void)state;
	send_singly(9, 32 * 1024);
	const unsigned nb = take_frames(opcodes, 16);

	assert_in_range(nb, 2, 4);
	assert_int_equal(opcodes[0], UROCE_OP_WRITE_FIRST);
	await(qp_a, 9);
}

static void
inline_tx__a_second_post_rings(void **state)
{
	(void)state;
	send_singly(1, 8);
	queue(qp_a, 2, 8);
	assert_false(send_now(qp_a));
	ring(qp_a);
	await(qp_a, 1);
	await(qp_a, 2);
}

static bool
is_habit_after(unsigned nb_rung, unsigned nb_rounds)
{
	for (unsigned i = 0; i < nb_rounds; i++)
		uroce_inline_tx_polled(worker_a(), nb_rung);
	return atomic_load(&worker_a()->has_inline_tx);
}

static void
inline_tx__single_posts_make_the_habit(void **state)
{
	(void)state;
	uroce_lock_take(&worker_a()->lock);
	assert_false(is_habit_after(2, 1));
	assert_false(is_habit_after(1, HABIT - 1));
	assert_false(is_habit_after(0, 100));
	assert_true(is_habit_after(1, 1));
	assert_true(is_habit_after(0, 100));
	worker_a()->inline_tx.nb_posts = 1;
	assert_true(is_habit_after(0, 1));
	worker_a()->inline_tx.nb_posts = 1;
	assert_false(is_habit_after(1, 1));
	uroce_lock_release(&worker_a()->lock);
}

/*
 * Take the doorbells of the worker. The caller has the lock of the worker, so no other thread takes
 * doorbells.
 */
static unsigned
take_doorbells(void)
{
	return uroce_doorbell_take(worker_a());
}

static void
inline_tx__two_posts_to_one_qp_are_no_single_one(void **state)
{
	(void)state;
	uroce_lock_take(&worker_a()->lock);
	assert_int_equal(take_doorbells(), 0);
	ring(qp_a);
	assert_int_equal(take_doorbells(), 1);
	ring(qp_a);
	ring(qp_a);
	assert_int_equal(take_doorbells(), 2);
	ring(qp_a);
	assert_int_equal(take_doorbells(), 1);
	uroce_lock_release(&worker_a()->lock);
}

static void
inline_tx__while_another_drives_a_post_rings(void **state)
{
	(void)state;
	post_singly(HABIT);
	queue(qp_a, 1, 8);
	uroce_lock_take(&worker_a()->lock);
	assert_false(send_now(qp_a));
	uroce_lock_release(&worker_a()->lock);
	ring(qp_a);
	await(qp_a, 1);
}

static void
inline_tx__behind_a_doorbell_a_post_rings(void **state)
{
	struct rig_qp *other = rig_qp(dev_a, 0, IBV_QPT_RC);

	(void)state;
	post_singly(HABIT);
	rig_drive(dev_a);
	ring(other);
	expect_doorbell(qp_a, 1);
	rig_qp_free(other);
}

/* If a program has armed its CQ and sleeps, the service thread handles the doorbell of its post. */
static void
inline_tx__a_program_that_left_rings(void **state)
{
	(void)state;
	post_singly(HABIT);
	queue(qp_a, 1, 8);
	uroce_worker_leave(worker_a());
	assert_false(send_now(qp_a));
	ring(qp_a);
	assert_int_equal(rig_await(&qp_a->scq, dev_b, dev_b).wr_id, 1);
}

/*
 * While the service thread sleeps until a wake-up, it does not see the timer of an inline transmit.
 * So the post rings, and the doorbell wakes the thread.
 */
static void
inline_tx__a_post_rings_while_the_service_thread_sleeps(void **state)
{
	(void)state;
	post_singly(HABIT);
	rig_drive(dev_a);
	queue(qp_a, 1, 8);
	atomic_store(&worker_a()->is_unattended, true);
	assert_false(send_now(qp_a));
	ring(qp_a);
	await(qp_a, 1);
}

static void
inline_tx__a_port_that_is_not_there_is_left_alone(void **state)
{
	(void)state;
	post_singly(HABIT);
	rig_drive(dev_a);
	queue(qp_a, 1, 8);
	atomic_store(&dev_a->port->is_ready, false);
	assert_false(send_now(qp_a));
	atomic_store(&dev_a->port->is_ready, true);
	ring(qp_a);
	await(qp_a, 1);
}

/*
 * A message of host b arrives at host a, and the program at host a responds by an inline transmit.
 * @return whether the ACK of the message is still delayed after the response
 */
static bool
answer(uint64_t wr_id)
{
	for (unsigned i = 0; i < SPINS; i++)
		rig_drive(dev_a);
	rig_post_send(qp_b, IBV_WR_RDMA_WRITE, 50, 0, 8, qp_a, 0);
	rig_drive(dev_b);
	keep_b();
	rig_drive(dev_a);
	/*
	 * Keep the ACK out of the burst of the response. With a count above 0, one burst has both.
	 */
	worker_a()->delayed_ack.nb_to_trial = 0;
	queue(qp_a, wr_id, 8);
	if (send_now(qp_a))
		return worker_a()->delayed_ack.is_on;
	ring(qp_a);
	return false;
}

static void
inline_tx__an_answer_leaves_before_the_acknowledgement(void **state)
{
	uint8_t opcodes[2] = { 0 };
	unsigned nb_tries = 0, nb;

	(void)state;
	while (!answer(60)) {
		assert_true(nb_tries++ < TRIES);
		await(qp_a, 60);
		await(qp_b, 50);
	}
	/* The service thread may have sent the ACK meanwhile, if it has taken the CPU. */
	nb = take_frames(opcodes, 2);
	while (worker_a()->delayed_ack.is_on)
		rig_drive(dev_a);
	if (nb < 2)
		nb += take_frames(opcodes + 1, 1);
	assert_int_equal(nb, 2);
	assert_int_equal(opcodes[0], UROCE_OP_WRITE_ONLY);
	assert_int_equal(opcodes[1], UROCE_OP_ACK);
	await(qp_a, 60);
	await(qp_b, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_tx__without_a_habit_a_post_rings),
		cmocka_unit_test(inline_tx__a_single_post_is_sent_at_once),
		cmocka_unit_test(inline_tx__a_post_that_arrives_completes),
		cmocka_unit_test(inline_tx__a_post_to_ourselves_stays),
		cmocka_unit_test(inline_tx__a_long_message_goes_on_in_the_round),
		cmocka_unit_test(inline_tx__a_second_post_rings),
		cmocka_unit_test(inline_tx__single_posts_make_the_habit),
		cmocka_unit_test(inline_tx__two_posts_to_one_qp_are_no_single_one),
		cmocka_unit_test(inline_tx__while_another_drives_a_post_rings),
		cmocka_unit_test(inline_tx__behind_a_doorbell_a_post_rings),
		cmocka_unit_test(inline_tx__a_program_that_left_rings),
		cmocka_unit_test(inline_tx__a_post_rings_while_the_service_thread_sleeps),
		cmocka_unit_test(inline_tx__a_port_that_is_not_there_is_left_alone),
		cmocka_unit_test(inline_tx__an_answer_leaves_before_the_acknowledgement),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
