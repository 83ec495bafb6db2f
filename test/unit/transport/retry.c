/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Retries and their timers [IBA 9.7.5.2.8, 9.7.6]: how often and how long the requester waits for a
 * peer that is not ready, or that does not respond.
 */

#include "response.h"

#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"
#include "wire/syndrome.h"

#define US UINT64_C(1000)

/* --- RNR NAKs --- */

static void
completer_recv__rnr_retry_0_fails_at_once(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.rnr_retry = 0;
	pair_open(&pair, &conf);
	post(IBV_WR_SEND, 10);
	post(IBV_WR_SEND, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\nA>B SEND_ONLY psn 1 A\n"
				 "B>A RNR_NAK psn 0\n");
	pair_expect_done(&pair, A, "send 0 RNR_RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completer_recv__rnr_retry_3_tries_three_times_more(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.rnr_retry = 3;
	pair_open(&pair, &conf);
	post(IBV_WR_SEND, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n"
				 "A RNR_TIMER\n"
				 "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n"
				 "A RNR_TIMER\n"
				 "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n"
				 "A RNR_TIMER\n"
				 "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n");
	pair_expect_done(&pair, A, "send 0 RNR_RETRY_EXC_ERR\n");
	assert_int_equal(pair.host[A].qpc.stats.naks_rnr, 4);
	close_pair(state);
}

static void
completer_recv__rnr_retry_7_never_gives_up(void **state)
{
	(void)state;
	post(IBV_WR_SEND, 10);
	/* the RNR timer code of B is 12: 640 us */
	pair_run_for(&pair, 100 * 640 * US);
	assert_in_range(pair.host[A].qpc.stats.naks_rnr, 99, 100);
	pair_expect_done(&pair, A, "");
	pair_post_recv(&pair, B, 0, 10);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
}

static void
completer_recv__rnr_timer_is_waited_out(void **state)
{
	static const uint64_t timers_10us[] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
	};

	for (uint8_t code = 0; code < 32; code++) {
		open_pair(state);
		post_and_flush(IBV_WR_SEND, 10);
		assert_int_equal(rnr_nak(0, code), UROCE_VERDICT_NAK_RNR);
		assert_true(uroce_qpc_deadline(&pair.host[A].qpc) ==
			    pair.now_ns + timers_10us[code] * 10 * US);
		assert_false(uroce_qpc_has_work(&pair.host[A].qpc));
		expect_sent("");
		pair_wait(&pair, A, timers_10us[code] * 10 * US - 1);
		expect_sent("");
		pair_wait(&pair, A, 1);
		expect_sent("A RNR_TIMER\nA>B SEND_ONLY psn 0 A\n");
		close_pair(state);
	}
}

static void
completer_recv__rnr_nak_in_the_middle_of_others(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 10);
	for (unsigned i = 0; i < 3; i++)
		post(IBV_WR_SEND, 10);
	pair_run_for(&pair, 100 * US);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	/* the acknowledgement of the first SEND has reset the RNR retry counter */
	pair_post_recv(&pair, B, 0, 10);
	pair_post_recv(&pair, B, 0, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n"
				 "A>B SEND_ONLY psn 1\n"
				 "A>B SEND_ONLY psn 2 A\n"
				 "B>A RNR_NAK psn 1\n"
				 "A RNR_TIMER\n"
				 "A>B SEND_ONLY psn 1\n"
				 "A>B SEND_ONLY psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 1 SEND SUCCESS\nsend 2 SEND SUCCESS\n");
}

static void
completer_recv__sequence_nak_behind_an_rnr_nak_for_the_same_psn(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_SEND, 10);
	post_and_flush(IBV_WR_SEND, 10);
	assert_int_equal(rnr_nak(0, 1), UROCE_VERDICT_NAK_RNR);
	/*
	 * a peer may also send a sequence NAK for the next packet, although it has sent an RNR NAK
	 */
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("");
	assert_int_equal(pair.host[A].qpc.req.retry_left, 7);
	pair_wait(&pair, A, 10 * US);
	expect_sent("A RNR_TIMER\nA>B SEND_ONLY psn 0\nA>B SEND_ONLY psn 1 A\n");
	ack(1);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\n");
}

