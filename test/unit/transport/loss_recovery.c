/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loss recovery of the requester: what it retransmits to a peer with a reorder buffer (selective),
 * and to a peer that drops out-of-order packets (go-back-N).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "pair.h"
#include "transport/requester/position.h"
#include "transport/recovery/loss_recovery.h"

#define MTU 256

static struct pair pair;

static void
open_pair(bool is_resp_gbn, unsigned burst)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = IBV_MTU_256;
	conf.nb_hold = 64;
	conf.burst = burst;
	conf.is_resp_gbn = is_resp_gbn;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	pair_fill(&pair, A, 0, 65536, 1);
}

static int
open_holding(void **state)
{
	(void)state;
	open_pair(false, PAIR_BURST_MAX);
	return 0;
}

static int
open_dropping(void **state)
{
	(void)state;
	open_pair(true, PAIR_BURST_MAX);
	return 0;
}

/* Open a pair with a window of 8 packets. */
static int
open_narrow(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.mtu = IBV_MTU_256;
	conf.nb_hold = 64;
	conf.burst = PAIR_BURST_MAX;
	conf.window_psns = 8;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	pair_fill(&pair, A, 0, 65536, 1);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static void
write_packets(uint32_t nb)
{
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = nb * MTU });
}

static uint64_t
run(void)
{
	pair_run(&pair);
	assert_true(pair_is_equal(&pair, 0, 0, 32 * MTU));
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	return pair.host[A].qpc.stats.retransmits;
}

static void
loss_recovery__one_hole_costs_one_packet(void **state)
{
	(void)state;
	write_packets(5);
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
	assert_true(pair_is_equal(&pair, 0, 0, 5 * MTU));
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
	write_packets(16);
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
	assert_true(pair_is_equal(&pair, 0, 0, 16 * MTU));
}

/*
 * If the peer ARQ is unknown, the peer may have dropped the packets behind the gap and need them
 * again, so the window is not inflated.
 */
static void
loss_recovery__no_more_follows_it_where_the_peer_is_unknown(void **state)
{
	(void)state;
	write_packets(16);
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
	write_packets(32);
	pair_lose(&pair, A, 3);
	pair_lose(&pair, A, 29);
	/*
	 * the first loss costs one retransmission; the second at most three: the missing packet and
	 * the two behind it
	 */
	assert_true(run() <= 2 + 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.req.loss_recovery.peer, UROCE_PEER_ARQ_SELECTIVE);
}

static void
loss_recovery__a_peer_that_drops_is_found_out_and_gets_everything_again(void **state)
{
	(void)state;
	write_packets(32);
	pair_lose(&pair, A, 3);
	/*
	 * packet 3 is retransmitted once; when its ACK shows that the peer is go-back-N, packets 4
	 * to 31 are retransmitted
	 */
	assert_int_equal(run(), 1 + 28);
	assert_int_equal(pair.host[A].qpc.req.loss_recovery.peer, UROCE_PEER_ARQ_GO_BACK_N);
	/* the peer is known to be go-back-N, so packets 3 to 31 are retransmitted at once */
	write_packets(32);
	pair_lose(&pair, A, 3);
	assert_int_equal(run(), 29 + 29);
}

