/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Duplicates of READs and atomics [IBA 9.7.5.1.2]: what a responder saves of a request, and for how
 * many requests.
 */

#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

#define MTU 1024u

static void
resp_recv__duplicate_read_is_read_again(void **state)
{
	(void)state;
	read_request(0, 0, 3 * MTU);
	read_request(3, 0, MTU);
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\n"
		      "B>A READ_RESPONSE_MIDDLE psn 1\n"
		      "B>A READ_RESPONSE_LAST psn 2\n"
		      "B>A READ_RESPONSE_ONLY psn 3\n");
	assert_int_equal(read_request(0, 0, 3 * MTU), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\n"
		      "B>A READ_RESPONSE_MIDDLE psn 1\n"
		      "B>A READ_RESPONSE_LAST psn 2\n");
	/* the duplicate requests the READ from its second packet on */
	assert_int_equal(read_request(1, MTU, 2 * MTU), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_FIRST psn 1\n"
		      "B>A READ_RESPONSE_LAST psn 2\n");
	/* the duplicate requests only the middle packet of the READ */
	assert_int_equal(read_request(1, MTU, MTU), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
	assert_int_equal(pair.host[B].qpc.resp.epsn, 4);
	assert_int_equal(pair.host[B].qpc.resp.msn, 2);
}

static void
resp_recv__duplicate_read_in_the_middle_of_its_answer_begins_anew(void **state)
{
	struct uroce_txd txd[2];
	uint8_t hdr[2][UROCE_HDR_MAX];

	(void)state;
	read_request(0, 0, 3 * MTU);
	txd[0].hdr = hdr[0];
	txd[1].hdr = hdr[1];
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, 2, 0), 2);
	read_request(1, MTU, 2 * MTU);
	expect_answer("B>A READ_RESPONSE_FIRST psn 1\n"
		      "B>A READ_RESPONSE_LAST psn 2\n");
}

static void
resp_recv__duplicate_read_that_asks_for_something_else_is_stale(void **state)
{
	(void)state;
	read_request(0, 64, 3 * MTU - 8);
	pair_flush(&pair, B);
	text_clear(&pair.trace);
	/*
	 * these READs differ from the original one: two have another address, two are longer, and
	 * two are shorter
	 */
	assert_int_equal(read_request(0, 0, 3 * MTU - 8), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(1, 64, 2 * MTU - 8), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(0, 64, 3 * MTU), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(0, 64, UINT32_MAX), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(0, 64, 3 * MTU - 9), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(0, 64, MTU - 1), UROCE_VERDICT_STALE);
	/* these duplicates have length 0, although the READ has data */
	assert_int_equal(read_request(0, 64, 0), UROCE_VERDICT_STALE);
	assert_int_equal(read_request(1, 64 + MTU, 0), UROCE_VERDICT_STALE);
	assert_int_equal(pair_inject(&pair, B,
				     &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
							 .va = va(64),
							 .rkey = pair.host[B].key + 1,
							 .dma_len = 3 * MTU - 8 }),
			 UROCE_VERDICT_STALE);
	/* this READ has the PSN of no READ, and this atomic has the PSN of a READ */
	assert_int_equal(read_request(0xffffff, 64, MTU), UROCE_VERDICT_STALE);
	assert_int_equal(fetch_add(0, va(64), 1), UROCE_VERDICT_STALE);
	expect_answer("");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

static void
resp_recv__duplicate_read_of_nothing(void **state)
{
	(void)state;
	read_request(0, 0, 0);
	expect_answer("B>A READ_RESPONSE_ONLY psn 0\n");
	assert_int_equal(read_request(0, 0, 0), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_ONLY psn 0\n");
}

/*
 * A late duplicate of a READ is no error although its region is deregistered: the peer has the
 * response already.
 */
static void
resp_recv__duplicate_read_of_memory_that_is_gone_harms_nobody(void **state)
{
	(void)state;
	read_request(0, 0, 2 * MTU);
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\nB>A READ_RESPONSE_LAST psn 1\n");
	uroce_mr_invalidate(pair.host[B].mrs, pair.host[B].key);
	assert_int_equal(read_request(0, 0, 2 * MTU), UROCE_VERDICT_DUPLICATE);
	expect_answer("");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 2);
	assert_int_equal(pair_events(&pair, B), 0);
}

/*
 * A pending ACK is omitted if a READ response, which acknowledges as much, follows. A duplicate
 * READ of a deregistered region gets no response, so the ACK must be sent.
 */