static void
completer_recv__repeated_rnr_nak_counts_once(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.rnr_retry = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(0, 1);
	rnr_nak(0, 1);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	/* a late ACK ends the RNR wait */
	assert_int_equal(ack(0), UROCE_VERDICT_RESPONSE);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	close_pair(state);
}

static void
completer_recv__sequence_nak_after_an_rnr_wait_is_a_new_repair(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_SEND, 10);
	post_and_flush(IBV_WR_SEND, 10);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_flush(&pair, A);
	rnr_nak(0, 1);
	pair_wait(&pair, A, 10 * US);
	pair_flush(&pair, A);
	text_clear(&pair.trace);
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B SEND_ONLY psn 0\nA>B SEND_ONLY psn 1 A\n");
}

static void
completer_recv__ack_timer_rests_during_an_rnr_wait(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.timeout = 1; /* ACK timeout of 8 us, much shorter than the RNR wait of 655 ms */
	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(0, 0);
	pair_wait(&pair, A, 655360 * US);
	expect_sent("A RNR_TIMER\nA>B SEND_ONLY psn 0 A\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == pair.now_ns + 8192);
	pair_wait(&pair, A, 8192);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\n");
	close_pair(state);
}

/*
 * After a false RNR NAK the requester ignores RNR NAKs for a time. Here the ignored RNR NAKs are
 * true, and every packet gets one. The peer is not silent, so the retries do not run out (rnr_retry
 * 7: no limit).
 */
static void
completer_recv__rnr_nak_that_is_not_believed_costs_no_retry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.timeout = 8; /* ACK timeout of 1 ms */
	conf.retry_cnt = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(0, 0);
	/*
	 * an ACK arrives without a retransmission: the RNR NAK was false, so RNR NAKs are ignored
	 * for 10 ms
	 */
	pair_wait(&pair, A, 6000 * US);
	ack(0);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	post_and_flush(IBV_WR_SEND, 10);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(rnr_nak(1, 1), UROCE_VERDICT_NAK_RNR);
		assert_false(uroce_req_is_rnr_wait(&pair.host[A].qpc.req));
		pair_wait(&pair, A, uroce_ack_timeout_ns(8));
		expect_sent("A TIMEOUT\nA>B SEND_ONLY psn 1 A\n");
	}
	pair_expect_done(&pair, A, "");
	close_pair(state);
}

/* --- ACK timeouts --- */

static void
completer_expire__peer_that_is_silent_costs_the_retry_budget(void **state)
{
	static const uint8_t retry_cnts[] = { 0, 1, 3, 7 };
	static const uint8_t timeouts[] = { 1, 8, 14, 31 };

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 4; j++) {
			struct pair_conf conf = pair_conf(IBV_QPT_RC);
			const uint64_t timeout_ns = UINT64_C(4096) << timeouts[j];
			const uint64_t nb = retry_cnts[i] + 1u;

			conf.retry_cnt = retry_cnts[i];
			conf.timeout = timeouts[j];
			pair_open(&pair, &conf);
			pair_post_recv(&pair, A, 0, 10);
			for (unsigned k = 0; k < 3; k++)
				post(IBV_WR_RDMA_WRITE, 10);
			for (uint32_t nth = 0; nth < PAIR_ACTIONS; nth++)
				pair_lose(&pair, A, nth);
			/* the request must fail after 1 to 4 times (retry_cnt + 1) timeouts */
			pair_run_for(&pair, nb * timeout_ns - 1);
			pair_expect_done(&pair, A, "");
			assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
			pair_run_for(&pair, 3 * nb * timeout_ns + 1);
			pair_expect_done(&pair, A,
					 "send 0 RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n"
					 "send 2 WR_FLUSH_ERR\nrecv 0 WR_FLUSH_ERR\n");
			assert_int_equal(pair.host[A].qpc.stats.timeouts, nb);
			assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
			close_pair(state);
		}
	}
}

