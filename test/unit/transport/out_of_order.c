/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Responses that arrive out of order at a requester with a reorder buffer: where each one goes,
 * what is requested again, and which responses are invalid. The test itself builds the responses.
 */

#include "response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/newer_verbs.h"

#define MTU   256
#define FIRST UROCE_OP_READ_RESPONSE_FIRST
#define MID   UROCE_OP_READ_RESPONSE_MIDDLE
#define LAST  UROCE_OP_READ_RESPONSE_LAST
#define ONLY  UROCE_OP_READ_RESPONSE_ONLY

static int
open_holding(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.mtu = IBV_MTU_256;
	conf.nb_hold = 2;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	return 0;
}

static uint32_t
nb_held(void)
{
	return uroce_reorder_buffer_count(pair.host[A].reorder_buffer);
}

static void
expect_idle_pool(void)
{
	assert_int_equal(nb_held(), 0);
	assert_int_equal(uroce_reorder_buffer_count_gaps(pair.host[A].reorder_buffer), 0);
}

static void
ooo_response_recv__middle_is_placed_and_last_is_held(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 4 * MTU);
	assert_int_equal(response(MID, 1, MTU), UROCE_VERDICT_OOO_PLACED);
	assert_memory_equal(pair.host[A].mem + MTU, "\1\2\3", 3);
	assert_int_equal(response(LAST, 3, MTU), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(pair.host[A].mem[3 * MTU], 0);
	assert_int_equal(nb_held(), 1);
	/* a second copy of a placed or buffered response is dropped */
	pair.host[A].mem[MTU] = 77;
	assert_int_equal(response(MID, 1, MTU), UROCE_VERDICT_GHOST);
	assert_int_equal(response(LAST, 3, MTU), UROCE_VERDICT_GHOST);
	assert_int_equal(pair.host[A].mem[MTU], 77);
	expect_sent("A>B READ_REQUEST psn 0 len 768\n");
	assert_int_equal(response(ONLY, 0, MTU), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "");
	assert_int_equal(response(ONLY, 2, MTU), UROCE_VERDICT_RESPONSE);
	assert_memory_equal(pair.host[A].mem + 3 * MTU, "\1\2\3", 3);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 0);
	assert_int_equal(pair.host[A].qpc.req.retry_left, 7);
	expect_idle_pool();
}

