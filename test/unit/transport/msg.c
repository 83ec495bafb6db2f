/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reception of messages on UC [IBA 9.8.2]. There are no acknowledgements: a PSN gap loses the
 * message in which it occurs, and no other. resp.c tests the additional rules of RC.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define UC  0x20 /* upper bits of the opcodes of UC */
#define MTU 1024u

static struct pair pair;

static int
open_uc(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

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

static enum uroce_verdict
packet(uint8_t low, uint32_t psn, uint32_t dma_len, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UC | low,
					       .psn = psn,
					       .has_ack_req = true,
					       .va = (uintptr_t)pair.host[B].mem,
					       .rkey = pair.host[B].key,
					       .dma_len = dma_len,
					       .payload_len = len });
}

static enum uroce_verdict
write_under(uint32_t rkey)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UC | UROCE_OP_WRITE_ONLY,
					       .va = (uintptr_t)pair.host[B].mem,
					       .rkey = rkey,
					       .dma_len = 8,
					       .payload_len = 8 });
}

/*
 * An attacker, who forges the peer's address, tries keys. After 16 bad keys even the right key is
 * refused.
 */
static void
msg_recv_uc__keys_are_not_guessed_at_wire_speed(void **state)
{
	const uint32_t key = pair.host[B].key;

	(void)state;
	for (uint32_t i = 1; i <= 16; i++) {
		assert_int_equal(write_under(key), UROCE_VERDICT_REQUEST);
		assert_int_equal(write_under(key + i), UROCE_VERDICT_NO_ACCESS);
	}
	/* after 16 bad keys every packet with a key is refused without a check */
	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(write_under(key ^ i), UROCE_VERDICT_NO_ACCESS);
	assert_int_equal(write_under(key), UROCE_VERDICT_NO_ACCESS);
	assert_int_equal(pair.host[B].counters.nb[UROCE_COUNTER_RESP_REMOTE_ACCESS_ERRORS], 16);
	assert_int_equal(pair.host[B].counters.nb[UROCE_COUNTER_RX_WRITE_UNREAD], 1001);
	/* a SEND has no rkey, so it is still accepted */
	pair_post_recv(&pair, B, 100000, 8);
	assert_int_equal(packet(UROCE_OP_SEND_ONLY, 0, 0, 8), UROCE_VERDICT_REQUEST);
	/* keys are checked again one second after the first bad key */
	pair.now_ns += 999999999;
	assert_int_equal(write_under(key), UROCE_VERDICT_NO_ACCESS);
	pair.now_ns++;
	assert_int_equal(write_under(key), UROCE_VERDICT_REQUEST);
	assert_int_equal(write_under(key + 1), UROCE_VERDICT_NO_ACCESS);
	assert_int_equal(write_under(key), UROCE_VERDICT_REQUEST);
}

/* After a reset of the QP the bad keys of the earlier connection do not count. */
static void
msg_recv_uc__guesses_end_with_a_reset(void **state)
{
	const uint32_t key = pair.host[B].key;

	(void)state;
	for (uint32_t i = 1; i <= 16; i++)
		assert_int_equal(write_under(key + i), UROCE_VERDICT_NO_ACCESS);
	assert_int_equal(write_under(key), UROCE_VERDICT_NO_ACCESS);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	pair_bring_up(&pair, B, IBV_QPS_RTR);
	assert_int_equal(write_under(key), UROCE_VERDICT_REQUEST);
}

static void
msg_recv_uc__send_and_write_are_never_answered(void **state)
{
	(void)state;
	pair_fill(&pair, A, 0, 5000, 1);
	pair_post_recv(&pair, B, 100000, 5000);
	pair_post_recv(&pair, B, 200000, 0);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 2500 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 5000, .remote = 50000 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 10, .imm = 9 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2\n"
				 "A>B WRITE_FIRST psn 3\n"
				 "A>B WRITE_MIDDLE psn 4\n"
				 "A>B WRITE_MIDDLE psn 5\n"
				 "A>B WRITE_MIDDLE psn 6\n"
				 "A>B WRITE_LAST psn 7\n"
				 "A>B WRITE_ONLY_IMM psn 8\n");
	pair_expect_done(&pair, A,
			 "send 0 SEND SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\n");
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 2500\n"
			 "recv 1 RECV_RDMA_WITH_IMM SUCCESS 10 imm 00000009\n");
	assert_true(pair_is_equal(&pair, 0, 100000, 2500));
	assert_true(pair_is_equal(&pair, 0, 50000, 5000));
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
}

static void
msg_recv_uc__long_message_needs_no_window(void **state)
{
	const uint32_t len = 700 * MTU + 1;

	(void)state;
	pair_fill(&pair, A, 0, len, 1);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = len });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_true(pair_is_equal(&pair, 0, 0, len));
}

/*
 * If any packet of the first message is lost, the second message arrives, and uses the receive
 * request of the first one.
 */
