/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The completer and the retries [IBA 9.7.5.2, 9.7.6, 9.7.7]: what responses, their absence and their
 * copies do to the requester. Where the order of frames matters, the test is the responder.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"
#include "wire/syndrome.h"

#define US UINT64_C(1000)

static struct pair pair;

static int
open_pair(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	pair_open(&pair, &conf);
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
post(enum ibv_wr_opcode opcode, uint32_t len)
{
	assert_int_equal(pair_post(&pair, A, &(struct pair_wr){ .opcode = opcode, .len = len }), 0);
}

/* Requests go out and are thrown away; the test answers. */
static void
post_and_flush(enum ibv_wr_opcode opcode, uint32_t len)
{
	post(opcode, len);
	pair_flush(&pair, A);
	text_clear(&pair.trace);
}

static enum uroce_verdict
aeth(uint32_t psn, uint8_t syndrome)
{
	return pair_inject(
		&pair, A,
		&(struct pair_pkt){ .opcode = UROCE_OP_ACK, .psn = psn, .syndrome = syndrome });
}

static enum uroce_verdict
ack(uint32_t psn)
{
	return aeth(psn, UROCE_SYNDROME_ACK);
}

static enum uroce_verdict
nak(uint32_t psn, enum uroce_nak code)
{
	return aeth(psn, uroce_syndrome_make(UROCE_AETH_NAK, code));
}

static enum uroce_verdict
rnr_nak(uint32_t psn, uint8_t timer_code)
{
	return aeth(psn, uroce_syndrome_make(UROCE_AETH_RNR, timer_code));
}

static enum uroce_verdict
response(uint8_t opcode, uint32_t psn, uint32_t len)
{
	return pair_inject(
		&pair, A,
		&(struct pair_pkt){
			.opcode = opcode, .psn = psn, .syndrome = 31, .payload_len = len });
}

static void
expect_sent(const char *trace)
{
	pair_flush(&pair, A);
	pair_expect_trace(&pair, trace);
}

/* --- past, expected, ahead --- */

static void
comp_recv__ack_completes_what_is_before_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		post_and_flush(IBV_WR_RDMA_WRITE, 2048);
	assert_int_equal(ack(3), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	/* half a message */
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) != UROCE_NEVER);
	assert_int_equal(ack(5), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 2 RDMA_WRITE SUCCESS\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
}

static void
comp_recv__responses_to_nothing_outstanding_are_ghosts(void **state)
{
	static const uint32_t psns[] = { 1, 2, 0x7fffff, 0x800000, 0xffffff };

	(void)state;
	/* nothing was ever sent */
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
	/* answered before */
	assert_int_equal(ack(0), UROCE_VERDICT_GHOST);
	assert_int_equal(nak(0, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_GHOST);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
comp_recv__read_responses_in_order_complete_it(void **state)
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
comp_recv__response_ahead_is_an_implied_nak(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	post_and_flush(IBV_WR_RDMA_READ, 3000);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 1, 1024), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_LAST, 3, 952), UROCE_VERDICT_RESPONSE_GAP);
	/* the rest of the READ is asked for, and what follows it is sent again */
	expect_sent("A>B READ_REQUEST psn 2 len 1976\nA>B WRITE_ONLY psn 4 A\n");
	/* once for one gap: the ACK of the WRITE tells nothing new */
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE_GAP);
	expect_sent("");
	assert_int_equal(pair.host[A].qpc.stats.naks_seq, 2);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_FIRST, 2, 1024), UROCE_VERDICT_RESPONSE);
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_LAST, 3, 952), UROCE_VERDICT_RESPONSE);
	assert_int_equal(ack(4), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 1 RDMA_READ SUCCESS\nsend 2 RDMA_WRITE SUCCESS\n");
}

static void
comp_recv__nak_behind_an_unanswered_atomic_is_an_implied_nak(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	post_and_flush(IBV_WR_SEND, 10);
	assert_int_equal(rnr_nak(1, 1), UROCE_VERDICT_RESPONSE_GAP);
	assert_int_equal(pair.host[A].qpc.stats.naks_rnr, 0);
	expect_sent("A>B FETCH_ADD psn 0\nA>B SEND_ONLY psn 1 A\n");
}