/* --- timeouts while a retransmission waits to be sent --- */

static void
completer_expire__what_waits_to_be_sent_again_uses_no_retry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const uint64_t timeout_ns = uroce_ack_timeout_ns(14);

	conf.retry_cnt = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	pair_wait(&pair, A, timeout_ns);
	assert_int_equal(pair.host[A].qpc.req.retry_left, 0);
	/*
	 * the retransmission is not sent yet, so the peer cannot respond, and no timeout is counted
	 */
	pair_wait(&pair, A, 4 * timeout_ns);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 1);
	expect_sent("A TIMEOUT\nA RNR_TIMER\nA>B WRITE_ONLY psn 0 A\n");
	/* the retransmission is in flight, so a timeout is counted */
	pair_wait(&pair, A, 4 * timeout_ns);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 2);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\n");
	close_pair(state);
}

/*
 * Open a pair with reorder buffers, so that the requester retransmits only the missing packet of a
 * gap. The retry counter is 0.
 */
static void
open_repairing(void)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.retry_cnt = 0;
	conf.nb_hold = 8;
	pair_open(&pair, &conf);
}

static void
completer_expire__repair_that_waits_for_its_turn_uses_no_retry(void **state)
{
	const uint64_t timeout_ns = uroce_ack_timeout_ns(14);

	open_repairing();
	for (unsigned i = 0; i < 3; i++)
		post_and_flush(IBV_WR_RDMA_WRITE, 10);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_wait(&pair, A, 3 * timeout_ns);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	text_clear(&pair.trace);
	expect_sent("A>B WRITE_ONLY psn 0 A\n");
	/*
	 * after the retransmission the peer has one timeout to respond; a probe that is to be sent
	 * does not extend that time
	 */
	pair_wait(&pair, A, timeout_ns - 1);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	pair.host[A].qpc.req.loss_recovery.due |= UROCE_RECOVERY_DUE_FIRST;
	pair_wait(&pair, A, 1);
	pair_expect_done(&pair, A,
			 "send 0 RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n"
			 "send 2 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completer_expire__repair_that_is_never_sent_costs_the_longest_budget(void **state)
{
	const uint64_t timeout_ns = uroce_ack_timeout_ns(14);

	open_repairing();
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_wait(&pair, A, timeout_ns);
	pair_wait(&pair, A, 4 * timeout_ns - 1);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	pair_wait(&pair, A, 1);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completer_expire__answer_that_waits_to_be_asked_for_uses_no_retry(void **state)
{
	const uint64_t timeout_ns = uroce_ack_timeout_ns(14);

	open_repairing();
	post_and_flush(IBV_WR_RDMA_READ, 3072);
	response(UROCE_OP_READ_RESPONSE_MIDDLE, 1, 1024);
	response(UROCE_OP_READ_RESPONSE_LAST, 2, 1024);
	pair_wait(&pair, A, 3 * timeout_ns);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	text_clear(&pair.trace);
	expect_sent("A>B READ_REQUEST psn 0 len 1024\n");
	pair_wait(&pair, A, timeout_ns - 1);
	response(UROCE_OP_READ_RESPONSE_ONLY, 0, 1024);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	close_pair(state);
}

static void
completer_expire__waiting_ends_with_an_answer(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const uint64_t timeout_ns = uroce_ack_timeout_ns(14);

	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 3; i++)
		post_and_flush(IBV_WR_RDMA_WRITE, 10);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_wait(&pair, A, timeout_ns);
	assert_int_equal(pair.host[A].qpc.req.port_retry_left, 1);
	/* the ACK of an original packet arrives: that packet was not lost */
	assert_int_equal(ack(1), UROCE_VERDICT_RESPONSE);
	assert_int_equal(pair.host[A].qpc.req.port_retry_left, 0);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == pair.now_ns + timeout_ns);
	assert_int_equal(ack(2), UROCE_VERDICT_RESPONSE);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	pair_expect_done(&pair, A, "send 2 RDMA_WRITE SUCCESS\n");
	close_pair(state);
}

static void
completer_expire__port_that_never_sends_costs_the_longest_budget(void **state)
{
	static const uint8_t retry_cnts[] = { 0, 1, 3, 7 };
	static const uint8_t timeouts[] = { 1, 8, 14, 31 };

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 4; j++) {
			struct pair_conf conf = pair_conf(IBV_QPT_RC);
			const uint64_t timeout_ns = UINT64_C(4096) << timeouts[j];

			conf.retry_cnt = retry_cnts[i];
			conf.timeout = timeouts[j];
			pair_open(&pair, &conf);
			post_and_flush(IBV_WR_RDMA_WRITE, 10);
			post_and_flush(IBV_WR_RDMA_WRITE, 10);
			nak(0, UROCE_NAK_PSN_SEQ);
			/*
			 * The NAK requests a retransmission, which the port never sends. After the
			 * first timeout the port has as much time as all retries would take. One
			 * long pause counts as one timeout.
			 */
			pair_wait(&pair, A, timeout_ns);
			for (unsigned k = 0; k < retry_cnts[i]; k++)
				pair_wait(&pair, A, (k ? 4 : 400) * timeout_ns);
			pair_wait(&pair, A, 4 * timeout_ns - 1);
			pair_expect_done(&pair, A, "");
			assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
			pair_wait(&pair, A, 1);
			assert_int_equal(pair.host[A].qpc.state, IBV_QPS_ERR);
			pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n");
			assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
			assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
			close_pair(state);
		}
	}
}

