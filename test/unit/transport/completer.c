/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The completer and retries [IBA 9.7.5.2, 9.7.6, 9.7.7]: the effect of responses, of lost responses
 * and of duplicate responses on the requester. Where the order of frames matters, the test itself
 * builds the responses.
 */

#include "response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"
#include "wire/syndrome.h"

#define US UINT64_C(1000)

/* --- responses with a past, expected or future PSN --- */

static void
completer_recv__ack_completes_what_is_before_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		post_and_flush(IBV_WR_RDMA_WRITE, 2048);
	assert_int_equal(ack(3), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	/* this ACK is for a packet in the middle of the third message */
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) != UROCE_NEVER);
	assert_int_equal(ack(5), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 2 RDMA_WRITE SUCCESS\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
}

static void
completer_recv__responses_to_nothing_outstanding_are_ghosts(void **state)
{
	static const uint32_t psns[] = { 1, 2, 0x7fffff, 0x800000, 0xffffff };

	(void)state;
	/* no packet was sent yet, so every response is a ghost */
	assert_int_equal(ack(0), UROCE_VERDICT_GHOST);
	assert_int_equal(nak(0, UROCE_NAK_REM_OP), UROCE_VERDICT_GHOST);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(ack(psns[i]), UROCE_VERDICT_GHOST);
		assert_int_equal(nak(psns[i], UROCE_NAK_REM_OP), UROCE_VERDICT_GHOST);
		assert_int_equal(rnr_nak(psns[i], 1), UROCE_VERDICT_GHOST);
		assert_int_equal(response(UROCE_OP_READ_RESPONSE_ONLY, psns[i], 10),
				 UROCE_VERDICT_GHOST);
	}
	pair_expect_done(&pair, A, "");
	assert_int_equal(ack(0), UROCE_VERDICT_RESPONSE);
	/* PSN 0 is acknowledged already, so a further response to it is a ghost */
	assert_int_equal(ack(0), UROCE_VERDICT_GHOST);
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_GHOST);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__read_responses_in_order_complete_it(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 2050);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 0, 1024), UROCE_VERDICT_RESPONSE);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 0, 1024), UROCE_VERDICT_GHOST);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_MIDDLE, 1, 1024), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "");
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_LAST, 2, 2), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_memory_equal(pair.host[A].mem + 2046, "\377\0\1\2\0", 5);
}

static void
completer_recv__response_ahead_is_an_implied_nak(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	post_and_flush(IBV_WR_RDMA_READ, 3000);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 1, 1024), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_LAST, 3, 952), UROCE_VERDICT_RESPONSE_GAP);
	/* the requester requests the rest of the READ and retransmits the later packets */
	expect_sent("A>B READ_REQUEST psn 2 len 1976\nA>B WRITE_ONLY psn 4 A\n");
	/*
	 * the ACK of the WRITE shows the same gap again, but the gap is closed by only one
	 * retransmission
	 */
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE_GAP);
	expect_sent("");
	assert_int_equal(pair.host[A].qpc.stats.implied_naks, 2);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 2, 1024), UROCE_VERDICT_RESPONSE);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_LAST, 3, 952), UROCE_VERDICT_RESPONSE);
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 1 RDMA_READ SUCCESS\nsend 2 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__nak_behind_an_unanswered_atomic_is_an_implied_nak(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	post_and_flush(IBV_WR_SEND, 10);
	assert_int_equal(rnr_nak(1, 1), UROCE_VERDICT_RESPONSE_GAP);
	assert_int_equal(pair.host[A].qpc.stats.naks_rnr, 0);
	expect_sent("A>B FETCH_ADD psn 0\nA>B SEND_ONLY psn 1 A\n");
}

static void
completer_recv__answers_overtake_the_position_that_was_set_back(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	pair_expect_trace(&pair, "A TIMEOUT\n");
	/* a late ACK arrives after the timeout: the first three packets are not retransmitted */
	assert_int_equal(ack(2), UROCE_VERDICT_RESPONSE);
	expect_sent("A>B WRITE_LAST psn 3 A\n");
	assert_int_equal(ack(3), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__answer_to_all_overtakes_the_position_that_was_set_back(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	post_and_flush(IBV_WR_RDMA_READ, 10);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	text_clear(&pair.trace);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_ONLY, 4, 10), UROCE_VERDICT_RESPONSE);
	expect_sent("");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_READ SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 0);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(ack(5), UROCE_VERDICT_RESPONSE);
}