static void
comp_recv__answers_overtake_the_position_that_was_set_back(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	pair_expect_trace(&pair, "A TIMEOUT\n");
	/* late, but there: the first three need not be sent again */
	assert_int_equal(ack(2), UROCE_VERDICT_RESPONSE);
	expect_sent("A>B WRITE_LAST psn 3 A\n");
	assert_int_equal(ack(3), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
comp_recv__answer_to_all_overtakes_the_position_that_was_set_back(void **state)
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

/* --- losses, as two hosts live through them --- */

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
comp_recv__first_packet_lost(void **state)
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
comp_recv__middle_packet_lost(void **state)
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
comp_recv__last_packet_lost(void **state)
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
comp_recv__ack_lost(void **state)
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
comp_recv__nak_lost(void **state)
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
comp_recv__read_request_lost(void **state)
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
comp_recv__first_read_response_lost(void **state)
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
comp_recv__middle_read_response_lost(void **state)
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
comp_recv__last_read_response_lost(void **state)
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
comp_recv__atomic_response_lost(void **state)
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
	/* added once */
	assert_int_equal(pair.host[B].mem[0], 3);
}

static void
comp_recv__twice_and_out_of_order(void **state)
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
comp_recv__spoilt_frame_is_a_lost_one(void **state)
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

/* --- NAKs --- */

static void
comp_recv__every_nak_code_has_its_status(void **state)
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
comp_recv__reserved_syndrome_is_a_bad_response(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(aeth(0, UROCE_AETH_RESERVED << 5), UROCE_VERDICT_BAD_RESPONSE);
	pair_expect_done(&pair, A, "send 0 BAD_RESP_ERR\n");
}

static void
comp_recv__credits_of_an_ack_are_not_looked_at(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(aeth(0, 0), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
}

static void
comp_recv__repeated_sequence_nak_is_one_repair(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B WRITE_MIDDLE psn 1\nA>B WRITE_MIDDLE psn 2\nA>B WRITE_LAST psn 3 A\n");
	assert_int_equal(nak(1, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("");
	assert_int_equal(pair.host[A].qpc.req.retry_left, 6);
	/* a new place, a new repair; and what lies before it counts as progress */
	assert_int_equal(nak(2, UROCE_NAK_PSN_SEQ), UROCE_VERDICT_NAK_SEQ);
	expect_sent("A>B WRITE_MIDDLE psn 2\nA>B WRITE_LAST psn 3 A\n");
	assert_int_equal(pair.host[A].qpc.req.retry_left, 6);
}

static void
comp_recv__repair_that_was_lost_is_repaired_after_the_timeout(void **state)
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
comp_recv__sequence_naks_without_end_exhaust_the_retries(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.retry_cnt = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_RDMA_WRITE, 4096);
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
comp_recv__response_that_does_not_fit_its_request(void **state)
{
	(void)state;
	/* data for what is answered by an ACK, and the other way round */
	expect_bad_response(IBV_WR_RDMA_WRITE, 10, UROCE_OP_READ_RESPONSE_ONLY, 10);
	expect_bad_response(IBV_WR_RDMA_WRITE, 10, UROCE_OP_ATOMIC_ACK, 0);
	expect_bad_response(IBV_WR_SEND, 10, UROCE_OP_READ_RESPONSE_ONLY, 10);
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_ATOMIC_ACK, 0);
	expect_bad_response(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, UROCE_OP_READ_RESPONSE_ONLY, 8);
	/* lengths */
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_READ_RESPONSE_ONLY, 9);
	expect_bad_response(IBV_WR_RDMA_READ, 10, UROCE_OP_READ_RESPONSE_ONLY, 11);
	expect_bad_response(IBV_WR_RDMA_READ, 0, UROCE_OP_READ_RESPONSE_ONLY, 4);
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_FIRST, 1020);
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_FIRST, 1028);
	/* the end where there is more, more where it ends */
	expect_bad_response(IBV_WR_RDMA_READ, 1025, UROCE_OP_READ_RESPONSE_ONLY, 1024);
	expect_bad_response(IBV_WR_RDMA_READ, 1024, UROCE_OP_READ_RESPONSE_FIRST, 1024);
}