static void
loss_recovery__a_peer_that_drops_has_little_in_flight_at_first(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	write_packets(32);
	pair_lose(&pair, A, 3);
	(void)run();
	assert_int_equal(qpc->req.loss_recovery.peer, UROCE_PEER_ARQ_GO_BACK_N);
	/* cwnd began with 16, and has doubled, because it was used */
	assert_int_equal(uroce_req_window(qpc), 2 * 16);
	/* single packets do not use cwnd, so cwnd does not grow */
	for (unsigned i = 0; i < 8; i++) {
		write_packets(1);
		(void)run();
	}
	assert_true(uroce_req_window(qpc) <= 4 * 16);
	for (unsigned i = 0; i < 32; i++) {
		write_packets(256);
		(void)run();
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
	write_packets(32);
	(void)run();
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
	write_packets(6);
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
	/* so few packets may have been reordered: this does not show that the peer is selective */
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

/* Lose a packet, so that the requester finds out that the peer is go-back-N. */
static void
find_out(void)
{
	write_packets(32);
	pair_lose(&pair, A, 3);
	(void)run();
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
	find_out();
	write_packets(1);
	(void)run();
	write_packets(32);
	pair_lose(&pair, A, 3);
	(void)run();
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
	find_out();
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
	find_out();
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
	find_out();
	qpc->req.rtt.cwnd = 16;
	qpc->req.rtt.is_min_uncertain = false;
	qpc->req.rtt.min_rtt_ns = PAIR_LATENCY_NS;
	for (unsigned i = 0; i < 100; i++) {
		write_packets(64);
		(void)run();
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

/*
 * A go-back-N peer reports each gap by a NAK. If no NAK comes, only the last packet can be missing,
 * so the probe is the last packet.
 */
static void
loss_recovery__a_peer_that_drops_is_probed_with_the_last_packet(void **state)
{
	uint64_t before;

	(void)state;
	find_out();
	write_packets(12);
	before = run();
	/* the last packet is lost */
	write_packets(12);
	pair_lose(&pair, A, 11);
	assert_int_equal(run() - before, 1);
	/* the ACK of the last packet is lost */
	before = run();
	write_packets(3);
	pair_lose(&pair, B, 0);
	assert_int_equal(run() - before, 1);
}

static void
loss_recovery__a_peer_that_drops_and_is_silent_is_probed_with_the_first_packet(void **state)
{
	uint64_t before;

	(void)state;
	find_out();
	write_packets(12);
	before = run();
	/*
	 * the first of three packets and the NAK for it are lost: the probe with the last packet
	 * gets no response, so all three packets are retransmitted
	 */
	write_packets(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, B, 0);
	assert_int_equal(run() - before, 1 + 3);
}

/*
 * All packets behind a loss are retransmitted in one burst, and a part of that burst is lost. A
 * probe finds that loss.
 */
static void
loss_recovery__what_goes_again_at_once_is_probed_for(void **state)
{
	(void)state;
	find_out();
	write_packets(12);
	pair_lose(&pair, A, 3);
	pair_lose(&pair, A, 12);
	(void)run();
}

static void
loss_recovery__the_first_answer_of_all_measures_the_round_trip(void **state)
{
	(void)state;
	/*
	 * of 40 packets, number 32 and the last one request an ACK; the last packet is lost, and is
	 * sent again as a probe
	 */
	write_packets(40);
	pair_lose(&pair, A, 39);
	assert_int_equal(run(), 1);
}

static void
loss_recovery__a_lost_tail_is_probed_for_before_the_timeout(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	write_packets(3);
	pair_lose(&pair, A, 2);
	/* the first two packets requested no ACK, so the probe includes the first packet */
	assert_int_equal(run(), 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

/*
 * The last ambiguous round trip is longer than the ACK timeout. The probe must still be sent before
 * the last timeout.
 */
static void
loss_recovery__a_probe_comes_before_the_last_timeout(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	write_packets(32);
	(void)run();
	qpc->req.retry_left = 0;
	qpc->req.rtt.ambiguous_rtt_ns = (uint32_t)(16 * uroce_qpc_ack_timeout_ns(qpc));
	qpc->req.rtt.is_ambiguous = true;
	write_packets(3);
	pair_lose(&pair, A, 2);
	assert_int_equal(run(), 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

static void
loss_recovery__a_lost_ack_is_probed_for(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	write_packets(3);
	pair_lose(&pair, B, 0);
	/* a probe consists of the first and the last packet that may be lost */
	assert_int_equal(run(), 2);
}

static void
loss_recovery__a_lost_nak_is_made_up_for_by_a_probe(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	write_packets(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, B, 0);
	assert_true(run() <= 3);
}

static void
loss_recovery__a_lost_repair_is_sent_again(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	write_packets(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, A, 3);
	assert_true(run() <= 3);
}

/* The maximum time in which loss recovery may finish if it needs `n` probes. */
#define PROBES_NS(n) ((n)*4 * 2 * PAIR_LATENCY_NS)

/*
 * A whole burst is lost, so the peer sees no gap and sends no NAK. The responses to two probes, one
 * round trip apart, show the loss. Then all packets are retransmitted.
 */
static void
loss_recovery__a_lost_burst_is_not_probed_for_packet_by_packet(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	const uint64_t begin_ns = pair.now_ns;

	write_packets(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	for (uint32_t i = 0; i < 17; i++)
		pair_lose(&pair, A, i);
	/*
	 * each of two probes is two packets: here twice the first packet, because the newest one is
	 * an atomic; after the probes 15 packets are still missing
	 */
	assert_int_equal(run(), 2 * 2 + 15);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/*
 * A burst of responses is lost: two probes show the loss, then the remaining responses are
 * requested together.
 */
static void
loss_recovery__lost_answers_are_not_probed_for_one_by_one(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	const uint64_t begin_ns = pair.now_ns;

	for (uint32_t i = 0; i < 8; i++) {
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
		pair_lose(&pair, B, i);
	}
	assert_int_equal(run(), 2 + 6);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/* An RNR NAK is lost. After an RNR NAK the peer drops later packets without a NAK. */
static void
loss_recovery__a_lost_rnr_nak_is_made_up_for_by_a_probe(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	const uint64_t begin_ns = pair.now_ns;

	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = MTU });
	write_packets(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	pair_lose(&pair, B, 0);
	pair_run_for(&pair, 2 * PAIR_LATENCY_NS);
	pair_post_recv(&pair, B, 65536, MTU);
	assert_int_equal(run(), 2 * 2 + 16);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/*
 * All responses are delayed. They arrive at shorter intervals than responses to probes would, so
 * the requester requests nothing again except by probes.
 */
static void
loss_recovery__late_answers_are_not_asked_for_again(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	pair_lose(&pair, A, 4);
	for (uint32_t i = 0; i < 4; i++)
		pair_script(&pair, B, i, PAIR_DELAY);
	for (uint32_t i = 0; i < 4; i++) {
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
		pair_run_for(&pair, PAIR_LATENCY_NS / 2);
	}
	/*
	 * the first probe is sent because no response came; the second one because the first
	 * response might have been the only one
	 */
	assert_int_equal(run(), 2);
}

/*
 * When a path has become shorter, responses arrive sooner than the shortest round trip, so they
 * seem not to belong to the retransmission. Loss recovery must end nevertheless.
 */
static void
loss_recovery__a_lost_burst_is_sent_again_on_a_path_that_became_shorter(void **state)
{
	(void)state;
	write_packets(32);
	(void)run();
	pair.host[A].qpc.req.rtt.min_rtt_ns *= 4;
	write_packets(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	for (uint32_t i = 0; i < 17; i++)
		pair_lose(&pair, A, i);
	assert_int_equal(run(), 2 * 2 + 15);
}

static void
loss_recovery__losing_much_ends_all_the_same(void **state)
{
	(void)state;
	pair_make_noise(&pair, &(struct pair_noise){ .seed = 7, .lose = 200, .delay = 100 });
	for (uint32_t i = 0; i < 40; i++)
		write_packets(32);
	pair_run(&pair);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	assert_int_equal(pair.host[A].qpc.req.una_psn, 40 * 32);
}

#define TEST(f, open) cmocka_unit_test_setup_teardown(f, open, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(loss_recovery__one_hole_costs_one_packet, open_holding),
		TEST(loss_recovery__a_window_more_follows_it, open_narrow),
		TEST(loss_recovery__no_more_follows_it_where_the_peer_is_unknown, open_narrow),
		TEST(loss_recovery__a_second_hole_is_known_from_the_ack, open_holding),
		TEST(loss_recovery__a_peer_that_drops_is_found_out_and_gets_everything_again,
		     open_dropping),
		TEST(loss_recovery__a_peer_that_drops_has_little_in_flight_at_first, open_dropping),
		TEST(loss_recovery__as_much_is_in_flight_as_waits_in_line_nowhere, open_dropping),
		TEST(loss_recovery__one_that_drops_is_asked_more_often, open_dropping),
		TEST(loss_recovery__what_waits_in_line_is_halved_by_each_loss, open_dropping),
		TEST(loss_recovery__a_peer_holds_that_answers_what_was_not_sent_again,
		     open_dropping),
		TEST(loss_recovery__the_next_qp_to_a_host_that_drops_knows_it, open_dropping),
		TEST(loss_recovery__a_new_path_leads_to_a_host_that_is_not_known, open_dropping),
		TEST(loss_recovery__who_still_believes_that_a_host_drops_tells_nobody,
		     open_dropping),
		TEST(loss_recovery__a_longer_path_is_believed_in, open_dropping),
		TEST(loss_recovery__the_first_sample_is_of_what_was_sent_with_it, open_dropping),
		TEST(loss_recovery__a_peer_that_drops_is_probed_with_the_last_packet,
		     open_dropping),
		TEST(loss_recovery__a_peer_that_drops_and_is_silent_is_probed_with_the_first_packet,
		     open_dropping),
		TEST(loss_recovery__what_goes_again_at_once_is_probed_for, open_dropping),
		TEST(loss_recovery__the_first_answer_of_all_measures_the_round_trip, open_holding),
		TEST(loss_recovery__a_lost_tail_is_probed_for_before_the_timeout, open_holding),
		TEST(loss_recovery__a_probe_comes_before_the_last_timeout, open_holding),
		TEST(loss_recovery__a_lost_ack_is_probed_for, open_holding),
		TEST(loss_recovery__a_lost_nak_is_made_up_for_by_a_probe, open_holding),
		TEST(loss_recovery__a_lost_repair_is_sent_again, open_holding),
		TEST(loss_recovery__a_lost_burst_is_not_probed_for_packet_by_packet, open_holding),
		TEST(loss_recovery__a_lost_burst_is_not_probed_for_packet_by_packet, open_dropping),
		TEST(loss_recovery__lost_answers_are_not_probed_for_one_by_one, open_holding),
		TEST(loss_recovery__a_lost_rnr_nak_is_made_up_for_by_a_probe, open_holding),
		TEST(loss_recovery__late_answers_are_not_asked_for_again, open_holding),
		TEST(loss_recovery__a_lost_burst_is_sent_again_on_a_path_that_became_shorter,
		     open_holding),
		TEST(loss_recovery__losing_much_ends_all_the_same, open_holding),
		TEST(loss_recovery__losing_much_ends_all_the_same, open_dropping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