static void
msg_recv_uc__a_gap_loses_its_message_and_no_other(void **state)
{
	for (uint32_t lost = 0; lost < 3; lost++) {
		open_uc(state);
		pair_fill(&pair, A, 0, 6000, 1);
		pair_post_recv(&pair, B, 0, 3000);
		pair_lose(&pair, A, lost);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 2000, .local = 4000 });
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\n");
		pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 2000\n");
		assert_true(pair_is_equal(&pair, 4000, 0, 2000));
		close_pair(state);
	}
}

static void
msg_recv_uc__whole_messages_lost_are_not_missed(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 3000);
	pair_lose(&pair, A, 0);
	pair_lose(&pair, A, 1);
	for (unsigned i = 0; i < 3; i++)
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 + i });
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 12\n");
}

static void
msg_recv_uc__first_begins_anew_whatever_came_before(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 4000);
	assert_int_equal(packet(UROCE_OP_SEND_FIRST, 0, 0, MTU), UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_SEND_FIRST, 1, 0, MTU), UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_SEND_LAST, 2, 0, 4), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 1028\n");
	/* on UC a new message may begin with any PSN */
	assert_int_equal(packet(UROCE_OP_WRITE_ONLY, 0x812345, 4, 4), UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_WRITE_FIRST, 0xffffff, 2 * MTU, MTU),
			 UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_WRITE_LAST, 0, 0, MTU), UROCE_VERDICT_REQUEST);
}

static void
msg_recv_uc__rest_of_a_lost_message_is_dropped(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 8000);
	assert_int_equal(packet(UROCE_OP_SEND_FIRST, 0, 0, MTU), UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_SEND_MIDDLE, 2, 0, MTU), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(packet(UROCE_OP_SEND_LAST, 3, 0, MTU), UROCE_VERDICT_PSN_GAP);
	/* the missing packet arrives too late, because its message is dropped already */
	assert_int_equal(packet(UROCE_OP_SEND_MIDDLE, 1, 0, MTU), UROCE_VERDICT_BAD_SEQUENCE);
	pair_expect_done(&pair, B, "");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

/* A message that breaks a rule is dropped. The QP stays in RTS and sends no response. */
static void
msg_recv_uc__faults_of_the_peer_lose_its_message(void **state)
{
	static const struct {
		uint8_t low;
		uint32_t dma_len;
		uint32_t len;
		enum uroce_verdict verdict;
	} rows[] = {
		{ UROCE_OP_SEND_MIDDLE, 0, MTU, UROCE_VERDICT_BAD_SEQUENCE },
		{ UROCE_OP_WRITE_LAST, 0, 8, UROCE_VERDICT_BAD_SEQUENCE },
		{ UROCE_OP_SEND_FIRST, 0, MTU - 4, UROCE_VERDICT_BAD_REQUEST },
		{ UROCE_OP_SEND_ONLY, 0, MTU + 4, UROCE_VERDICT_BAD_REQUEST },
		{ UROCE_OP_WRITE_ONLY, 9, 8, UROCE_VERDICT_BAD_REQUEST },
		{ UROCE_OP_WRITE_FIRST, 0x80000001, MTU, UROCE_VERDICT_BAD_REQUEST },
		{ UROCE_OP_WRITE_FIRST, 1 << 30, MTU, UROCE_VERDICT_NO_ACCESS },
		{ UROCE_OP_SEND_ONLY, 0, 200, UROCE_VERDICT_TOO_LONG },
	};

	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/*
		 * use the expected PSN: a Middle or Last packet with another PSN would be dropped
		 * because of the PSN gap
		 */
		const uint32_t psn = pair.host[B].qpc.resp.epsn;

		assert_int_equal(packet(rows[i].low, psn, rows[i].dma_len, rows[i].len),
				 rows[i].verdict);
		assert_int_equal(packet(UROCE_OP_WRITE_ONLY, psn + 1, 4, 4), UROCE_VERDICT_REQUEST);
	}
	assert_int_equal(packet(UROCE_OP_SEND_ONLY, 7, 0, 100), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 100\n");
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "");
	assert_int_equal(pair_events(&pair, B), 0);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

static void
msg_recv_uc__refused_packet_ends_its_message(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 8000);
	assert_int_equal(packet(UROCE_OP_SEND_FIRST, 0, 0, MTU), UROCE_VERDICT_REQUEST);
	assert_int_equal(packet(UROCE_OP_SEND_MIDDLE, 1, 0, MTU - 4), UROCE_VERDICT_BAD_REQUEST);
	assert_int_equal(packet(UROCE_OP_SEND_LAST, 1, 0, 4), UROCE_VERDICT_BAD_SEQUENCE);
	pair_expect_done(&pair, B, "");
}