static void
comp_recv__ack_for_a_read_is_an_implied_nak(void **state)
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
comp_recv__answer_to_refused_local_memory(void **state)
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

/* --- remote errors as two hosts live through them --- */

static void
comp_recv__write_to_refused_memory(void **state)
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
	assert_int_equal(pair_events(&pair, A), 0);
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_ACCESS_ERR);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

/* --- receiver not ready --- */

static void
comp_recv__rnr_retry_0_fails_at_once(void **state)
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
comp_recv__rnr_retry_3_tries_three_times_more(void **state)
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
comp_recv__rnr_retry_7_never_gives_up(void **state)
{
	(void)state;
	post(IBV_WR_SEND, 10);
	/* timer code 12 is 640 us */
	pair_run_for(&pair, 100 * 640 * US);
	assert_in_range(pair.host[A].qpc.stats.naks_rnr, 99, 100);
	pair_expect_done(&pair, A, "");
	pair_post_recv(&pair, B, 0, 10);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
}

static void
comp_recv__rnr_timer_is_waited_out(void **state)
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
comp_recv__rnr_nak_in_the_middle_of_others(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 10);
	for (unsigned i = 0; i < 3; i++)
		post(IBV_WR_SEND, 10);
	pair_run_for(&pair, 100 * US);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	/* the retry counter is full again after each progress */
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
comp_recv__sequence_nak_behind_an_rnr_nak_for_the_same_psn(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_SEND, 10);
	post_and_flush(IBV_WR_SEND, 10);
	assert_int_equal(rnr_nak(0, 1), UROCE_VERDICT_NAK_RNR);
	/* as a peer does that sees the next packet and forgets what it said */
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
comp_recv__repeated_rnr_nak_counts_once(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.rnr_retry = 1;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(0, 1);
	rnr_nak(0, 1);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	/* an ACK, late but there, ends the waiting */
	assert_int_equal(ack(0), UROCE_VERDICT_RESPONSE);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	close_pair(state);
}

static void
comp_recv__sequence_nak_after_an_rnr_wait_is_a_new_repair(void **state)
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
comp_recv__ack_timer_rests_during_an_rnr_wait(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.timeout = 1; /* 8 us; the wait is 655 ms */
	conf.retry_cnt = 0;
	pair_open(&pair, &conf);
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(0, 0);
	pair_wait(&pair, A, 655360 * US);
	pair_expect_trace(&pair, "A RNR_TIMER\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == pair.now_ns + 8192);
	pair_wait(&pair, A, 8192);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\n");
	close_pair(state);
}

/* --- timeouts --- */

static void
comp_expire__peer_that_is_silent_costs_the_retry_budget(void **state)
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
			/* within (retry_cnt + 1) x 4 x the timeout, and not before it is tried */
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

static void
comp_expire__timeout_0_waits_for_ever(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.timeout = 0;
	pair_open(&pair, &conf);
	pair_lose(&pair, A, 0);
	post(IBV_WR_RDMA_WRITE, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0 A LOST\n");
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	/* what comes later repairs it */
	post(IBV_WR_RDMA_WRITE, 10);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	/* nor does an RNR wait arm a timer behind it */
	post_and_flush(IBV_WR_SEND, 10);
	rnr_nak(2, 1);
	pair_wait(&pair, A, 10 * US);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	close_pair(state);
}

static void
comp_expire__progress_refills_the_retries(void **state)
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
comp_expire__read_responses_are_progress(void **state)
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
comp_expire__early_call_is_harmless(void **state)
{
	(void)state;
	uroce_qpc_expire(&pair.host[A].qpc, pair.now_ns + 1);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	uroce_qpc_expire(&pair.host[A].qpc, pair.now_ns + uroce_ack_timeout_ns(14) - 1);
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	expect_sent("");
}

static void
comp_expire__region_that_is_gone_when_it_has_to_be_sent_again(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_WRITE, 2048);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	uroce_mr_invalidate(pair.host[A].mrs, pair.host[A].key);
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	expect_sent("A TIMEOUT\n");
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\nsend 1 WR_FLUSH_ERR\n");
}

/* --- long READs --- */

static void
comp_recv__read_in_pieces_survives_losses_at_their_borders(void **state)
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
comp_recv__piece_that_ends_too_early_is_a_bad_response(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 65 * 1024);
	for (uint32_t psn = 0; psn < 63; psn++)
		response(UROCE_OP_READ_RESPONSE_MIDDLE, psn, 1024);
	/* the 64th ends the piece */
	assert_int_equal(response(UROCE_OP_READ_RESPONSE_MIDDLE, 63, 1024),
			 UROCE_VERDICT_BAD_RESPONSE);
}

