/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames in the reorder buffer of a worker: to which pool their mbufs belong, and that all mbufs
 * are released. The test carries the frames between the devices, and decides their order.
 */

#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <rte_mbuf.h>

#include "datapath/worker/round.h"

#define MESSAGE   60000
#define NB_FRAMES 15 /* number of frames of the message at a path MTU of 4096 */

static struct rig_qp *a, *b;

static uint32_t
nb_held(void)
{
	return uroce_reorder_buffer_count(uroce_worker_reorder_buffer(dev_b->worker[0]));
}

static void
input(struct rte_mbuf **frames, unsigned nb)
{
	struct rte_mbuf *rest[NB_FRAMES];

	assert_int_equal(uroce_worker_input(dev_b->worker[0], frames, nb, rest), 0);
}

/* The QP `a` posts a WRITE to the QP `b`. The test takes the frames of the WRITE from dev_a. */
static void
take_message(struct rte_mbuf *frames[NB_FRAMES])
{
	rig_fill(a, 3);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, MESSAGE, b, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], frames, NB_FRAMES), NB_FRAMES);
}

static void
carry(struct uroce_dev *from, struct uroce_dev *to)
{
	struct rte_mbuf *frames[64], *rest[64];
	const unsigned nb = uroce_worker_output(from->worker[0], frames, 64);

	assert_int_equal(uroce_worker_input(to->worker[0], frames, nb, rest), 0);
}

static void
finish(void)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	for (int i = 0; i < 1000000 && uroce_cq_poll(&a->scq, 1, &wc) == 0; i++) {
		carry(dev_b, dev_a);
		carry(dev_a, dev_b);
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_check(b, 0, a, 0, MESSAGE);
}

static void
reorder_mbuf__an_idle_connected_qp_takes_nothing_of_its_worker(void **state)
{
	(void)state;
	assert_int_equal(
		uroce_reorder_buffer_count_gaps(uroce_worker_reorder_buffer(dev_b->worker[0])), 0);
	assert_int_equal(uroce_rd_pool_count(uroce_worker_rd_pool(dev_b->worker[0])), 0);
	assert_int_equal(rig_nb_away(dev_b), 0);
}

static void
reorder_mbuf__frames_of_another_pool_go_back_at_once(void **state)
{
	const uint64_t nb_copied = uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_COPIED);
	/* a frame that resolves a neighbour may still be away */
	const unsigned nb_away = rig_nb_away(dev_a);
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	rig_own_clock(); /* a pause of this process must not cause a retransmission */
	take_message(frames);
	assert_int_equal(rig_nb_away(dev_a), nb_away + NB_FRAMES);
	/* host b receives all frames but the first */
	input(frames + 1, NB_FRAMES - 1);
	assert_int_equal(nb_held(), NB_FRAMES - 1);
	assert_int_equal(rig_nb_away(dev_a), nb_away + 1);
	assert_int_equal(rig_nb_away(dev_b), NB_FRAMES - 1);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_COPIED) -
				 nb_copied,
			 NB_FRAMES - 1);
	/* host b receives the first frame */
	input(frames, 1);
	assert_int_equal(nb_held(), 0);
	assert_int_equal(rig_nb_away(dev_b), 0);
	assert_int_equal(rig_nb_away(dev_a), nb_away);
	finish();
	rig_end_own_clock();
	assert_int_equal(a->wqp.qpc.stats.retransmits, 0);
}

/* Copy a frame to an mbuf of the pool of the worker of host b, and free the original. */
static struct rte_mbuf *
as_received(struct rte_mbuf *frame)
{
	struct rte_mbuf *ours = rte_pktmbuf_copy(frame, dev_b->worker[0]->pool, 0, frame->pkt_len);

	assert_non_null(ours);
	rte_pktmbuf_free(frame);
	return ours;
}

static void
reorder_mbuf__frames_of_the_workers_pool_stay_as_they_are(void **state)
{
	const uint64_t nb_copied = uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_COPIED);
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	take_message(frames);
	for (unsigned i = 0; i < NB_FRAMES; i++)
		frames[i] = as_received(frames[i]);
	input(frames + 1, NB_FRAMES - 1);
	assert_int_equal(nb_held(), NB_FRAMES - 1);
	assert_int_equal(rig_nb_away(dev_b), NB_FRAMES);
	input(frames, 1);
	assert_int_equal(rig_nb_away(dev_b), 0);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_COPIED),
			 nb_copied);
	finish();
}

