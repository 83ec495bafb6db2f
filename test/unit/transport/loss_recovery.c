/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loss recovery of the requester: what it retransmits to a peer with a reorder buffer (selective),
 * and to a peer that drops out-of-order packets (go-back-N).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "recovery_pair.h"
#include "transport/requester/position.h"
#include "transport/recovery/loss_recovery.h"

static void
loss_recovery__one_hole_costs_one_packet(void **state)
{
	(void)state;
	recovery_write(5);
	pair_lose(&pair, A, 1);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1 LOST\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3\n"
				 "A>B WRITE_LAST psn 4 A\n"
				 "B>A NAK_SEQ psn 1\n"
				 "A>B WRITE_MIDDLE psn 1 A\n"
				 "B>A ACK psn 4\n");
	assert_true(pair_is_equal(&pair, 0, 0, 5 * RECOVERY_MTU));
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

/*
 * To a selective peer, the packets that were in flight when the missing packet was retransmitted do
 * not count for the window, so new packets follow (window inflation).
 */
static void
loss_recovery__a_window_more_follows_it(void **state)
{
	(void)state;
	pair.host[A].qpc.req.loss_recovery.peer = UROCE_PEER_ARQ_SELECTIVE;
	recovery_write(16);
	pair_lose(&pair, A, 1);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1 LOST\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3\n"
				 "A>B WRITE_MIDDLE psn 4\n"
				 "A>B WRITE_MIDDLE psn 5\n"
				 "A>B WRITE_MIDDLE psn 6\n"
				 "A>B WRITE_MIDDLE psn 7 A\n"
				 "B>A NAK_SEQ psn 1\n"
				 "A>B WRITE_MIDDLE psn 1 A\n"
				 "A>B WRITE_MIDDLE psn 8\n"
				 "A>B WRITE_MIDDLE psn 9\n"
				 "A>B WRITE_MIDDLE psn 10\n"
				 "A>B WRITE_MIDDLE psn 11\n"
				 "A>B WRITE_MIDDLE psn 12\n"
				 "A>B WRITE_MIDDLE psn 13\n"
				 "A>B WRITE_MIDDLE psn 14\n"
				 "A>B WRITE_LAST psn 15 A\n"
				 "B>A ACK psn 15\n");
	assert_true(pair_is_equal(&pair, 0, 0, 16 * RECOVERY_MTU));
}

/*
 * If the peer ARQ is unknown, the peer may have dropped the packets behind the gap and need them
 * again, so the window is not inflated.
 */
static void
loss_recovery__no_more_follows_it_where_the_peer_is_unknown(void **state)
{
	(void)state;
	recovery_write(16);
	pair_lose(&pair, A, 1);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1 LOST\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3\n"
				 "A>B WRITE_MIDDLE psn 4\n"
				 "A>B WRITE_MIDDLE psn 5\n"
				 "A>B WRITE_MIDDLE psn 6\n"
				 "A>B WRITE_MIDDLE psn 7 A\n"
				 "B>A NAK_SEQ psn 1\n"
				 "A>B WRITE_MIDDLE psn 1 A\n"
				 "A>B WRITE_MIDDLE psn 8 A\n"
				 "B>A ACK psn 8\n"
				 "A>B WRITE_MIDDLE psn 9\n"
				 "A>B WRITE_MIDDLE psn 10\n"
				 "A>B WRITE_MIDDLE psn 11\n"
				 "A>B WRITE_MIDDLE psn 12\n"
				 "A>B WRITE_MIDDLE psn 13\n"
				 "A>B WRITE_MIDDLE psn 14\n"
				 "A>B WRITE_LAST psn 15 A\n"
				 "B>A ACK psn 15\n");
}

