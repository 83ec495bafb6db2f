/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fairness: QPs with many frames to send get equal turns, and they do not delay a QP with few
 * frames. The test takes the frames from the device as an embedder does, and counts the frames of
 * each QP. No peer responds.
 */

#include "rig.h"

#include <string.h>
#include <rte_mbuf.h>

#include "datapath/worker/round.h"
#include "wire/parse.h"

#define NB_QP   24
#define NB_MSG  8
#define MSG_LEN 32768 /* bytes that a QP sends in one turn: UROCE_TX_QUANTUM frames */

static struct rig_qp *qp[NB_QP], *peer[NB_QP];

static void
make_qps(void)
{
	for (unsigned i = 0; i < NB_QP; i++) {
		qp[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		peer[i] = rig_qp(dev_b, 0, IBV_QPT_RC);
		rig_connect(qp[i], peer[i], 1);
		rig_connect(peer[i], qp[i], 1);
	}
}

static void
free_qps(void)
{
	for (unsigned i = 0; i < NB_QP; i++) {
		rig_qp_free(qp[i]);
		rig_qp_free(peer[i]);
	}
}

/*
 * Take `nb` frames from dev_a. Add the number of frames to each destination QP to the entries of
 * `of`.
 */
static void
take(unsigned nb, unsigned *of)
{
	struct rte_mbuf *frames[UROCE_BURST];

	while (nb > 0) {
		const unsigned max = nb < UROCE_BURST ? nb : UROCE_BURST;
		const unsigned got = uroce_worker_output(dev_a->worker[0], frames, max);

		assert_int_equal(got, max);
		for (unsigned i = 0; i < got; i++) {
			struct uroce_pkt pkt;

			assert_in_range(uroce_parse(rte_pktmbuf_mtod(frames[i], const uint8_t *),
						    frames[i]->data_len, &pkt),
					0, UROCE_VERDICT_DATAGRAM);
			for (unsigned k = 0; k < NB_QP; k++)
				of[k] += pkt.dest_qpn == peer[k]->wqp.qpc.qpn;
		}
		rte_pktmbuf_free_bulk(frames, got);
		nb -= got;
	}
}

static void
post_much(struct rig_qp *from, const struct rig_qp *to)
{
	for (unsigned i = 0; i < NB_MSG; i++)
		rig_post_send(from, IBV_WR_RDMA_WRITE, i, 0, MSG_LEN, to, 0);
}

/* Each QP has more frames to send than the test takes, and no window of a QP is full. */
static void
build__qps_with_much_get_equal_turns(void **state)
{
	unsigned of[NB_QP] = { 0 };

	(void)state;
	make_qps();
	for (unsigned i = 0; i < NB_QP; i++)
		post_much(qp[i], peer[i]);
	/* after each round of turns, all QPs have sent the same number of frames */
	for (unsigned circle = 1; circle <= 3; circle++) {
		take(NB_QP * UROCE_TX_QUANTUM, of);
		for (unsigned i = 0; i < NB_QP; i++)
			assert_int_equal(of[i], circle * UROCE_TX_QUANTUM);
	}
	free_qps();
}

/*
 * A QP with one short message waits until each QP that is scheduled before it has had one turn, and
 * not longer.
 */
static void
build__a_qp_with_little_waits_for_one_turn_of_the_others(void **state)
{
	unsigned of[NB_QP] = { 0 };

	(void)state;
	make_qps();
	for (unsigned i = 0; i + 1 < NB_QP; i++)
		post_much(qp[i], peer[i]);
	take((NB_QP - 1) * UROCE_TX_QUANTUM, of);
	for (unsigned nth = 1; nth <= 3; nth++) {
		rig_post_send(qp[NB_QP - 1], IBV_WR_RDMA_WRITE, nth, 0, 8, peer[NB_QP - 1], 0);
		take((NB_QP - 1) * UROCE_TX_QUANTUM + 1, of);
		assert_int_equal(of[NB_QP - 1], nth);
	}
	free_qps();
}

/*
 * A QP that is already scheduled to send a response must also send a request in that turn, if a
 * request has become possible, for example by an ACK that opens the window.
 */
static void
follow_up__who_is_in_line_for_an_answer_is_asked_for_requests_too(void **state)
{
	struct uroce_worker *worker = dev_a->worker[0];
	unsigned of[NB_QP] = { 0 };

	(void)state;
	make_qps();
	uroce_tx_schedule_response(worker, &qp[0]->wqp);
	rig_queue_send(qp[0], IBV_WR_RDMA_WRITE, 1, 0, 8, peer[0], 0);
	uroce_worker_follow_up(worker, &qp[0]->wqp);
	take(1, of);
	assert_int_equal(of[0], 1);
	free_qps();
}

static int
setup(void **state)
{
	(void)state;
	/* With drive=none, no other thread takes frames from the device. */
	rig_wire("fair0", "fair1", 1, 0);
	dev_a = rig_dev("net_ring_fair0,addr=192.0.2.1/24,mtu=1024,drive=none");
	dev_b = rig_dev("net_ring_fair1,addr=192.0.2.2/24,mtu=1024,drive=none");
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__qps_with_much_get_equal_turns),
		cmocka_unit_test(build__a_qp_with_little_waits_for_one_turn_of_the_others),
		cmocka_unit_test(follow_up__who_is_in_line_for_an_answer_is_asked_for_requests_too),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, rig_teardown);
}