static void
msg_recv_uc__nothing_posted_drops_the_message(void **state)
{
	(void)state;
	assert_int_equal(packet(UROCE_OP_SEND_FIRST, 0, 0, MTU), UROCE_VERDICT_NO_RECEIVE);
	pair_post_recv(&pair, B, 0, 5000);
	/* the message is lost, because no receive request was posted when it began */
	assert_int_equal(packet(UROCE_OP_SEND_LAST, 1, 0, 4), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(packet(UROCE_OP_SEND_ONLY, 2, 0, 4), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 4\n");
}

static void
msg_recv_uc__memory_of_our_own_that_is_refused(void **state)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[B].mem, .length = 100 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	(void)state;
	pair_post_recv_raw(&pair, B, &wr);
	pair_post_recv(&pair, B, 0, 100);
	assert_int_equal(packet(UROCE_OP_SEND_ONLY, 0, 0, 4), UROCE_VERDICT_LOCAL_FAULT);
	pair_expect_done(&pair, B, "recv 0 LOC_PROT_ERR\nrecv 1 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

static void
msg_recv_uc__drain_finishes_the_message_that_was_begun(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_UC);
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	conf.burst = 1;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 2; i++)
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 2000 });
	pair_run_for(&pair, 0);
	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
	assert_int_equal(pair_events(&pair, A), 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\nA>B WRITE_LAST psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 1 RDMA_WRITE SUCCESS\n");
	close_pair(state);
}

static void
msg_recv_uc__fault_in_the_middle_of_a_message(void **state)
{
	struct ibv_sge sge[2] = { { .length = 2 * MTU }, { .length = 10 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2 };

	(void)state;
	sge[0].addr = (uintptr_t)pair.host[A].mem;
	sge[0].lkey = pair.host[A].key;
	pair_post_recv(&pair, B, 0, 8000);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B SEND_FIRST psn 1\n"
				 "A>B SEND_MIDDLE psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 LOC_PROT_ERR\n");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQE);
	/*
	 * after the transition from SQE to RTS the next message has the PSN behind the last packet
	 * that was sent
	 */
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 3\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
}

static void
msg_recv_uc__unsignaled_requests_leave_no_entry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_UC);

	conf.is_unsignaled = true;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 3; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE,
					     .len = 10,
					     .flags = i == 1 ? IBV_SEND_SIGNALED : 0 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 1 RDMA_WRITE SUCCESS\n");
	assert_true(uroce_wq_is_empty(&pair.host[A].sq));
	close_pair(state);
}

static void
msg_recv__receive_scatters_to_many_elements(void **state)
{
	struct ibv_sge sge[3];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 3 };
	const uint8_t *mem = pair.host[B].mem;

	(void)state;
	sge[0] = (struct ibv_sge){ (uintptr_t)mem, 1000, pair.host[B].key };
	sge[1] = (struct ibv_sge){ (uintptr_t)mem + 3000, 1, pair.host[B].key };
	sge[2] = (struct ibv_sge){ (uintptr_t)mem + 5000, 4000, pair.host[B].key };
	pair_post_recv_raw(&pair, B, &wr);
	pair_fill(&pair, A, 0, 2500, 1);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 2500 });
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 2500\n");
	assert_true(pair_is_equal(&pair, 0, 0, 1000));
	assert_true(pair_is_equal(&pair, 1000, 3000, 1));
	assert_true(pair_is_equal(&pair, 1001, 5000, 1499));
	assert_int_equal(mem[1000] | mem[3001] | mem[6499], 0);
}

#define MSG_TEST(name) cmocka_unit_test_setup_teardown(name, open_uc, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		MSG_TEST(msg_recv_uc__send_and_write_are_never_answered),
		MSG_TEST(msg_recv_uc__long_message_needs_no_window),
		cmocka_unit_test(msg_recv_uc__a_gap_loses_its_message_and_no_other),
		MSG_TEST(msg_recv_uc__whole_messages_lost_are_not_missed),
		MSG_TEST(msg_recv_uc__first_begins_anew_whatever_came_before),
		MSG_TEST(msg_recv_uc__rest_of_a_lost_message_is_dropped),
		MSG_TEST(msg_recv_uc__faults_of_the_peer_lose_its_message),
		MSG_TEST(msg_recv_uc__refused_packet_ends_its_message),
		MSG_TEST(msg_recv_uc__keys_are_not_guessed_at_wire_speed),
		MSG_TEST(msg_recv_uc__guesses_end_with_a_reset),
		MSG_TEST(msg_recv_uc__nothing_posted_drops_the_message),
		MSG_TEST(msg_recv_uc__memory_of_our_own_that_is_refused),
		cmocka_unit_test(msg_recv_uc__drain_finishes_the_message_that_was_begun),
		MSG_TEST(msg_recv_uc__fault_in_the_middle_of_a_message),
		cmocka_unit_test(msg_recv_uc__unsignaled_requests_leave_no_entry),
		MSG_TEST(msg_recv__receive_scatters_to_many_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