static void
ooo_response_recv__full_pool_drops(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		post_and_flush(IBV_WR_RDMA_READ, MTU);
	assert_int_equal(response(ONLY, 1, MTU), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(response(ONLY, 2, MTU), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(response(ONLY, 3, MTU), UROCE_VERDICT_RESPONSE_GAP);
	expect_sent("A>B READ_REQUEST psn 0 len 256\nA>B READ_REQUEST psn 3 len 256\n");
	assert_int_equal(response(ONLY, 0, MTU), UROCE_VERDICT_RESPONSE);
	assert_int_equal(response(ONLY, 3, MTU), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_READ SUCCESS\n");
	expect_idle_pool();
}

static void
ooo_response_recv__only_what_was_sent_is_answered(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 2 * MTU);
	assert_int_equal(response(ONLY, 2, MTU), UROCE_VERDICT_GHOST);
	assert_int_equal(ack(5), UROCE_VERDICT_GHOST);
	expect_sent("");
	expect_idle_pool();
}

/*
 * Post a READ of four packets and a READ of one packet, and inject an out-of-order response that is
 * invalid.
 */
static void
expect_bad(uint8_t opcode, uint32_t psn, uint32_t len)
{
	open_holding(NULL);
	post_and_flush(IBV_WR_RDMA_READ, 4 * MTU);
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	assert_int_equal(response(opcode, psn, len), UROCE_VERDICT_BAD_RESPONSE);
	pair_expect_done(&pair, A, "send 0 BAD_RESP_ERR\nsend 1 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[A].mem[MTU], 0);
	expect_idle_pool();
	close_pair(NULL);
}

static void
ooo_response_recv__that_does_not_fit_ends_the_request(void **state)
{
	(void)state;
	expect_bad(MID, 1, MTU - 4);
	/* a Last or Only response in the middle of a READ that was not requested in parts */
	expect_bad(LAST, 1, MTU);
	expect_bad(ONLY, 2, MTU);
}

static void
ooo_response_recv__of_another_kind_is_refused_in_its_turn(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	assert_int_equal(response(UROCE_OP_ATOMIC_ACK, 1, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(response(ONLY, 0, MTU), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\nsend 1 BAD_RESP_ERR\n");
	expect_idle_pool();
}

/*
 * A READ or atomic response with the PSN of a WRITE is a ghost and is not buffered. Otherwise a
 * buffered response might complete the WRITE later.
 */
static void
ooo_response_recv__to_what_only_an_ack_answers_is_not_kept(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	post_and_flush(IBV_WR_RDMA_WRITE, MTU);
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	assert_int_equal(response(UROCE_OP_ATOMIC_ACK, 1, 0), UROCE_VERDICT_GHOST);
	assert_int_equal(response(ONLY, 1, MTU), UROCE_VERDICT_GHOST);
	assert_int_equal(response(ONLY, 2, MTU), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(response(ONLY, 0, MTU), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\n");
	expect_idle_pool();
}

static void
ooo_response_note_executed__ack_ahead_completes_when_the_answer_is_here(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 2 * MTU);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	assert_int_equal(ack(2), UROCE_VERDICT_RESPONSE_GAP);
	expect_sent("A>B READ_REQUEST psn 0 len 512\n");
	response(FIRST, 0, MTU);
	response(LAST, 1, MTU);
	/* the out-of-order ACK of PSN 2 acknowledges the first WRITE, but not the second one */
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	assert_int_equal(ack(3), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 2 RDMA_WRITE SUCCESS\n");
}

static void
ooo_response_note_rewind__timeout_steps_over_what_is_here(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 2 * MTU);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	post_and_flush(IBV_WR_RDMA_READ, 2 * MTU);
	post_and_flush(IBV_WR_RDMA_WRITE, 10);
	response(LAST, 1, MTU);
	response(FIRST, 3, MTU);
	expect_sent("A>B READ_REQUEST psn 0 len 256\n");
	pair_wait(&pair, A, uroce_ack_timeout_ns(14));
	text_clear(&pair.trace);
	expect_sent("A>B READ_REQUEST psn 0 len 256\n"
		    "A>B READ_REQUEST psn 4 len 256\n"
		    "A>B WRITE_ONLY psn 5 A\n");
	response(ONLY, 0, MTU);
	response(ONLY, 4, MTU);
	assert_int_equal(ack(5), UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 0);
	expect_idle_pool();
}

static void
ooo_response_discard__reset_gives_everything_back(void **state)
{
	(void)state;
	post_and_flush(IBV_WR_RDMA_READ, 2 * MTU);
	response(LAST, 1, MTU);
	assert_int_equal(nb_held(), 1);
	pair_set_state(&pair, A, IBV_QPS_RESET);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	expect_idle_pool();
}

static void
ooo_response_put__fault_of_an_atomic_write_ends_it(void **state)
{
	(void)state;
	post_and_flush((enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE, 8);
	post_and_flush(IBV_WR_RDMA_READ, MTU);
	uroce_mr_invalidate(pair.host[A].mrs, pair.host[A].key);
	/* the ATOMIC_WRITE must be retransmitted, but the region of its data is deregistered */
	assert_int_equal(ack(0), UROCE_VERDICT_RESPONSE_GAP);
	pair_flush(&pair, A);
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\nsend 1 WR_FLUSH_ERR\n");
}

#define AHEAD_TEST(name) cmocka_unit_test_setup_teardown(name, open_holding, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AHEAD_TEST(ooo_response_recv__middle_is_placed_and_last_is_held),
		AHEAD_TEST(ooo_response_recv__full_pool_drops),
		AHEAD_TEST(ooo_response_recv__only_what_was_sent_is_answered),
		cmocka_unit_test(ooo_response_recv__that_does_not_fit_ends_the_request),
		AHEAD_TEST(ooo_response_recv__of_another_kind_is_refused_in_its_turn),
		AHEAD_TEST(ooo_response_recv__to_what_only_an_ack_answers_is_not_kept),
		AHEAD_TEST(ooo_response_note_executed__ack_ahead_completes_when_the_answer_is_here),
		AHEAD_TEST(ooo_response_note_rewind__timeout_steps_over_what_is_here),
		AHEAD_TEST(ooo_response_discard__reset_gives_everything_back),
		AHEAD_TEST(ooo_response_put__fault_of_an_atomic_write_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