#define COMP_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		COMP_TEST(comp_recv__ack_completes_what_is_before_it),
		COMP_TEST(comp_recv__responses_to_nothing_outstanding_are_ghosts),
		COMP_TEST(comp_recv__read_responses_in_order_complete_it),
		COMP_TEST(comp_recv__response_ahead_is_an_implied_nak),
		COMP_TEST(comp_recv__nak_behind_an_unanswered_atomic_is_an_implied_nak),
		COMP_TEST(comp_recv__answers_overtake_the_position_that_was_set_back),
		COMP_TEST(comp_recv__answer_to_all_overtakes_the_position_that_was_set_back),
		COMP_TEST(comp_recv__first_packet_lost),
		COMP_TEST(comp_recv__middle_packet_lost),
		COMP_TEST(comp_recv__last_packet_lost),
		COMP_TEST(comp_recv__ack_lost),
		COMP_TEST(comp_recv__nak_lost),
		COMP_TEST(comp_recv__read_request_lost),
		COMP_TEST(comp_recv__first_read_response_lost),
		COMP_TEST(comp_recv__middle_read_response_lost),
		COMP_TEST(comp_recv__last_read_response_lost),
		COMP_TEST(comp_recv__atomic_response_lost),
		COMP_TEST(comp_recv__twice_and_out_of_order),
		COMP_TEST(comp_recv__spoilt_frame_is_a_lost_one),
		cmocka_unit_test(comp_recv__every_nak_code_has_its_status),
		COMP_TEST(comp_recv__reserved_syndrome_is_a_bad_response),
		COMP_TEST(comp_recv__credits_of_an_ack_are_not_looked_at),
		COMP_TEST(comp_recv__repeated_sequence_nak_is_one_repair),
		COMP_TEST(comp_recv__repair_that_was_lost_is_repaired_after_the_timeout),
		cmocka_unit_test(comp_recv__sequence_naks_without_end_exhaust_the_retries),
		cmocka_unit_test(comp_recv__response_that_does_not_fit_its_request),
		COMP_TEST(comp_recv__ack_for_a_read_is_an_implied_nak),
		cmocka_unit_test(comp_recv__answer_to_refused_local_memory),
		COMP_TEST(comp_recv__write_to_refused_memory),
		cmocka_unit_test(comp_recv__rnr_retry_0_fails_at_once),
		cmocka_unit_test(comp_recv__rnr_retry_3_tries_three_times_more),
		COMP_TEST(comp_recv__rnr_retry_7_never_gives_up),
		cmocka_unit_test(comp_recv__rnr_timer_is_waited_out),
		COMP_TEST(comp_recv__rnr_nak_in_the_middle_of_others),
		COMP_TEST(comp_recv__sequence_nak_behind_an_rnr_nak_for_the_same_psn),
		cmocka_unit_test(comp_recv__repeated_rnr_nak_counts_once),
		COMP_TEST(comp_recv__sequence_nak_after_an_rnr_wait_is_a_new_repair),
		cmocka_unit_test(comp_recv__ack_timer_rests_during_an_rnr_wait),
		cmocka_unit_test(comp_expire__peer_that_is_silent_costs_the_retry_budget),
		cmocka_unit_test(comp_expire__timeout_0_waits_for_ever),
		cmocka_unit_test(comp_expire__progress_refills_the_retries),
		cmocka_unit_test(comp_expire__read_responses_are_progress),
		COMP_TEST(comp_expire__early_call_is_harmless),
		COMP_TEST(comp_expire__region_that_is_gone_when_it_has_to_be_sent_again),
		cmocka_unit_test(comp_recv__read_in_pieces_survives_losses_at_their_borders),
		COMP_TEST(comp_recv__piece_that_ends_too_early_is_a_bad_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
