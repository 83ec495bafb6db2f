/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive requests of a shared queue: when a request is taken, when it is returned, and which
 * events occur.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct pair pair;

static void
open_type(enum ibv_qp_type type)
{
	struct pair_conf conf = pair_conf(type);

	conf.has_srq = true;
	pair_open(&pair, &conf);
}

static int
open_rc(void **state)
{
	(void)state;
	open_type(IBV_QPT_RC);
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
post_recvs(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(pair_post_recv(&pair, B, 8192 * i, 8192), 0);
}

static uint32_t
nb_posted(void)
{
	return pair.host[B].srq.nb_posted;
}

static enum uroce_verdict
inject_send(uint8_t opcode, uint32_t psn, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = opcode, .psn = psn, .payload_len = len });
}

static void
recv__one_request_for_each_message(void **state)
{
	(void)state;
	post_recvs(3);
	pair_fill(&pair, A, 0, 3000, 1);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 0 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 8, .imm = 1 });
	pair_run(&pair);
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 3000\nrecv 1 RECV SUCCESS 0\n"
			 "recv 2 RECV_RDMA_WITH_IMM SUCCESS 8 imm 00000001\n");
	assert_true(uroce_srq_is_empty(&pair.host[B].srq));
	assert_int_equal(pair_events(&pair, B), 0);
}

static void
recv__taken_with_the_first_packet(void **state)
{
	(void)state;
	post_recvs(2);
	assert_int_equal(inject_send(UROCE_OP_SEND_FIRST, 0, 1024), UROCE_VERDICT_REQUEST);
	assert_int_equal(nb_posted(), 1);
	assert_int_equal(inject_send(UROCE_OP_SEND_MIDDLE, 1, 1024), UROCE_VERDICT_REQUEST);
	assert_int_equal(nb_posted(), 1);
	assert_int_equal(inject_send(UROCE_OP_SEND_LAST, 2, 1), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 2049\n");
	assert_int_equal(nb_posted(), 1);
}

static void
recv__none_posted_is_rnr_and_then_goes_on(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_run_for(&pair, 3 * PAIR_LATENCY_NS);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n");
	post_recvs(1);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
}

static void
recv__limit_is_reported_once(void **state)
{
	(void)state;
	post_recvs(3);
	assert_false(uroce_srq_arm(&pair.host[B].srq, 2));
	for (unsigned i = 0; i < 3; i++) {
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
		pair_run(&pair);
		assert_int_equal(pair_events(&pair, B), i == 1 ? UROCE_QPC_SRQ_LIMIT : 0);
		assert_ptr_equal(uroce_qpc_limited_srq(&pair.host[B].qpc),
				 i == 1 ? &pair.host[B].srq : NULL);
	}
}

static void
recv__keys_are_of_the_queues_domain(void **state)
{
	(void)state;
	post_recvs(1);
	pair.host[B].srq.pdn++;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 REM_OP_ERR\n");
	pair_expect_done(&pair, B, "recv 0 LOC_PROT_ERR\n");
	assert_int_equal(pair_events(&pair, B) & UROCE_QPC_LAST_WQE, UROCE_QPC_LAST_WQE);
}

/* --- QPs that enter ERR or RESET, or are destroyed --- */

static void
recv__error_flushes_what_was_taken_and_no_more(void **state)
{
	(void)state;
	post_recvs(2);
	inject_send(UROCE_OP_SEND_FIRST, 0, 1024);
	pair_events(&pair, B);
	pair_set_state(&pair, B, IBV_QPS_ERR);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_LAST_WQE);
	assert_int_equal(nb_posted(), 1);
	/* a second transition to ERR raises no second event */
	pair_set_state(&pair, B, IBV_QPS_ERR);
	assert_int_equal(pair_events(&pair, B), 0);
}

