/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loopback frames in single rounds of the worker: which frames stay in the device, how many frames
 * can wait, and what happens to waiting frames. The port is net_null, which supports zero-copy
 * transmission and counts its frames.
 */

#include "rig.h"

#include <stdio.h>
#include <string.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include "datapath/worker/at_rest.h"
#include "datapath/worker/round.h"

#define PORT   "net_null7"
#define NB_QPS 8

static struct rig_qp *from, *to; /* two connected QPs */

static struct uroce_worker *
worker(void)
{
	return dev_a->worker[0];
}

static uint64_t
nb_sent(void)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(dev_a->port->id, &stats), 0);
	return stats.opackets;
}

static void
connect_both(struct rig_qp *a, struct rig_qp *b)
{
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
}

static void
open_dev_on(const char *args, unsigned nb_workers)
{
	char spec[80];

	assert_int_equal(rte_vdev_init(PORT, args), 0);
	snprintf(spec, sizeof(spec), PORT ",drive=none,workers=%u,addr=192.0.2.1/24", nb_workers);
	dev_a = rig_dev(spec);
	rig_own_clock();
	from = rig_qp(dev_a, 0, IBV_QPT_RC);
	to = rig_qp(dev_a, nb_workers - 1, IBV_QPT_RC);
	rig_fill(from, 3);
	connect_both(from, to);
}

static void
open_dev(unsigned nb_workers)
{
	open_dev_on("no-rx=1", nb_workers);
}

static int
setup(void **state)
{
	(void)state;
	open_dev(1);
	return 0;
}

/* Open a device on a net_null port that produces a received frame whenever it is polled. */
static int
setup_noisy(void **state)
{
	(void)state;
	open_dev_on("size=64,copy=0", 1);
	return 0;
}

static int
setup_two(void **state)
{
	(void)state;
	open_dev(2);
	return 0;
}

/* Destroy the device. The pool of the device can be freed only if all mbufs were released. */
static int
teardown(void **state)
{
	char pool[RTE_MEMPOOL_NAMESIZE];

	(void)state;
	rig_qp_free(from);
	rig_qp_free(to);
	snprintf(pool, sizeof(pool), "%s", worker()->pool->name);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	assert_null(rte_mempool_lookup(pool));
	dev_a = NULL;
	(void)rte_vdev_uninit(PORT);
	return 0;
}

static void
expect_success(struct rig_qp *qp)
{
	const struct ibv_wc wc = rig_await(&qp->scq, dev_a, dev_a);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void
loopback__a_frame_waits_for_the_next_round(void **state)
{
	struct ibv_wc wc;

	(void)state;
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, 8, to, 0);
	assert_true(uroce_worker_poll(worker()) > 0);
	assert_int_equal(worker()->loopback.nb, 1);
	/* next_ns is 0 while a frame waits, so that the driving thread does not sleep */
	assert_int_equal(uroce_worker_next_ns(worker()), 0);
	assert_int_equal(to->wqp.qpc.stats.rx_packets, 0);
	/* this round receives the request, and sends the ACK as a loopback frame */
	assert_true(uroce_worker_poll(worker()) > 0);
	assert_int_equal(to->wqp.qpc.stats.rx_packets, 1);
	assert_int_equal(worker()->loopback.nb, 1);
	assert_int_equal(uroce_cq_poll(&from->scq, 1, &wc), 0);
	assert_true(uroce_worker_poll(worker()) > 0);
	assert_int_equal(uroce_cq_poll(&from->scq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(worker()->loopback.nb, 0);
	assert_int_not_equal(uroce_worker_next_ns(worker()), 0);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_LOOPBACK_PKTS), 2);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_RX_FRAMES), 0);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_TX_FRAMES), nb_sent());
	assert_int_equal(nb_sent(), 0);
}

/*
 * QPs have more frames to send than UROCE_LOOPBACK_MAX. A frame is built only when there is room
 * for it, so no frame is dropped and retransmitted.
 */
static void
loopback__who_finds_it_full_waits(void **state)
{
	struct rig_qp *a[NB_QPS], *b[NB_QPS];
	uint64_t nb_packets = 0;

	(void)state;
	for (unsigned i = 0; i < NB_QPS; i++) {
		a[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		b[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		connect_both(a[i], b[i]);
		rig_fill(a[i], (uint8_t)i);
		for (unsigned k = 0; k < 16; k++)
			rig_post_send(a[i], IBV_WR_RDMA_WRITE, k, 0, RIG_BUF_LEN, b[i], 0);
	}
	for (unsigned i = 0; i < 1000; i++) {
		(void)uroce_worker_poll(worker());
		assert_in_range(worker()->loopback.nb, 0, UROCE_LOOPBACK_MAX);
		assert_int_equal(worker()->tx.nb_pending, 0);
	}
	for (unsigned i = 0; i < NB_QPS; i++) {
		for (unsigned k = 0; k < 16; k++)
			expect_success(a[i]);
		rig_check(b[i], 0, a[i], 0, RIG_BUF_LEN);
		assert_int_equal(a[i]->wqp.qpc.stats.retransmits, 0);
		nb_packets += a[i]->wqp.qpc.stats.rx_packets + b[i]->wqp.qpc.stats.rx_packets;
		rig_qp_free(a[i]);
		rig_qp_free(b[i]);
	}
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_LOOPBACK_PKTS), nb_packets);
	assert_int_equal(nb_sent(), 0);
}