static void
reorder_mbuf__without_an_mbuf_for_the_copy_the_frame_itself_stays(void **state)
{
	struct rte_mempool *pool = dev_b->worker[0]->pool;
	struct rte_mbuf *frames[NB_FRAMES], **taken;
	unsigned nb_taken;

	(void)state;
	take_message(frames);
	taken = calloc(pool->size, sizeof(*taken));
	assert_non_null(taken);
	for (nb_taken = 0; (taken[nb_taken] = rte_pktmbuf_alloc(pool)); nb_taken++)
		;
	input(frames + 1, NB_FRAMES - 1);
	assert_int_equal(nb_held(), NB_FRAMES - 1);
	assert_int_equal(rig_nb_away(dev_a), NB_FRAMES);
	rte_pktmbuf_free_bulk(taken, nb_taken);
	free(taken);
	input(frames, 1);
	assert_int_equal(rig_nb_away(dev_a), 0);
	finish();
}

/* Copy a frame to a chain of two mbufs, and free the original. The first mbuf has 100 bytes. */
static struct rte_mbuf *
as_chain(struct rte_mbuf *frame)
{
	struct rte_mbuf *head = rte_pktmbuf_copy(frame, dev_b->worker[0]->pool, 0, 100);
	struct rte_mbuf *tail =
		rte_pktmbuf_copy(frame, dev_b->worker[0]->pool, 100, frame->pkt_len - 100);

	assert_non_null(head);
	assert_non_null(tail);
	assert_int_equal(rte_pktmbuf_chain(head, tail), 0);
	rte_pktmbuf_free(frame);
	return head;
}

static void
reorder_mbuf__a_chained_frame_is_kept_in_one_piece(void **state)
{
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	take_message(frames);
	for (unsigned i = 0; i < NB_FRAMES; i++)
		frames[i] = as_chain(frames[i]);
	input(frames + 1, NB_FRAMES - 1);
	assert_int_equal(nb_held(), NB_FRAMES - 1);
	assert_int_equal(rig_nb_away(dev_b), NB_FRAMES - 1 + 2);
	input(frames, 1);
	assert_int_equal(rig_nb_away(dev_b), 0);
	finish();
}

static void
reorder_mbuf__a_qp_that_is_reset_leaves_nothing(void **state)
{
	const struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	take_message(frames);
	input(frames + 1, NB_FRAMES - 1);
	assert_int_equal(rig_modify(b, &reset, IBV_QP_STATE), 0);
	assert_int_equal(nb_held(), 0);
	assert_int_equal(
		uroce_reorder_buffer_count_gaps(uroce_worker_reorder_buffer(dev_b->worker[0])), 0);
	assert_int_equal(rig_nb_away(dev_b), 0);
	rte_pktmbuf_free(frames[0]);
}

static void
reorder_mbuf__a_qp_that_is_destroyed_leaves_nothing(void **state)
{
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	take_message(frames);
	input(frames + 1, NB_FRAMES - 1);
	rig_qp_free(b);
	b = NULL;
	assert_int_equal(nb_held(), 0);
	assert_int_equal(
		uroce_reorder_buffer_count_gaps(uroce_worker_reorder_buffer(dev_b->worker[0])), 0);
	assert_int_equal(rig_nb_away(dev_b), 0);
	rte_pktmbuf_free(frames[0]);
}

static void
reorder_mbuf__one_lost_frame_is_sent_again_alone(void **state)
{
	struct rte_mbuf *frames[NB_FRAMES];

	(void)state;
	take_message(frames);
	rte_pktmbuf_free(frames[4]);
	input(frames, 4);
	input(frames + 5, NB_FRAMES - 5);
	/*
	 * The payload of packets behind the gap is placed directly, except that of the Last packet.
	 * So only the Last packet is in the reorder buffer.
	 */
	assert_int_equal(nb_held(), 1);
	finish();
	/*
	 * If the scheduler delays this thread, the count is larger than 1, because probes are
	 * retransmissions, too.
	 */
	assert_true(a->wqp.qpc.stats.retransmits >= 1 && a->wqp.qpc.stats.retransmits < 5);
	assert_int_equal(rig_nb_away(dev_b), 0);
}

static int
connect_pair(void **state)
{
	(void)state;
	a = rig_qp(dev_a, 0, IBV_QPT_RC);
	b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	return 0;
}

static int
free_pair(void **state)
{
	(void)state;
	rig_qp_free(a);
	if (b)
		rig_qp_free(b);
	return 0;
}

static int
group_setup(void **state)
{
	(void)state;
	rig_pair(1, 0);
	return 0;
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, connect_pair, free_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(reorder_mbuf__an_idle_connected_qp_takes_nothing_of_its_worker),
		pair_test(reorder_mbuf__frames_of_another_pool_go_back_at_once),
		pair_test(reorder_mbuf__frames_of_the_workers_pool_stay_as_they_are),
		pair_test(reorder_mbuf__without_an_mbuf_for_the_copy_the_frame_itself_stays),
		pair_test(reorder_mbuf__a_chained_frame_is_kept_in_one_piece),
		pair_test(reorder_mbuf__a_qp_that_is_reset_leaves_nothing),
		pair_test(reorder_mbuf__a_qp_that_is_destroyed_leaves_nothing),
		pair_test(reorder_mbuf__one_lost_frame_is_sent_again_alone),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, rig_teardown);
}