static void
recv__error_between_messages_is_reported_all_the_same(void **state)
{
	(void)state;
	post_recvs(1);
	pair_set_state(&pair, B, IBV_QPS_ERR);
	pair_expect_done(&pair, B, "");
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_LAST_WQE);
	assert_int_equal(nb_posted(), 1);
}

static void
recv__reset_puts_what_was_taken_back(void **state)
{
	(void)state;
	post_recvs(2);
	inject_send(UROCE_OP_SEND_FIRST, 0, 1024);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	assert_int_equal(nb_posted(), 2);
	bool is_limit;

	assert_int_equal(uroce_srq_take(&pair.host[B].srq, &is_limit)->wr_id, 0);
	pair_expect_done(&pair, B, "");
}

static void
qpc_fini__puts_what_was_taken_back(void **state)
{
	(void)state;
	post_recvs(1);
	inject_send(UROCE_OP_SEND_FIRST, 0, 1024);
	assert_int_equal(nb_posted(), 0);
	uroce_qpc_fini(&pair.host[B].qpc);
	assert_int_equal(nb_posted(), 1);
}

/* --- UC and UD --- */

static void
recv__uc_uses_the_request_of_a_lost_message_again(void **state)
{
	(void)state;
	open_type(IBV_QPT_UC);
	post_recvs(2);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 2048 });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 5 });
	pair_lose(&pair, A, 1);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 5\n");
	assert_int_equal(nb_posted(), 1);
	pair_close(&pair);
}

static void
recv__uc_leaves_the_request_of_a_lost_message_to_others(void **state)
{
	(void)state;
	open_type(IBV_QPT_UC);
	pair_post_recv(&pair, B, 0, 1500);
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_SERVICE_UC << 5 | UROCE_OP_SEND_FIRST,
					.payload_len = 1024 });
	assert_int_equal(nb_posted(), 0);
	/* the end of the message arrives behind a PSN gap, so the message is lost */
	assert_int_equal(pair_inject(&pair, B,
				     &(struct pair_pkt){ .opcode = UROCE_SERVICE_UC << 5 |
								   UROCE_OP_SEND_LAST,
							 .psn = 2,
							 .payload_len = 8 }),
			 UROCE_VERDICT_PSN_GAP);
	assert_int_equal(nb_posted(), 1);
	/* send a message that is longer than the receive buffer */
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 2048 });
	pair_run(&pair);
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_TOO_LONG], 1);
	assert_int_equal(nb_posted(), 1);
	pair_close(&pair);
}

static void
recv__datagram_that_does_not_fit_leaves_the_request(void **state)
{
	(void)state;
	open_type(IBV_QPT_UD);
	pair_post_recv(&pair, B, 0, 44);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 5 });
	pair_run(&pair);
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_TOO_LONG], 1);
	assert_int_equal(nb_posted(), 1);
	pair_close(&pair);
}

static void
recv__datagrams(void **state)
{
	(void)state;
	open_type(IBV_QPT_UD);
	post_recvs(1);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 5 });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 6 });
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 45 from aaaaa1\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_NO_RECEIVE], 1);
	pair_close(&pair);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rc, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recv__one_request_for_each_message),
		TEST(recv__taken_with_the_first_packet),
		TEST(recv__none_posted_is_rnr_and_then_goes_on),
		TEST(recv__limit_is_reported_once),
		TEST(recv__keys_are_of_the_queues_domain),
		TEST(recv__error_flushes_what_was_taken_and_no_more),
		TEST(recv__error_between_messages_is_reported_all_the_same),
		TEST(recv__reset_puts_what_was_taken_back),
		TEST(qpc_fini__puts_what_was_taken_back),
		cmocka_unit_test(recv__uc_uses_the_request_of_a_lost_message_again),
		cmocka_unit_test(recv__uc_leaves_the_request_of_a_lost_message_to_others),
		cmocka_unit_test(recv__datagram_that_does_not_fit_leaves_the_request),
		cmocka_unit_test(recv__datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