static void
loss_recovery__a_second_hole_is_known_from_the_ack(void **state)
{
	(void)state;
	recovery_write(32);
	pair_lose(&pair, A, 3);
	pair_lose(&pair, A, 29);
	/*
	 * the first loss costs one retransmission; the second at most three: the missing packet and
	 * the two behind it
	 */
	assert_true(recovery_run() <= 2 + 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.req.loss_recovery.peer, UROCE_PEER_ARQ_SELECTIVE);
}

static void
loss_recovery__a_peer_that_drops_is_found_out_and_gets_everything_again(void **state)
{
	(void)state;
	recovery_write(32);
	pair_lose(&pair, A, 3);
	/*
	 * packet 3 is retransmitted once; when its ACK shows that the peer is go-back-N, packets 4
	 * to 31 are retransmitted
	 */
	assert_int_equal(recovery_run(), 1 + 28);
	assert_int_equal(pair.host[A].qpc.req.loss_recovery.peer, UROCE_PEER_ARQ_GO_BACK_N);
	/* the peer is known to be go-back-N, so packets 3 to 31 are retransmitted at once */
	recovery_write(32);
	pair_lose(&pair, A, 3);
	assert_int_equal(recovery_run(), 29 + 29);
}

static void
loss_recovery__a_peer_that_drops_has_little_in_flight_at_first(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	recovery_write(32);
	pair_lose(&pair, A, 3);
	(void)recovery_run();
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_GO_BACK_N);
	/* cwnd began with 16, and has doubled, because it was used */
	assert_int_equal(uroce_req_window(qpc), 2 * 16);
	/* single packets do not use cwnd, so cwnd does not grow */
	for (unsigned i = 0; i < 8; i++) {
		recovery_write(1);
		(void)recovery_run();
	}
	assert_true(uroce_req_window(qpc) <= 4 * 16);
	for (unsigned i = 0; i < 32; i++) {
		recovery_write(256);
		(void)recovery_run();
	}
	assert_true(uroce_req_window(qpc) >= 128);
}

/*
 * Compute cwnd after an ACK.
 * @param psns         cwnd before the ACK
 * @param is_filled    half of cwnd was in flight
 * @param is_queueing  the round trip is longer than the shortest one because of queueing
 * @return cwnd after the ACK
 */
static unsigned
psns_after_answer(unsigned psns, bool is_filled, bool is_queueing)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;
	struct uroce_rtt *rtt = &qpc->req.rtt;

	rtt->cwnd = (uint16_t)psns;
	rtt->min_rtt_ns = is_queueing ? 64 : rtt->srtt_ns;
	uroce_rtt_begin(rtt, uroce_psn_add(qpc->req.una_psn, UROCE_PSN_MASK), pair.now_ns);
	rtt->is_cwnd_used = is_filled;
	uroce_loss_recovery_progress(qpc, pair.now_ns + rtt->srtt_ns);
	return rtt->cwnd;
}

static void
loss_recovery__as_much_is_in_flight_as_waits_in_line_nowhere(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;
	const unsigned window = qpc->window_psns;

	(void)state;
	recovery_write(32);
	(void)recovery_run();
	assert_int_equal(psns_after_answer(16, true, false), 32);
	assert_int_equal(psns_after_answer(window / 2 + 1, true, false), window);
	/*
	 * an ACK while less than half of cwnd was in flight, or with queueing, does not let cwnd
	 * grow
	 */
	assert_int_equal(psns_after_answer(16, false, false), 16);
	assert_int_equal(psns_after_answer(16, true, true), 16);
	/* an ACK with queueing reduces a larger cwnd; from this time on cwnd grows slowly */
	assert_int_equal(psns_after_answer(64, false, true), 56);
	assert_int_equal(qpc->req.rtt.min_rtt_ns, 64);
	assert_int_equal(psns_after_answer(56, true, false), 63);
	assert_int_equal(psns_after_answer(window, true, false), window);
	/*
	 * a cwnd of 16 cannot cause queueing, so a longer round trip means that the path has become
	 * longer
	 */
	assert_int_equal(psns_after_answer(16, true, true), 16);
	assert_int_equal(qpc->req.rtt.min_rtt_ns, 64 + 2 + 1);
	/* cwnd 0: to a selective peer cwnd is no limit, and does not change */
	assert_int_equal(psns_after_answer(0, true, true), 0);
}