/*
 * A loopback frame is always copied, even if the port can transmit without a copy. The receiver
 * reads the frame in a later round, when the request may have completed and its buffer may have
 * changed.
 */
static void
loopback__nothing_is_lent_to_it(void **state)
{
	struct rig_qp *away = rig_qp(dev_a, 0, IBV_QPT_RC);

	(void)state;
	rig_connect_nowhere(away, 0);
	assert_true(dev_a->port->can_zero_copy);
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, 30000, to, 0);
	rig_post_send(away, IBV_WR_RDMA_WRITE, 1, 0, 3 * 4096, to, 0);
	expect_success(from);
	rig_check(to, 0, from, 0, 30000);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_TX_ZERO_COPY),
			 3); /* Only the 3 frames to another host are zero-copy frames. */
	assert_int_equal(nb_sent(), 3);
	rig_qp_free(away);
}

/*
 * A frame to a QP number that this device does not have leaves the device, because another host may
 * have the QP.
 */
static void
loopback__a_number_that_is_not_ours_leaves(void **state)
{
	struct rig_qp *gone = rig_qp(dev_a, 0, IBV_QPT_RC), *left = rig_qp(dev_a, 0, IBV_QPT_RC);

	(void)state;
	rig_connect(left, gone, 1);
	rig_qp_free(gone);
	rig_post_send(left, IBV_WR_SEND, 1, 0, 100, NULL, 0);
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, 100, to, 0);
	expect_success(from);
	assert_int_equal(nb_sent(), 1);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_LOOPBACK_PKTS), 2);
	rig_qp_free(left);
}

/* A QP is destroyed before it receives the frames that wait for it. */
static void
loopback__a_queue_goes_while_its_frames_wait(void **state)
{
	struct rig_qp *gone = rig_qp(dev_a, 0, IBV_QPT_RC), *left = rig_qp(dev_a, 0, IBV_QPT_RC);

	(void)state;
	connect_both(left, gone);
	rig_post_send(left, IBV_WR_SEND, 1, 0, 100, NULL, 0);
	(void)uroce_worker_poll(worker());
	assert_int_equal(worker()->loopback.nb, 1);
	rig_qp_free(gone);
	(void)uroce_worker_poll(worker());
	assert_int_equal(worker()->stats.verdict[UROCE_VERDICT_NO_QP], 1);
	/* in teardown() the sender is destroyed while its frames wait */
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, 30000, to, 0);
	(void)uroce_worker_poll(worker());
	assert_true(worker()->loopback.nb > 0);
	rig_qp_free(left);
}

static void
loopback__an_embedder_is_handed_none(void **state)
{
	struct rte_mbuf *frames[8];
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	(void)state;
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, RIG_BUF_LEN, to, 0);
	for (unsigned i = 0; i < 1000 && uroce_cq_poll(&from->scq, 1, &wc) == 0; i++)
		assert_int_equal(uroce_worker_output(worker(), frames, 8), 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_check(to, 0, from, 0, RIG_BUF_LEN);
	assert_int_equal(nb_sent(), 0);
}

/*
 * Loopback frames to a QP of another worker are forwarded to that worker. The responses are
 * forwarded back.
 */
static void
loopback__frames_hop_to_who_owns_their_queue(void **state)
{
	const struct uroce_worker *other = dev_a->worker[1];

	(void)state;
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, RIG_BUF_LEN, to, 0);
	expect_success(from);
	rig_check(to, 0, from, 0, RIG_BUF_LEN);
	assert_int_equal(uroce_worker_counted(other, UROCE_COUNTER_FORWARDED_PKTS),
			 to->wqp.qpc.stats.rx_packets);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_LOOPBACK_PKTS),
			 uroce_worker_counted(other, UROCE_COUNTER_FORWARDED_PKTS));
	assert_int_equal(uroce_worker_counted(other, UROCE_COUNTER_LOOPBACK_PKTS),
			 uroce_worker_counted(worker(), UROCE_COUNTER_FORWARDED_PKTS));
	assert_int_equal(from->wqp.qpc.stats.retransmits, 0);
	assert_int_equal(nb_sent(), 0);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/*
 * The device does not process the frames that net_null produces. net_null returns mbufs without
 * writing to them, so the mbufs contain frames that were sent before, such as an ACK.
 */
static void
loopback__what_a_port_makes_up_is_not_heard(void **state)
{
	(void)state;
	rig_post_send(from, IBV_WR_RDMA_WRITE, 1, 0, 8, to, 0);
	expect_success(from);
	for (unsigned i = 0; i < 100; i++)
		rig_drive(dev_a);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_RX_FRAMES), 0);
	assert_int_equal(from->wqp.qpc.stats.rx_packets, 1);
	assert_int_equal(to->wqp.qpc.stats.rx_packets, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(loopback__a_frame_waits_for_the_next_round),
		ONE(loopback__who_finds_it_full_waits),
		ONE(loopback__nothing_is_lent_to_it),
		ONE(loopback__a_number_that_is_not_ours_leaves),
		ONE(loopback__a_queue_goes_while_its_frames_wait),
		ONE(loopback__an_embedder_is_handed_none),
		cmocka_unit_test_setup_teardown(loopback__what_a_port_makes_up_is_not_heard,
						setup_noisy, teardown),
		cmocka_unit_test_setup_teardown(loopback__frames_hop_to_who_owns_their_queue,
						setup_two, teardown),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
