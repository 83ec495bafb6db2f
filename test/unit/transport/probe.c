/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Probes of the requester: what it sends when no response comes, and what it learns from the
 * response to a probe.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "recovery_pair.h"

/*
 * A go-back-N peer reports each gap by a NAK. If no NAK comes, only the last packet can be missing,
 * so the probe is the last packet.
 */
static void
probe__a_peer_that_drops_is_probed_with_the_last_packet(void **state)
{
	uint64_t before;

	(void)state;
	recovery_find_out();
	recovery_write(12);
	before = recovery_run();
	/* the last of A's 12 packets is lost */
	recovery_write(12);
	pair_lose(&pair, A, 11);
	assert_int_equal(recovery_run() - before, 1);
	/* B's ACK of the last packet is lost */
	before = recovery_run();
	recovery_write(3);
	pair_lose(&pair, B, 0);
	assert_int_equal(recovery_run() - before, 1);
}

static void
probe__a_peer_that_drops_and_is_silent_is_probed_with_the_first_packet(void **state)
{
	uint64_t before;

	(void)state;
	recovery_find_out();
	recovery_write(12);
	before = recovery_run();
	/*
	 * the first of three packets and the NAK for it are lost: the probe with the last packet
	 * gets no response, so all three packets are retransmitted
	 */
	recovery_write(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, B, 0);
	assert_int_equal(recovery_run() - before, 1 + 3);
}

/*
 * All packets behind a loss are retransmitted in one burst, and a part of that burst is lost. A
 * probe finds that loss.
 */
static void
probe__what_goes_again_at_once_is_probed_for(void **state)
{
	(void)state;
	recovery_find_out();
	recovery_write(12);
	pair_lose(&pair, A, 3);
	pair_lose(&pair, A, 12);
	(void)recovery_run();
}

static void
probe__a_lost_tail_is_probed_for_before_the_timeout(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	recovery_write(3);
	pair_lose(&pair, A, 2);
	/* the first two packets requested no ACK, so the probe includes the first packet */
	assert_int_equal(recovery_run(), 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

/*
 * The last ambiguous round trip is longer than the ACK timeout. The probe must still be sent before
 * the last timeout.
 */
static void
probe__a_probe_comes_before_the_last_timeout(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	recovery_write(32);
	(void)recovery_run();
	qpc->req.retry_left = 0;
	qpc->req.rtt.ambiguous_rtt_ns = (uint32_t)(16 * uroce_qpc_ack_timeout_ns(qpc));
	qpc->req.rtt.is_ambiguous = true;
	recovery_write(3);
	pair_lose(&pair, A, 2);
	assert_int_equal(recovery_run(), 2);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

static void
probe__a_lost_ack_is_probed_for(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	recovery_write(3);
	pair_lose(&pair, B, 0);
	/* a probe consists of the first and the last packet that may be lost */
	assert_int_equal(recovery_run(), 2);
}

static void
probe__a_lost_nak_is_made_up_for_by_a_probe(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	recovery_write(3);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, B, 0);
	assert_true(recovery_run() <= 3);
}

/* The maximum time in which loss recovery may finish if it needs `n` probes. */
#define PROBES_NS(n) ((n)*4 * 2 * PAIR_LATENCY_NS)

/*
 * A whole burst is lost, so the peer sees no gap and sends no NAK. The responses to two probes, one
 * round trip apart, show the loss. Then all packets are retransmitted.
 */
static void
probe__a_lost_burst_is_not_probed_for_packet_by_packet(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	const uint64_t begin_ns = pair.now_ns;

	recovery_write(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	for (uint32_t i = 0; i < 17; i++)
		pair_lose(&pair, A, i);
	/*
	 * each of two probes is two packets: here twice the first packet, because the newest one is
	 * an atomic; after the probes 15 packets are still missing
	 */
	assert_int_equal(recovery_run(), 2 * 2 + 15);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/*
 * A burst of responses is lost: two probes show the loss, then the remaining responses are
 * requested together.
 */
static void
probe__lost_answers_are_not_probed_for_one_by_one(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	const uint64_t begin_ns = pair.now_ns;

	for (uint32_t i = 0; i < 8; i++) {
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
		pair_lose(&pair, B, i);
	}
	assert_int_equal(recovery_run(), 2 + 6);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/* An RNR NAK is lost. After an RNR NAK the peer drops later packets without a NAK. */
static void
probe__a_lost_rnr_nak_is_made_up_for_by_a_probe(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
	const uint64_t begin_ns = pair.now_ns;

	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = RECOVERY_MTU });
	recovery_write(16);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	pair_lose(&pair, B, 0);
	pair_run_for(&pair, 2 * PAIR_LATENCY_NS);
	pair_post_recv(&pair, B, 65536, RECOVERY_MTU);
	assert_int_equal(recovery_run(), 2 * 2 + 16);
	assert_true(pair.now_ns - begin_ns <= PROBES_NS(2));
}

/*
 * All responses are delayed. They arrive at shorter intervals than responses to probes would, so
 * the requester requests nothing again except by probes.
 */
static void
probe__late_answers_are_not_asked_for_again(void **state)
{
	(void)state;
	recovery_write(32);
	(void)recovery_run();
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
	assert_int_equal(recovery_run(), 2);
}

#define TEST(f, open) cmocka_unit_test_setup_teardown(f, open, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(probe__a_peer_that_drops_is_probed_with_the_last_packet,
		     recovery_open_dropping),
		TEST(probe__a_peer_that_drops_and_is_silent_is_probed_with_the_first_packet,
		     recovery_open_dropping),
		TEST(probe__what_goes_again_at_once_is_probed_for, recovery_open_dropping),
		TEST(probe__a_lost_tail_is_probed_for_before_the_timeout, recovery_open_holding),
		TEST(probe__a_probe_comes_before_the_last_timeout, recovery_open_holding),
		TEST(probe__a_lost_ack_is_probed_for, recovery_open_holding),
		TEST(probe__a_lost_nak_is_made_up_for_by_a_probe, recovery_open_holding),
		TEST(probe__a_lost_burst_is_not_probed_for_packet_by_packet, recovery_open_holding),
		TEST(probe__a_lost_burst_is_not_probed_for_packet_by_packet,
		     recovery_open_dropping),
		TEST(probe__lost_answers_are_not_probed_for_one_by_one, recovery_open_holding),
		TEST(probe__a_lost_rnr_nak_is_made_up_for_by_a_probe, recovery_open_holding),
		TEST(probe__late_answers_are_not_asked_for_again, recovery_open_holding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