static void
loss_recovery__one_that_drops_is_asked_more_often(void **state)
{
	(void)state;
	pair.host[A].qpc.req.loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	recovery_write(6);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3 A\n"
				 "A>B WRITE_MIDDLE psn 4\n"
				 "A>B WRITE_LAST psn 5 A\n"
				 "B>A ACK psn 5\n"); /* one ACK for the whole burst */
}

/*
 * Compute cwnd after a loss.
 * @param psns  cwnd before the loss; 0: no limit
 * @return cwnd after the loss
 */
static unsigned
psns_after(unsigned psns, bool is_queueing)
{
	struct uroce_req *req = &pair.host[A].qpc.req;

	req->loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	req->rtt.cwnd = (uint16_t)psns;
	req->rtt.is_queueing = is_queueing;
	uroce_loss_recovery_reduce_cwnd(&pair.host[A].qpc);
	assert_false(req->rtt.is_queueing);
	return req->rtt.cwnd;
}

static void
loss_recovery__what_waits_in_line_is_halved_by_each_loss(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	assert_int_equal(psns_after(0, true), 16);
	assert_int_equal(psns_after(0, false), 16);
	assert_int_equal(psns_after(64, true), 32);
	assert_int_equal(psns_after(64, false), 64);
	assert_int_equal(psns_after(24, true), 16);
	/* a loss does not reduce the window to a selective peer */
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_SELECTIVE;
	qpc->req.rtt.cwnd = 0;
	qpc->req.rtt.is_queueing = true;
	uroce_loss_recovery_reduce_cwnd(qpc);
	assert_int_equal(uroce_req_window(qpc), qpc->window_psns);
}

/*
 * Compute the window after an ACK that shows a retransmission to be spurious. The requester took
 * the peer for go-back-N, and retransmits everything.
 * @param nb_psns    number of acknowledged packets that were not retransmitted yet
 * @param nb_behind  number of packets in flight behind the acknowledged ones
 * @return the window
 */
static unsigned
window_after_answer_to(unsigned nb_psns, unsigned nb_behind)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	qpc->req.rtt.cwnd = 16;
	qpc->req.loss_recovery.state = UROCE_RECOVERY_LOSS;
	qpc->req.una_psn = uroce_psn_add(qpc->req.next_psn, nb_psns);
	qpc->req.max_psn = uroce_psn_add(qpc->req.una_psn, nb_behind);
	uroce_loss_recovery_on_spurious(qpc);
	qpc->req.una_psn = qpc->req.max_psn = qpc->req.next_psn;
	return uroce_req_window(qpc);
}

static void
loss_recovery__a_peer_holds_that_answers_what_was_not_sent_again(void **state)
{
	(void)state;
	/*
	 * 0 or 3 packets may have been reordered, so their ACK does not show that the peer is
	 * selective
	 */
	assert_int_equal(window_after_answer_to(0, 0), 16);
	assert_int_equal(window_after_answer_to(3, 0), 16);
	/*
	 * only an ACK of all packets in flight, of which more than 3 were not retransmitted, shows
	 * that the peer is selective
	 */
	assert_int_equal(window_after_answer_to(8, 1), 16);
	assert_int_equal(window_after_answer_to(4, 0), pair.host[A].qpc.window_psns);
	assert_int_equal(pair.host[A].qpc.req.loss_recovery.peer, UROCE_PEER_ARQ_SELECTIVE);
}

static void
connect_again(void)
{
	pair_set_state(&pair, A, IBV_QPS_RESET);
	pair_bring_up(&pair, A, IBV_QPS_RTS);
}