static void
completer_expire__what_fails_is_not_complete_while_it_has_tx_refs(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	post(IBV_WR_RDMA_WRITE, 2000);
	post(IBV_WR_RDMA_WRITE, 10);
	for (uint32_t nth = 0; nth < PAIR_ACTIONS; nth++)
		pair_lose(&pair, A, nth);
	pair_flush(&pair, A);
	atomic_store(&qpc->nb_tx_refs, 1);
	pair_run(&pair);
	assert_int_equal(qpc->state, IBV_QPS_ERR);
	pair_expect_done(&pair, A, "");
	/* the port releases the last frame of the QP */
	atomic_store(&qpc->nb_tx_refs, 0);
	uroce_qpc_sent(qpc, pair.now_ns);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\nsend 1 WR_FLUSH_ERR\n");
	uroce_qpc_sent(qpc, pair.now_ns);
	pair_expect_done(&pair, A, "");
	close_pair(state);
}

static void
completer_expire__failure_is_forgotten_in_reset(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_qpc *qpc = &pair.host[A].qpc;

	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	post(IBV_WR_RDMA_WRITE, 2000);
	for (uint32_t nth = 0; nth < PAIR_ACTIONS; nth++)
		pair_lose(&pair, A, nth);
	pair_flush(&pair, A);
	atomic_store(&qpc->nb_tx_refs, 1);
	pair_run(&pair);
	pair_set_state(&pair, A, IBV_QPS_RESET);
	atomic_store(&qpc->nb_tx_refs, 0);
	pair_bring_up(&pair, A, IBV_QPS_RTS);
	post(IBV_WR_RDMA_WRITE, 10);
	pair_set_state(&pair, A, IBV_QPS_ERR);
	pair_expect_done(&pair, A, "send 1 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completer_expire__timeout_0_waits_for_ever(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.timeout = 0;
	pair_open(&pair, &conf);
	pair_lose(&pair, A, 0);
	post(IBV_WR_RDMA_WRITE, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0 A LOST\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	/* the next request shows the peer the gap, so the lost packet is retransmitted */
	post(IBV_WR_RDMA_WRITE, 10);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	/* with timeout 0 an RNR wait does not set the ACK timer */
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(2, 1);
	pair_wait(&pair, A, 10 * US);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	close_pair(state);
}

static void
completer_expire__progress_refills_the_retries(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.retry_cnt = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	for (uint32_t psn = 0; psn < 3; psn++) {
		pair_wait(&pair, A, uroce_ack_timeout_ns(14));
		pair_flush(&pair, A);
		assert_int_equal(pair.host[A].qpc.req.retry_left, 0);
		ack(psn);
		assert_int_equal(pair.host[A].qpc.req.retry_left, 1);
	}
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	close_pair(state);
}

static void
completer_expire__read_responses_are_progress(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_RDMA_READ, 3072);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14) - 1);
	response(UROCE_OP_READ_RESPONSE_FIRST, 0, 1024);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14) - 1);
	response(UROCE_OP_READ_RESPONSE_MIDDLE, 1, 1024);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14) - 1);
	response(UROCE_OP_READ_RESPONSE_LAST, 2, 1024);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	close_pair(state);
}