/* --- losses between two hosts --- */

static void
send_three_packets_losing(uint32_t nth)
{
	pair_fill(&pair, A, 0, 3000, 1);
	pair_post_recv(&pair, B, 0, 3000);
	pair_lose(&pair, A, nth);
	post(IBV_WR_SEND, 3000);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 3000\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
}

static void
completer_recv__first_packet_lost(void **state)
{
	(void)state;
	send_three_packets_losing(0);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0 LOST\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A NAK_SEQ psn 0\n"
				 "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	assert_int_equal(pair.host[A].qpc.stats.retransmits, 3);
	assert_int_equal(pair.host[A].qpc.stats.naks_seq, 1);
}

static void
completer_recv__middle_packet_lost(void **state)
{
	(void)state;
	send_three_packets_losing(1);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1 LOST\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A NAK_SEQ psn 1\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
}

static void
completer_recv__last_packet_lost(void **state)
{
	(void)state;
	send_three_packets_losing(2);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A LOST\n"
				 "A TIMEOUT\n"
				 "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 1);
}

static void
completer_recv__ack_lost(void **state)
{
	(void)state;
	pair_lose(&pair, B, 0);
	post(IBV_WR_RDMA_WRITE, 2048);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A ACK psn 1 LOST\n"
				 "A TIMEOUT\n"
				 "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__nak_lost(void **state)
{
	(void)state;
	pair_lose(&pair, A, 0);
	pair_lose(&pair, B, 0);
	post(IBV_WR_RDMA_WRITE, 2048);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0 LOST\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A NAK_SEQ psn 0 LOST\n"
				 "A TIMEOUT\n"
				 "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__read_request_lost(void **state)
{
	(void)state;
	pair_lose(&pair, A, 0);
	post(IBV_WR_RDMA_READ, 1500);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 1500 LOST\n"
				 "A TIMEOUT\n"
				 "A>B READ_REQUEST psn 0 len 1500\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_LAST psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
}

static void
read_three_packets_losing(uint32_t nth)
{
	pair_fill(&pair, B, 0, 3000, 1);
	pair_lose(&pair, B, nth);
	post(IBV_WR_RDMA_READ, 3000);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
}

static void
completer_recv__first_read_response_lost(void **state)
{
	(void)state;
	read_three_packets_losing(0);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 3000\n"
				 "B>A READ_RESPONSE_FIRST psn 0 LOST\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2\n"
				 "A>B READ_REQUEST psn 0 len 3000\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2\n");
}

static void
completer_recv__middle_read_response_lost(void **state)
{
	(void)state;
	read_three_packets_losing(1);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 3000\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1 LOST\n"
				 "B>A READ_RESPONSE_LAST psn 2\n"
				 "A>B READ_REQUEST psn 1 len 1976\n"
				 "B>A READ_RESPONSE_FIRST psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2\n");
}

static void
completer_recv__last_read_response_lost(void **state)
{
	(void)state;
	read_three_packets_losing(2);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 3000\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2 LOST\n"
				 "A TIMEOUT\n"
				 "A>B READ_REQUEST psn 2 len 952\n"
				 "B>A READ_RESPONSE_ONLY psn 2\n");
}

static void
completer_recv__atomic_response_lost(void **state)
{
	(void)state;
	pair_lose(&pair, B, 0);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 3 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B FETCH_ADD psn 0\n"
				 "B>A ATOMIC_ACK psn 0 LOST\n"
				 "A TIMEOUT\n"
				 "A>B FETCH_ADD psn 0\n"
				 "B>A ATOMIC_ACK psn 0\n");
	pair_expect_done(&pair, A, "send 0 FETCH_ADD SUCCESS\n");
	/* the atomic was executed only once */
	assert_int_equal(pair.host[B].mem[0], 3);
}

static void
completer_recv__twice_and_out_of_order(void **state)
{
	(void)state;
	pair_fill(&pair, A, 0, 4096, 1);
	pair_script(&pair, A, 0, PAIR_REPEAT);
	pair_script(&pair, A, 1, PAIR_DELAY);
	pair_script(&pair, B, 0, PAIR_REPEAT);
	post(IBV_WR_RDMA_WRITE, 4096);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_true(pair_is_equal(&pair, 0, 0, 4096));
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
}