static void
loss_recovery__the_next_qp_to_a_host_that_drops_knows_it(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	recovery_find_out();
	recovery_write(1);
	(void)recovery_run();
	recovery_write(32);
	pair_lose(&pair, A, 3);
	(void)recovery_run();
	connect_again();
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_GO_BACK_N);
	assert_int_equal(uroce_req_window(qpc), 64);
	assert_true(qpc->req.rtt.min_rtt_ns > 0);
	/*
	 * when the peer is found to be selective, the peer cache forgets what it knew about the
	 * host
	 */
	(void)window_after_answer_to(4, 0);
	connect_again();
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_UNKNOWN);
	assert_int_equal(uroce_req_window(qpc), qpc->window_psns);
}

static void
loss_recovery__a_new_path_leads_to_a_host_that_is_not_known(void **state)
{
	const struct ibv_qp_attr attr = { .ah_attr = { .is_global = 1, .port_num = 1 } };
	struct uroce_qpc *qpc = &pair.host[A].qpc;
	struct uroce_path path = qpc->path;

	(void)state;
	recovery_find_out();
	pair_set_state(&pair, A, IBV_QPS_SQD);
	path.hdr[path.hdr_len - sizeof(struct uroce_bth) - sizeof(struct uroce_udp) - 1]++;
	assert_int_equal(uroce_qpc_modify(qpc, &attr, IBV_QP_AV, &path, 0), 0);
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_UNKNOWN);
	assert_int_equal(qpc->req.rtt.min_rtt_ns, 0);
	assert_int_equal(uroce_req_window(qpc), qpc->window_psns);
}

/*
 * The peer has become selective. A QP that still takes the peer for go-back-N does not write this
 * into the peer cache.
 */
static void
loss_recovery__who_still_believes_that_a_host_drops_tells_nobody(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	recovery_find_out();
	(void)window_after_answer_to(4, 0);
	qpc->req.loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	(void)psns_after_answer(16, true, false);
	connect_again();
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_UNKNOWN);
}

static void
loss_recovery__a_longer_path_is_believed_in(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	recovery_find_out();
	qpc->req.rtt.cwnd = 16;
	qpc->req.rtt.is_min_uncertain = false;
	qpc->req.rtt.min_rtt_ns = PAIR_LATENCY_NS;
	for (unsigned i = 0; i < 100; i++) {
		recovery_write(64);
		(void)recovery_run();
	}
	assert_true(uroce_req_window(qpc) >= 64);
	connect_again();
	assert_true(uroce_req_window(qpc) >= 64);
}

/*
 * A round-trip sample ends only when the packet that requests its ACK is acknowledged: an ACK of
 * earlier packets is no sample.
 */
static void
loss_recovery__the_first_sample_is_of_what_was_sent_with_it(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;
	struct uroce_req *req = &qpc->req;
	const uint32_t psn = req->una_psn;

	(void)state;
	req->loss_recovery.peer = UROCE_PEER_ARQ_GO_BACK_N;
	req->rtt.cwnd = 16;
	req->una_psn = uroce_psn_add(psn, 4);
	req->max_psn = uroce_psn_add(psn, 20);
	req->next_psn = req->max_psn;
	req->since_ack_req = 0;
	/* send four new packets; 16 packets before them are not acknowledged */
	uroce_loss_recovery_sent(qpc, uroce_psn_add(psn, 16), uroce_psn_add(psn, 16), pair.now_ns);
	assert_int_equal(req->rtt.sample_ns, pair.now_ns);
	req->una_psn = uroce_psn_add(psn, 16);
	uroce_loss_recovery_progress(qpc, pair.now_ns + 1);
	assert_int_equal(req->rtt.srtt_ns, 0);
	req->una_psn = uroce_psn_add(psn, 17);
	uroce_loss_recovery_progress(qpc, pair.now_ns + 5000);
	assert_int_equal(req->rtt.srtt_ns, 5000);
	req->una_psn = req->max_psn = req->next_psn = psn;
}