static void
completer_expire__early_call_is_harmless(void **state)
{
	(void)state;
	uroce_qpc_expire(&pair.host[A].qpc, pair.now_ns + 1);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	uroce_qpc_expire(&pair.host[A].qpc, pair.now_ns + uroce_ack_timeout_ns(14) - 1);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	expect_sent("");
}

static void
completer_expire__region_that_is_gone_when_it_has_to_be_sent_again(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 2048);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	uroce_mr_invalidate(pair.host[A].mrs, pair.host[A].key);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	expect_sent("A TIMEOUT\n");
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\nsend 1 WR_FLUSH_ERR\n");
}

#define COMP_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completer_recv__rnr_retry_0_fails_at_once),
		cmocka_unit_test(completer_recv__rnr_retry_3_tries_three_times_more),
		COMP_TEST(completer_recv__rnr_retry_7_never_gives_up),
		cmocka_unit_test(completer_recv__rnr_timer_is_waited_out),
		COMP_TEST(completer_recv__rnr_nak_in_the_middle_of_others),
		COMP_TEST(completer_recv__sequence_nak_behind_an_rnr_nak_for_the_same_psn),
		cmocka_unit_test(completer_recv__repeated_rnr_nak_counts_once),
		COMP_TEST(completer_recv__sequence_nak_after_an_rnr_wait_is_a_new_repair),
		cmocka_unit_test(completer_recv__ack_timer_rests_during_an_rnr_wait),
		cmocka_unit_test(completer_recv__rnr_nak_that_is_not_believed_costs_no_retry),
		cmocka_unit_test(completer_expire__peer_that_is_silent_costs_the_retry_budget),
		cmocka_unit_test(completer_expire__what_waits_to_be_sent_again_uses_no_retry),
		cmocka_unit_test(completer_expire__repair_that_waits_for_its_turn_uses_no_retry),
		cmocka_unit_test(
			completer_expire__repair_that_is_never_sent_costs_the_longest_budget),
		cmocka_unit_test(completer_expire__answer_that_waits_to_be_asked_for_uses_no_retry),
		cmocka_unit_test(completer_expire__waiting_ends_with_an_answer),
		cmocka_unit_test(completer_expire__port_that_never_sends_costs_the_longest_budget),
		cmocka_unit_test(completer_expire__what_fails_is_not_complete_while_it_has_tx_refs),
		cmocka_unit_test(completer_expire__failure_is_forgotten_in_reset),
		cmocka_unit_test(completer_expire__timeout_0_waits_for_ever),
		cmocka_unit_test(completer_expire__progress_refills_the_retries),
		cmocka_unit_test(completer_expire__read_responses_are_progress),
		COMP_TEST(completer_expire__early_call_is_harmless),
		COMP_TEST(completer_expire__region_that_is_gone_when_it_has_to_be_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