static void
resp_recv__duplicate_read_of_memory_that_is_gone_takes_no_ack_along(void **state)
{
	struct pair_pkt write = { .opcode = UROCE_OP_WRITE_ONLY,
				  .has_ack_req = true,
				  .va = va(0),
				  .rkey = pair.host[B].key,
				  .dma_len = 4,
				  .payload_len = 4 };

	(void)state;
	pair_inject(&pair, B, &write);
	read_request(1, 0, MTU);
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
	uroce_mr_invalidate(pair.host[B].mrs, pair.host[B].key);
	assert_int_equal(read_request(1, 0, MTU), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A ACK psn 0\n");
}

static void
resp_recv__thirty_two_are_remembered(void **state)
{
	(void)state;
	for (uint32_t psn = 0; psn < 33; psn++) {
		assert_int_equal(read_request(psn, psn, 1), UROCE_VERDICT_REQUEST);
		pair_flush(&pair, B);
	}
	text_clear(&pair.trace);
	assert_int_equal(read_request(0, 0, 1), UROCE_VERDICT_STALE);
	expect_answer("");
	assert_int_equal(read_request(1, 1, 1), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
	assert_int_equal(read_request(32, 32, 1), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A READ_RESPONSE_ONLY psn 32\n");
}

static void
resp_send__duplicates_are_answered_in_psn_order(void **state)
{
	(void)state;
	/*
	 * send more requests than the ring of resources has entries, so that the index of an entry
	 * no longer follows the PSN
	 */
	for (uint32_t psn = 0; psn < 36; psn++) {
		read_request(psn, 0, 1);
		pair_flush(&pair, B);
	}
	text_clear(&pair.trace);
	read_request(34, 0, 1);
	read_request(5, 0, 1);
	read_request(12, 0, 1);
	expect_answer("B>A READ_RESPONSE_ONLY psn 5\n"
		      "B>A READ_RESPONSE_ONLY psn 12\n"
		      "B>A READ_RESPONSE_ONLY psn 34\n");
}

static void
open_with_dest_rd(uint8_t max_dest_rd_atomic)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.max_dest_rd_atomic = max_dest_rd_atomic;
	pair_open(&pair, &conf);
}

static void
resp_recv__more_reads_at_a_time_than_agreed_is_an_invalid_request(void **state)
{
	for (uint8_t agreed = 0; agreed <= 16; agreed++) {
		open_with_dest_rd(agreed);
		for (uint32_t psn = 0; psn < agreed; psn++)
			assert_int_equal(read_request(psn, 0, 1), UROCE_VERDICT_REQUEST);
		assert_int_equal(read_request(agreed, 0, 1), UROCE_VERDICT_BAD_REQUEST);
		assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
		assert_int_equal(pair_events(&pair, B), UROCE_QPC_REQ_ERR | UROCE_QPC_FAILED);
		close_pair(state);
	}
}

static void
resp_recv__more_atomics_at_a_time_than_agreed_change_nothing(void **state)
{
	open_with_dest_rd(1);
	assert_int_equal(fetch_add(0, va(0), 1), UROCE_VERDICT_REQUEST);
	assert_int_equal(fetch_add(1, va(0), 1), UROCE_VERDICT_BAD_REQUEST);
	assert_int_equal(pair.host[B].mem[0], 1);
	expect_answer("B>A ATOMIC_ACK psn 0\nB>A NAK_INV_REQUEST psn 1\n");
	close_pair(state);
}

/*
 * A peer may repeat a READ, get the response to the original READ, and send a new READ: the
 * repetition does not count as outstanding.
 */
static void
resp_recv__repetitions_do_not_count_as_outstanding(void **state)
{
	open_with_dest_rd(1);
	read_request(0, 0, 1);
	expect_answer("B>A READ_RESPONSE_ONLY psn 0\n");
	read_request(0, 0, 1);
	assert_int_equal(read_request(1, 0, 1), UROCE_VERDICT_REQUEST);
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
	close_pair(state);
}

/* --- duplicates of atomics --- */

static void
resp_recv__duplicate_atomic_is_answered_from_memory_not_executed(void **state)
{
	(void)state;
	assert_int_equal(fetch_add(0, va(0), 5), UROCE_VERDICT_REQUEST);
	assert_int_equal(fetch_add(1, va(0), 5), UROCE_VERDICT_REQUEST);
	expect_answer("B>A ATOMIC_ACK psn 0\nB>A ATOMIC_ACK psn 1\n");
	assert_int_equal(fetch_add(0, va(0), 5), UROCE_VERDICT_DUPLICATE);
	expect_answer("B>A ATOMIC_ACK psn 0\n");
	assert_int_equal(pair.host[B].mem[0], 10);
	assert_int_equal(pair.host[B].qpc.resp.res[0].orig, 0);
	assert_int_equal(pair.host[B].qpc.resp.res[1].orig, 5);
}

static void
resp_recv__duplicate_atomic_that_is_forgotten_is_stale(void **state)
{
	(void)state;
	assert_int_equal(fetch_add(0xffffff, va(0), 5), UROCE_VERDICT_STALE);
	read_request(0, 0, 1);
	pair_flush(&pair, B);
	text_clear(&pair.trace);
	assert_int_equal(fetch_add(0, va(0), 5), UROCE_VERDICT_STALE);
	expect_answer("");
	assert_int_equal(pair.host[B].mem[0], 0);
}

#define RESP_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RESP_TEST(resp_recv__duplicate_read_is_read_again),
		RESP_TEST(resp_recv__duplicate_read_in_the_middle_of_its_answer_begins_anew),
		RESP_TEST(resp_recv__duplicate_read_that_asks_for_something_else_is_stale),
		RESP_TEST(resp_recv__duplicate_read_of_nothing),
		RESP_TEST(resp_recv__duplicate_read_of_memory_that_is_gone_harms_nobody),
		RESP_TEST(resp_recv__duplicate_read_of_memory_that_is_gone_takes_no_ack_along),
		RESP_TEST(resp_recv__thirty_two_are_remembered),
		RESP_TEST(resp_send__duplicates_are_answered_in_psn_order),
		cmocka_unit_test(resp_recv__more_reads_at_a_time_than_agreed_is_an_invalid_request),
		cmocka_unit_test(resp_recv__more_atomics_at_a_time_than_agreed_change_nothing),
		cmocka_unit_test(resp_recv__repetitions_do_not_count_as_outstanding),
		RESP_TEST(resp_recv__duplicate_atomic_is_answered_from_memory_not_executed),
		RESP_TEST(resp_recv__duplicate_atomic_that_is_forgotten_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