static void
completer_recv__spoilt_frame_is_a_lost_one(void **state)
{
	(void)state;
	pair_script(&pair, A, 0, PAIR_SPOIL);
	post(IBV_WR_RDMA_WRITE, 2048);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0 SPOILT\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A NAK_SEQ psn 0\n"
				 "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A ACK psn 1\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_BAD_ICRC], 1);
}

/* --- NAKs that the requester receives --- */

static void
completer_recv__every_nak_code_has_its_status(void **state)
{
	static const struct {
		uint8_t code;
		enum uroce_verdict verdict;
		const char *status;
		uint32_t vendor_err;
	} rows[] = {
		{ UROCE_NAK_INV_REQUEST, UROCE_VERDICT_NAK_FATAL, "REM_INV_REQ_ERR", 0x61 },
		{ UROCE_NAK_REM_ACCESS, UROCE_VERDICT_NAK_FATAL, "REM_ACCESS_ERR", 0x62 },
		{ UROCE_NAK_REM_OP, UROCE_VERDICT_NAK_FATAL, "REM_OP_ERR", 0x63 },
		{ UROCE_NAK_INV_RD_REQUEST, UROCE_VERDICT_NAK_FATAL, "REM_INV_RD_REQ_ERR", 0x64 },
		{ 5, UROCE_VERDICT_BAD_RESPONSE, "BAD_RESP_ERR", UROCE_VERDICT_BAD_RESPONSE },
		{ 31, UROCE_VERDICT_BAD_RESPONSE, "BAD_RESP_ERR", UROCE_VERDICT_BAD_RESPONSE },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[256];
		struct uroce_cqe *cqe;

		open_pair(state);
		pair_post_recv(&pair, A, 0, 10);
		for (unsigned nb = 0; nb < 4; nb++)
			post_and_flush(IBV_WR_RDMA_WRITE, 10);
		assert_int_equal(nak(1, rows[i].code), rows[i].verdict);
		cqe = uroce_ring_at(&pair.host[A].send_cq.ring, 1);
		assert_int_equal(cqe->vendor_err, rows[i].vendor_err);
		snprintf(expected, sizeof(expected),
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 %s\nsend 2 WR_FLUSH_ERR\n"
			 "send 3 WR_FLUSH_ERR\nrecv 0 WR_FLUSH_ERR\n",
			 rows[i].status);
		pair_expect_done(&pair, A, expected);
		assert_int_equal(pair.host[A].qpc.state, IBV_QPS_ERR);
		expect_sent("");
		close_pair(state);
	}
}

static void
completer_recv__reserved_syndrome_is_a_bad_response(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(aeth(0, UROCE_AETH_RESERVED << 5), UROCE_VERDICT_BAD_RESPONSE);
	pair_expect_done(&pair, A, "send 0 BAD_RESP_ERR\n");
}