static void
loss_recovery__the_first_answer_of_all_measures_the_round_trip(void **state)
{
	(void)state;
	/*
	 * of 40 packets, number 32 and the last one request an ACK; the last packet is lost, and is
	 * sent again as a probe
	 */
	recovery_write(40);
	pair_lose(&pair, A, 39);
	assert_int_equal(recovery_run(), 1);
}

static void
loss_recovery__losing_much_ends_all_the_same(void **state)
{
	(void)state;
	pair_make_noise(&pair, &(struct pair_noise){ .seed = 7, .lose = 200, .delay = 100 });
	for (uint32_t i = 0; i < 40; i++)
		recovery_write(32);
	pair_run(&pair);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	assert_int_equal(pair.host[A].qpc.req.una_psn, 40 * 32);
}

/*
 * When a path has become shorter, responses arrive sooner than the shortest round trip, so they
 * seem not to belong to the retransmission. Loss recovery must end nevertheless.
 */
static void
loss_recovery__a_lost_burst_is_sent_again_on_a_path_that_became_shorter(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	pair.host[A].qpc.req.rtt.min_rtt_ns *= 4;
	recovery_write(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	for (uint32_t i = 0; i < 17; i++)
		pair_lose(&pair, A, i);
	assert_int_equal(recovery_run(), 2 * 2 + 15);
}

static void
loss_recovery__a_lost_repair_is_sent_again(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	recovery_write(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, A, 3);
	assert_true(recovery_run() <= 3);
}

#define TEST(f, open) cmocka_unit_test_setup_teardown(f, open, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(loss_recovery__one_hole_costs_one_packet, recovery_open_holding),
		TEST(loss_recovery__a_window_more_follows_it, recovery_open_narrow),
		TEST(loss_recovery__no_more_follows_it_where_the_peer_is_unknown,
		     recovery_open_narrow),
		TEST(loss_recovery__a_second_hole_is_known_from_the_ack, recovery_open_holding),
		TEST(loss_recovery__a_peer_that_drops_is_found_out_and_gets_everything_again,
		     recovery_open_dropping),
		TEST(loss_recovery__a_peer_that_drops_has_little_in_flight_at_first,
		     recovery_open_dropping),
		TEST(loss_recovery__as_much_is_in_flight_as_waits_in_line_nowhere,
		     recovery_open_dropping),
		TEST(loss_recovery__one_that_drops_is_asked_more_often, recovery_open_dropping),
		TEST(loss_recovery__what_waits_in_line_is_halved_by_each_loss,
		     recovery_open_dropping),
		TEST(loss_recovery__a_peer_holds_that_answers_what_was_not_sent_again,
		     recovery_open_dropping),
		TEST(loss_recovery__the_next_qp_to_a_host_that_drops_knows_it,
		     recovery_open_dropping),
		TEST(loss_recovery__a_new_path_leads_to_a_host_that_is_not_known,
		     recovery_open_dropping),
		TEST(loss_recovery__who_still_believes_that_a_host_drops_tells_nobody,
		     recovery_open_dropping),
		TEST(loss_recovery__a_longer_path_is_believed_in, recovery_open_dropping),
		TEST(loss_recovery__the_first_sample_is_of_what_was_sent_with_it,
		     recovery_open_dropping),
		TEST(loss_recovery__the_first_answer_of_all_measures_the_round_trip,
		     recovery_open_holding),
		TEST(loss_recovery__a_lost_repair_is_sent_again, recovery_open_holding),
		TEST(loss_recovery__a_lost_burst_is_sent_again_on_a_path_that_became_shorter,
		     recovery_open_holding),
		TEST(loss_recovery__losing_much_ends_all_the_same, recovery_open_holding),
		TEST(loss_recovery__losing_much_ends_all_the_same, recovery_open_dropping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
