/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Congestion control in the rounds of a worker. A callback acts as a congested switch: it marks the
 * frames of port A as ECN-CE. Device B answers by CNPs, which reduce the rate of device A. A worker
 * whose only QP waits for its pacer must be idle.
 */

#include "rig.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"
#include "wire/hdr.h"

/*
 * The increase timer and byte counter of DCQCN are so large that the rate does not recover during a
 * test.
 */
#define SPEC ",cc=dcqcn,cc_rate_mbps=1000,cc_min_mbps=200,cc_timer_us=1000000,cc_byte_kb=4000000"

static uint16_t
mark(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port;
	(void)queue;
	(void)arg;
	for (uint16_t i = 0; i < nb; i++) {
		struct uroce_ipv4 *ip =
			rte_pktmbuf_mtod_offset(frames[i], void *, sizeof(struct uroce_eth));

		if ((ip->tos & UROCE_ECN_MASK) == UROCE_ECN_ECT0)
			ip->tos |= UROCE_ECN_CE;
	}
	return nb;
}

static void
paced__marks_slow_the_sender_down(void **state)
{
	struct uroce_dev *dev[2];
	struct rig_qp *qp[2];
	const uint32_t len = 50000, nb = 16;

	(void)state;
	rig_wire("pa", "pb", 1, 0);
	dev[0] = rig_dev("net_ring_pa,addr=192.0.2.1/24,drive=none" SPEC);
	dev[1] = rig_dev("net_ring_pb,addr=192.0.2.2/24,drive=none" SPEC);
	for (unsigned i = 0; i < 2; i++)
		qp[i] = rig_qp(dev[i], 0, IBV_QPT_RC);
	rig_connect(qp[0], qp[1], 1);
	rig_connect(qp[1], qp[0], 1);
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_tx_callback(dev[0]->port->id, 0, mark, NULL);
	const struct uroce_cc *cc = &qp[0]->wqp.qpc.cc;

	assert_non_null(callback);
	rig_fill(qp[0], 1);
	/* Send until so many frames are marked that the CNPs reduce the rate to the minimum. */
	for (unsigned i = 0; i < 1000 && cc->rate_bps != 200000000; i++) {
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, 1, 0, 20000, qp[1], 0);
		assert_int_equal(rig_await(&qp[0]->scq, dev[0], dev[1]).status, IBV_WC_SUCCESS);
	}
	assert_true(cc->is_limited);
	assert_int_equal(cc->rate_bps, 200000000);
	assert_true(uroce_worker_counted(dev[1]->worker[0],
					 UROCE_COUNTER_NP_ECN_MARKED_ROCE_PACKETS) > 0);
	assert_true(uroce_worker_counted(dev[1]->worker[0], UROCE_COUNTER_NP_CNP_SENT) >= 3);
	assert_int_equal(dev[0]->worker[0]->stats.verdict[UROCE_VERDICT_CNP],
			 uroce_worker_counted(dev[1]->worker[0], UROCE_COUNTER_NP_CNP_SENT));
	assert_int_equal(rte_eth_remove_tx_callback(dev[0]->port->id, 0, callback), 0);

	/*
	 * At 200 Mb/s, 800 kB take 32 ms. The pacer permits a first burst at once, which makes the
	 * time a little shorter.
	 */
	const uint64_t begin_ns = uroce_clock_ns();
	const uint64_t rounds = uroce_worker_counted(dev[0]->worker[0], UROCE_COUNTER_ROUNDS);
	const uint64_t idle_rounds =
		uroce_worker_counted(dev[0]->worker[0], UROCE_COUNTER_IDLE_ROUNDS);

	for (uint32_t i = 0; i < nb; i++) {
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, 1, 0, len, qp[1], 0);
		assert_int_equal(rig_await(&qp[0]->scq, dev[0], dev[1]).status, IBV_WC_SUCCESS);
	}
	assert_true(uroce_clock_ns() - begin_ns > 30000000);
	assert_true(uroce_worker_counted(dev[0]->worker[0], UROCE_COUNTER_IDLE_ROUNDS) -
			    idle_rounds >
		    (uroce_worker_counted(dev[0]->worker[0], UROCE_COUNTER_ROUNDS) - rounds) / 2);
	rig_check(qp[1], 0, qp[0], 0, len);
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_free(qp[i]);
		assert_int_equal(uroce_dev_destroy(dev[i]), 0);
	}
}

/* Without the key cc_rate_mbps, the rate is the link speed that the port reports. */
static void
paced__the_port_says_how_fast_it_is(void **state)
{
	struct uroce_dev *dev;

	(void)state;
	rig_wire("pc", "pd", 1, 0);
	dev = rig_dev("net_ring_pc,addr=192.0.2.1/24,drive=none,cc=dcqcn");
	assert_true(dev->cc.rate_mbps > 0);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paced__marks_slow_the_sender_down),
		cmocka_unit_test(paced__the_port_says_how_fast_it_is),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