static void
completer_recv__credits_of_an_ack_are_not_looked_at(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(aeth(0, 0), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
completer_recv__repeated_sequence_nak_is_one_repair(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B WRITE_MIDDLE psn 1\nA>B WRITE_MIDDLE psn 2\nA>B WRITE_LAST psn 3 A\n");
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("");
	assert_int_equal(pair.host[A].qpc.req.retry_left, 7);
	/*
	 * a NAK of a later PSN acknowledges the PSNs before it, which is progress, so the NAK
	 * starts another retransmission
	 */
	assert_int_equal(nak(2, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B WRITE_MIDDLE psn 2\nA>B WRITE_LAST psn 3 A\n");
	assert_int_equal(pair.host[A].qpc.req.retry_left, 7);
}

static void
completer_recv__repair_that_was_lost_is_repaired_after_the_timeout(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 2048);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_flush(&pair, A);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	pair_flush(&pair, A);
	text_clear(&pair.trace);
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B WRITE_FIRST psn 0\nA>B WRITE_LAST psn 1 A\n");
}

static void
completer_recv__sequence_naks_do_not_use_up_the_retries(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.retry_cnt = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_flush(&pair, A);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	pair_expect_done(&pair, A, "");
	/*
	 * a peer that sends nothing but sequence NAKs of one PSN does not stop the retries from
	 * running out
	 */
	nak(0, UROCE_NAK_PSN_SEQ);
	pair_flush(&pair, A);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\n");
	close_pair(state);
}

/* --- responses that do not fit their request --- */

static void
expect_bad_response(enum ibv_wr_opcode posted, uint32_t len, uint8_t opcode, uint32_t payload_len)
{
	open_pair(NULL);
	post_and_flush(posted, len);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(response(opcode, 0, payload_len), UROCE_VERDICT_BAD_RESPONSE);
	pair_expect_done(&pair, A, "send 0 BAD_RESP_ERR\nsend 1 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[A].mem[0], 0);
	close_pair(NULL);
}

static void
completer_recv__response_that_does_not_fit_its_request(void **state)
{
	(void)state;
	/* READ or atomic responses to a WRITE or SEND, and to each other's requests */
	expect_bad_response(IBV_WR_RDMA_WRITE, 10, UROCE_OP_READ_RESPONSE_ONLY, 10);
	expect_bad_response(IBV_WR_RDMA_WRITE, 10, UROCE_OP_ATOMIC_ACK, 0);
	expect_bad_response(IBV_WR_SEND, 10, UROCE_OP_READ_RESPONSE_ONLY, 10);
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_ATOMIC_ACK, 0);
	expect_bad_response(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, UROCE_OP_READ_RESPONSE_ONLY, 8);
	/* READ responses whose length does not fit the READ */
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_READ_RESPONSE_ONLY, 9);
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_READ_RESPONSE_ONLY, 11);
	expect_bad_response(IBV_WR_RDMA_READ, 0, UROCE_OP_READ_RESPONSE_ONLY, 4);
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_FIRST, 1020);
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_FIRST, 1028);
	/* an Only response before the end of the READ, and a First response at its end */
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_ONLY, 1024);
	expect_bad_response(IBV_WR_RDMA_READ, 1024, UROCE_OP_READ_RESPONSE_FIRST, 1024);
}

static void
completer_recv__ack_for_a_read_is_an_implied_nak(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 10);
	assert_int_equal(ack(0), UROCE_VERDICT_RESPONSE_GAP);
	expect_sent("A>B READ_REQUEST psn 0 len 10\n");
}

static void
post_to_bad_memory(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem,
			       .length = 8,
			       .lkey = pair.host[A].key + 1 };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 };

	if (opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = (uintptr_t)pair.host[B].mem;
		wr.wr.rdma.rkey = pair.host[B].key;
	} else {
		wr.wr.atomic.remote_addr = (uintptr_t)pair.host[B].mem;
		wr.wr.atomic.rkey = pair.host[B].key;
	}
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

static void
completer_recv__answer_to_refused_local_memory(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (unsigned i = 0; i < 2; i++) {
		open_pair(state);
		post(IBV_WR_RDMA_WRITE, 10);
		post_to_bad_memory(opcodes[i]);
		post(IBV_WR_RDMA_WRITE, 10);
		pair_run(&pair);
		pair_expect_done(&pair, A,
				 "send 0 RDMA_WRITE SUCCESS\nsend 1 LOC_PROT_ERR\n"
				 "send 2 WR_FLUSH_ERR\n");
		assert_int_equal(pair.host[A].nb_verdicts[UROCE_VERDICT_LOCAL_FAULT], 1);
		close_pair(state);
	}
}

/* --- remote errors between two hosts --- */

static void
completer_recv__write_to_refused_memory(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 10);
	post(IBV_WR_RDMA_WRITE, 10);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_WRITE, .len = 4096, .remote = (1 << 20) - 4095 });
	post(IBV_WR_RDMA_WRITE, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B WRITE_FIRST psn 1\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3\n"
				 "A>B WRITE_LAST psn 4\n"
				 "A>B WRITE_ONLY psn 5 A\n"
				 "B>A NAK_REM_ACCESS psn 1\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 REM_ACCESS_ERR\n"
			 "send 2 WR_FLUSH_ERR\n");
	pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_FAILED);
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_ACCESS_ERR | UROCE_QPC_FAILED);
	assert_int_equal(pair.host[A].qpc.failure.psn, 1);
	assert_int_equal(pair.host[A].qpc.failure.status, IBV_WC_REM_ACCESS_ERR);
	assert_false(pair.host[A].qpc.failure.is_peers);
	assert_int_equal(pair.host[B].qpc.failure.psn, 1);
	assert_int_equal(pair.host[B].qpc.failure.verdict, UROCE_VERDICT_NO_ACCESS);
	assert_true(pair.host[B].qpc.failure.is_peers);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

