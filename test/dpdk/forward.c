/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Devices with several workers. The rings connect the workers so that every frame arrives at a
 * worker that does not own the QP of the frame, and must be forwarded.
 */

#include "rig.h"

static uint64_t
sum(const struct uroce_dev *dev, enum uroce_verdict verdict)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		nb += uroce_worker_stats(dev->worker[i])->verdict[verdict];
	return nb;
}

static uint64_t
sum_forwarded_in(const struct uroce_dev *dev)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < dev->nb_workers; i++)
		nb += uroce_worker_counted(dev->worker[i], UROCE_COUNTER_FORWARDED_PKTS);
	return nb;
}

static void
forward__every_frame_reaches_its_qp(void **state)
{
	struct rig_qp *a[3], *b[3];
	uint64_t nb_frames = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		a[i] = rig_qp(dev_a, i, IBV_QPT_RC);
		b[i] = rig_qp(dev_b, i, IBV_QPT_RC);
		rig_connect(a[i], b[i], 1);
		rig_connect(b[i], a[i], 1);
		rig_fill(a[i], (uint8_t)i);
	}
	for (unsigned i = 0; i < 3; i++)
		rig_post_send(a[i], IBV_WR_RDMA_WRITE, i, 0, 30000, b[i], 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct ibv_wc wc = rig_await(&a[i]->scq, dev_a, dev_b);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		rig_check(b[i], 0, a[i], 0, 30000);
		nb_frames += b[i]->wqp.qpc.stats.rx_packets;
	}
	assert_int_equal(sum(dev_b, UROCE_VERDICT_FORWARDED), nb_frames);
	assert_int_equal(sum_forwarded_in(dev_b), nb_frames);
	assert_int_equal(sum(dev_b, UROCE_VERDICT_REQUEST), nb_frames);
	assert_int_equal(sum(dev_b, UROCE_VERDICT_OVERRUN), 0);
	for (unsigned i = 0; i < 3; i++) {
		rig_qp_free(a[i]);
		rig_qp_free(b[i]);
	}
}

/*
 * The worker that owns the QPs is not driven. More frames are forwarded to this worker than its
 * ring can hold, so frames are dropped.
 */
static void
forward__an_owner_that_is_away_overruns(void **state)
{
	struct rig_qp *a[8], *b[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		a[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		b[i] = rig_qp(dev_b, 0, IBV_QPT_RC);
		rig_connect(a[i], b[i], 1);
		rig_connect(b[i], a[i], 1);
	}
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned k = 0; k < 16; k++)
			rig_post_send(a[i], IBV_WR_RDMA_WRITE, k, 0, RIG_BUF_LEN, b[i], 0);
	}
	for (unsigned k = 0; k < 200; k++) {
		(void)uroce_worker_poll(dev_a->worker[0]);
		/* worker 1 receives the frames for the QPs of worker 0, and forwards them */
		(void)uroce_worker_poll(dev_b->worker[1]);
	}
	assert_true(sum(dev_b, UROCE_VERDICT_OVERRUN) > 0);
	/* the requesters retransmit the frames that were dropped */
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned k = 0; k < 16; k++)
			assert_int_equal(rig_await(&a[i]->scq, dev_a, dev_b).status,
					 IBV_WC_SUCCESS);
		rig_check(b[i], 0, a[i], 0, RIG_BUF_LEN);
	}
	for (unsigned i = 0; i < 8; i++) {
		rig_qp_free(a[i]);
		rig_qp_free(b[i]);
	}
}

/*
 * Carry all frames that the device `from` wants to send to the device `to`, as an embedder does
 * that owns the ports.
 */
static void
carry(struct uroce_dev *from, struct uroce_dev *to)
{
	struct rte_mbuf *frames[64], *rest[64];

	for (unsigned i = 0; i < from->nb_workers; i++) {
		const unsigned nb = uroce_worker_output(from->worker[i], frames, 64);

		/* the frames arrive at a worker that does not own their QP */
		assert_int_equal(
			uroce_worker_input(to->worker[(i + 1) % to->nb_workers], frames, nb, rest),
			0);
	}
}

static void
forward__an_embedders_frames_hop_too(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 2, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 2, IBV_QPT_RC);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	unsigned nb = 0;

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_own_clock(); /* a pause of this process must not cause a retransmission */
	rig_fill(a, 7);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 30000, b, 0);
	for (unsigned i = 0; i < 1000 && nb == 0; i++) {
		carry(dev_a, dev_b);
		carry(dev_b, dev_a);
		nb = (unsigned)uroce_cq_poll(&a->scq, 1, &wc);
	}
	assert_int_equal(nb, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_end_own_clock();
	assert_int_equal(a->wqp.qpc.stats.retransmits, 0);
	rig_check(b, 0, a, 0, 30000);
	rig_qp_free(a);
	rig_qp_free(b);
}

static int
group_setup(void **state)
{
	(void)state;
	rig_pair(3, 1);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward__every_frame_reaches_its_qp),
		cmocka_unit_test(forward__an_owner_that_is_away_overruns),
		cmocka_unit_test(forward__an_embedders_frames_hop_too),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, rig_teardown);
}