/* --- long READs, which are requested in several chunks --- */

static void
completer_recv__read_in_pieces_survives_losses_at_their_borders(void **state)
{
	static const uint32_t lost[] = { 0, 62, 63, 64, 65, 127, 128, 129, 191 };

	for (unsigned i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		struct pair_conf conf = pair_conf(IBV_QPT_RC);
		const uint32_t len = 3 * UROCE_READ_CHUNK_PSNS * 256 - 7;

		conf.mtu = IBV_MTU_256;
		conf.max_rd_atomic = 2;
		conf.max_dest_rd_atomic = 2;
		conf.psn[A] = 0xffff80;
		pair_open(&pair, &conf);
		pair_fill(&pair, B, 0, len, 1);
		pair_lose(&pair, B, lost[i]);
		pair_lose(&pair, B, lost[i] + 70);
		post(IBV_WR_RDMA_READ, len);
		post(IBV_WR_RDMA_WRITE, 0);
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
		assert_true(pair_is_equal(&pair, 0, 0, len));
		assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 0);
		close_pair(state);
	}
}

static void
completer_recv__piece_that_ends_too_early_is_a_bad_response(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 65 * 1024);
	for (uint32_t psn = 0; psn < 63; psn++)
		response(UROCE_OP_READ_RESPONSE_MIDDLE, psn, 1024);
	/* the 64th packet ends the READ chunk, so its response must be a Last */
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_MIDDLE, 63, 1024),
			 UROCE_VERDICT_BAD_RESPONSE);
}

#define COMP_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		COMP_TEST(completer_recv__ack_completes_what_is_before_it),
		COMP_TEST(completer_recv__responses_to_nothing_outstanding_are_ghosts),
		COMP_TEST(completer_recv__read_responses_in_order_complete_it),
		COMP_TEST(completer_recv__response_ahead_is_an_implied_nak),
		COMP_TEST(completer_recv__nak_behind_an_unanswered_atomic_is_an_implied_nak),
		COMP_TEST(completer_recv__answers_overtake_the_position_that_was_set_back),
		COMP_TEST(completer_recv__answer_to_all_overtakes_the_position_that_was_set_back),
		COMP_TEST(completer_recv__first_packet_lost),
		COMP_TEST(completer_recv__middle_packet_lost),
		COMP_TEST(completer_recv__last_packet_lost),
		COMP_TEST(completer_recv__ack_lost),
		COMP_TEST(completer_recv__nak_lost),
		COMP_TEST(completer_recv__read_request_lost),
		COMP_TEST(completer_recv__first_read_response_lost),
		COMP_TEST(completer_recv__middle_read_response_lost),
		COMP_TEST(completer_recv__last_read_response_lost),
		COMP_TEST(completer_recv__atomic_response_lost),
		COMP_TEST(completer_recv__twice_and_out_of_order),
		COMP_TEST(completer_recv__spoilt_frame_is_a_lost_one),
		cmocka_unit_test(completer_recv__every_nak_code_has_its_status),
		COMP_TEST(completer_recv__reserved_syndrome_is_a_bad_response),
		COMP_TEST(completer_recv__credits_of_an_ack_are_not_looked_at),
		COMP_TEST(completer_recv__repeated_sequence_nak_is_one_repair),
		COMP_TEST(completer_recv__repair_that_was_lost_is_repaired_after_the_timeout),
		cmocka_unit_test(completer_recv__sequence_naks_do_not_use_up_the_retries),
		cmocka_unit_test(completer_recv__response_that_does_not_fit_its_request),
		COMP_TEST(completer_recv__ack_for_a_read_is_an_implied_nak),
		cmocka_unit_test(completer_recv__answer_to_refused_local_memory),
		COMP_TEST(completer_recv__write_to_refused_memory),
		cmocka_unit_test(completer_recv__read_in_pieces_survives_losses_at_their_borders),
		COMP_TEST(completer_recv__piece_that_ends_too_early_is_a_bad_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
