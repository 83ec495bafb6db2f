/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * XRC [IBA A14]: an initiator, which names a shared receive queue in each request, and a target,
 * which serves all shared receive queues of its XRC domain with the keys of each queue's PD.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct pair pair;

static int
open_xrc(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_XRC_SEND);

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
expect_refused(const char *nak)
{
	char trace[64];

	pair_flush(&pair, B);
	snprintf(trace, sizeof(trace), "B>A %s\n", nak);
	pair_expect_trace(&pair, trace);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

static void
xrc__every_operation(void **state)
{
	(void)state;
	pair_fill(&pair, A, 0, 4000, 1);
	pair_post_recv(&pair, B, 0, 4096);
	pair_post_recv(&pair, B, 0, 0);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				     .len = 2000,
				     .remote = 8192,
				     .imm = 7 });
	pair_post(
		&pair, A,
		&(struct pair_wr){
			.opcode = IBV_WR_RDMA_READ, .len = 2000, .local = 65536, .remote = 8192 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .local = 128 * 1024,
				     .remote = 128 * 1024,
				     .compare_add = 3 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2\n"
				 "A>B WRITE_FIRST psn 3\n"
				 "A>B WRITE_LAST_IMM psn 4\n"
				 "A>B READ_REQUEST psn 5 len 2000\n"
				 "A>B FETCH_ADD psn 7\n"
				 "B>A READ_RESPONSE_FIRST psn 5\n"
				 "B>A READ_RESPONSE_LAST psn 6\n"
				 "B>A ATOMIC_ACK psn 7\n");
	pair_expect_done(&pair, A,
			 "send 0 SEND SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 FETCH_ADD SUCCESS\n");
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 3000\n"
			 "recv 1 RECV_RDMA_WITH_IMM SUCCESS 2000 imm 00000007\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
	assert_true(pair_is_equal(&pair, 65536, 8192, 2000));
	assert_int_equal(pair.host[B].mem[128 * 1024], 3);
}

static void
xrc__loss_is_recovered(void **state)
{
	(void)state;
	pair_fill(&pair, A, 0, 3000, 1);
	pair_post_recv(&pair, B, 0, 4096);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 3000, .local = 65536 });
	pair_lose(&pair, A, 1);
	pair_lose(&pair, B, 2);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\nsend 1 RDMA_READ SUCCESS\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
	assert_true(pair_is_equal(&pair, 65536, 0, 3000));
}

static void
xrc__no_receive_is_rnr(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_run_for(&pair, 3 * PAIR_LATENCY_NS);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0 A\nB>A RNR_NAK psn 0\n");
	pair_post_recv(&pair, B, 0, 10);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
}

static void
xrc__queue_of_another_domain_or_of_nobody(void **state)
{
	const uint32_t srqns[] = { 0, 2, 3, 0xffffff };

	for (unsigned i = 0; i < 4; i++) {
		open_xrc(state);
		assert_int_equal(pair.host[B].other_srq.srqn, 2);
		assert_int_equal(pair_inject(&pair, B,
					     &(struct pair_pkt){ .opcode = UROCE_SERVICE_XRC << 5 |
									   UROCE_OP_SEND_ONLY,
								 .srqn = srqns[i] }),
				 UROCE_VERDICT_BAD_REQUEST);
		expect_refused("NAK_INV_REQUEST psn 0");
		close_pair(state);
	}
}

static void
xrc__queue_changes_inside_a_message(void **state)
{
	struct pair_pkt pkt = {
		.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_FIRST,
		.payload_len = 1024,
		.srqn = pair.host[B].srq.srqn,
	};

	(void)state;
	pair.host[B].other_srq.xrcd = pair.host[B].srq.xrcd;
	pair_post_recv(&pair, B, 0, 4096);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pkt.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_LAST;
	pkt.psn = 1;
	pkt.srqn = pair.host[B].other_srq.srqn;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_BAD_REQUEST);
	expect_refused("NAK_INV_REQUEST psn 1");
	pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
}

static void
xrc__keys_are_of_the_queues_domain(void **state)
{
	(void)state;
	pair.host[B].srq.pdn++;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 REM_ACCESS_ERR\n");
}

/* A READ response is repeated with the protection domain with which the READ was accepted. */
static void
xrc__read_is_repeated_in_the_domain_that_granted_it(void **state)
{
	struct pair_pkt pkt = {
		.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_READ_REQUEST,
		.va = (uintptr_t)pair.host[B].mem,
		.rkey = pair.host[B].key,
		.dma_len = 8,
		.srqn = pair.host[B].srq.srqn,
	};

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pair_flush(&pair, B);
	/* change pdn of the QP, as a request for a shared receive queue with another PD does */
	pair.host[B].qpc.pdn++;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_DUPLICATE);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A READ_RESPONSE_ONLY psn 0\nB>A READ_RESPONSE_ONLY psn 0\n");
}

static void
xrc__each_end_has_one_role(void **state)
{
	(void)state;
	assert_int_equal(pair_inject(&pair, A,
				     &(struct pair_pkt){ .opcode = UROCE_SERVICE_XRC << 5 |
								   UROCE_OP_SEND_ONLY }),
			 UROCE_VERDICT_WRONG_SERVICE);
	assert_int_equal(
		pair_inject(&pair, B,
			    &(struct pair_pkt){ .opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_ACK,
						.syndrome = 0x1f }),
		UROCE_VERDICT_WRONG_SERVICE);
	assert_int_equal(pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_SEND_ONLY }),
			 UROCE_VERDICT_WRONG_SERVICE);
}

static void
xrc__states_of_a_target_without_a_send_queue(void **state)
{
	const struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	(void)state;
	assert_int_equal(pair_modify(&pair, B, &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_SQ_DRAINED);
	assert_int_equal(uroce_qpc_cancel(&pair.host[B].qpc, 0), 0);
	/* the target still receives in SQD */
	pair_post_recv(&pair, B, 0, 100);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
	pair_set_state(&pair, B, IBV_QPS_RTS);
	pair_set_state(&pair, B, IBV_QPS_ERR);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, B), 0);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	pair_set_state(&pair, A, IBV_QPS_ERR);
	pair_set_state(&pair, A, IBV_QPS_RESET);
}

static void
xrc__reset_of_a_target_takes_its_completions_along(void **state)
{
	struct pair_pkt pkt = {
		.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_ONLY,
		.payload_len = 8,
		.srqn = pair.host[B].srq.srqn,
	};

	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	pair_post_recv(&pair, B, 0, 2000);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pkt.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_FIRST;
	pkt.psn = 1;
	pkt.payload_len = 1024;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	pair_expect_done(&pair, B, "");
	assert_int_equal(pair.host[B].srq.nb_posted, 1);
	assert_null(pair.host[B].qpc.srq);
	/* after RESET the target can be connected again */
	pair_bring_up(&pair, B, IBV_QPS_RTS);
	pkt.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_ONLY;
	pkt.psn = 0;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 1 RECV SUCCESS 1024\n");
}

static void
qpc_limited_srq__names_each_queue_that_fell(void **state)
{
	static _Alignas(64) uint8_t mem[4096];
	struct uroce_srq *first = &pair.host[B].srq, *second = &pair.host[B].other_srq;
	const uint32_t srqn = second->srqn;
	const struct uroce_srq_conf conf = {
		.max_wr = 2, .max_sge = 1, .pdn = first->pdn, .xrcd = first->xrcd, .cq = first->cq
	};
	const struct ibv_recv_wr nothing = { .wr_id = 9 };
	struct pair_pkt pkt = { .opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_ONLY };

	(void)state;
	uroce_srq_init(second, mem, &conf);
	second->srqn = srqn;
	assert_int_equal(uroce_srq_post(second, &nothing), 0);
	pair_post_recv(&pair, B, 0, 0);
	assert_false(uroce_srq_arm(first, 1));
	assert_false(uroce_srq_arm(second, 1));
	assert_null(uroce_qpc_limited_srq(&pair.host[B].qpc));
	pkt.srqn = first->srqn;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	pkt.psn = 1;
	pkt.srqn = second->srqn;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair_events(&pair, B) & UROCE_QPC_SRQ_LIMIT, UROCE_QPC_SRQ_LIMIT);
	assert_ptr_equal(uroce_qpc_limited_srq(&pair.host[B].qpc), first);
	assert_ptr_equal(uroce_qpc_limited_srq(&pair.host[B].qpc), second);
	assert_null(uroce_qpc_limited_srq(&pair.host[B].qpc));
}

static void
qpc_event_srq__names_the_queue_that_has_new_completions(void **state)
{
	struct pair_pkt pkt = { .opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_ONLY,
				.srqn = pair.host[B].srq.srqn };
	const struct uroce_qpc *qpc = &pair.host[B].qpc;
	uint8_t event = 9;

	(void)state;
	assert_null(uroce_qpc_event_srq(qpc, &event));
	pair_post_recv(&pair, B, 0, 0);
	uroce_cq_arm(&pair.host[B].recv_cq, false);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair_events(&pair, B) & UROCE_QPC_RECV_CQ_EVENT, UROCE_QPC_RECV_CQ_EVENT);
	assert_ptr_equal(uroce_qpc_event_srq(qpc, &event), &pair.host[B].srq);
	assert_int_equal(event, UROCE_SRQ_CQ_EVENT);
	assert_null(uroce_qpc_event_srq(qpc, &event));
}

static void
qpc_event_srq__names_the_queue_whose_completions_do_not_fit(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_XRC_SEND);
	struct pair_pkt pkt = { .opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_ONLY };
	uint32_t events = 0;
	uint8_t event;

	(void)state;
	conf.cq_len = 2;
	pair_open(&pair, &conf);
	pkt.srqn = pair.host[B].srq.srqn;
	for (pkt.psn = 0; pkt.psn < 16 && !(events & UROCE_QPC_RECV_CQ_OVERRUN); pkt.psn++) {
		pair_post_recv(&pair, B, 0, 0);
		assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
		events |= pair_events(&pair, B);
	}
	assert_int_equal(events & UROCE_QPC_RECV_CQ_OVERRUN, UROCE_QPC_RECV_CQ_OVERRUN);
	assert_ptr_equal(uroce_qpc_event_srq(&pair.host[B].qpc, &event), &pair.host[B].srq);
	assert_int_equal(event & UROCE_SRQ_CQ_OVERRUN, UROCE_SRQ_CQ_OVERRUN);
	pair_close(&pair);
}

static void
qpc_forget_srq__cuts_off_the_message_that_uses_it(void **state)
{
	struct pair_pkt pkt = {
		.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_FIRST,
		.payload_len = 1024,
		.srqn = pair.host[B].srq.srqn,
	};

	(void)state;
	pair_post_recv(&pair, B, 0, 4096);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	uroce_qpc_forget_srq(&pair.host[B].qpc, &pair.host[B].other_srq);
	assert_int_equal(pair.host[B].srq.nb_posted, 0);
	uroce_qpc_forget_srq(&pair.host[B].qpc, &pair.host[B].srq);
	assert_int_equal(pair.host[B].srq.nb_posted, 1);
	pkt.opcode = UROCE_SERVICE_XRC << 5 | UROCE_OP_SEND_LAST;
	pkt.psn = 1;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_BAD_SEQUENCE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_xrc, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(xrc__every_operation),
		TEST(xrc__loss_is_recovered),
		TEST(xrc__no_receive_is_rnr),
		cmocka_unit_test(xrc__queue_of_another_domain_or_of_nobody),
		TEST(xrc__queue_changes_inside_a_message),
		TEST(xrc__keys_are_of_the_queues_domain),
		TEST(xrc__read_is_repeated_in_the_domain_that_granted_it),
		TEST(xrc__each_end_has_one_role),
		TEST(xrc__states_of_a_target_without_a_send_queue),
		TEST(xrc__reset_of_a_target_takes_its_completions_along),
		TEST(qpc_limited_srq__names_each_queue_that_fell),
		TEST(qpc_event_srq__names_the_queue_that_has_new_completions),
		cmocka_unit_test(qpc_event_srq__names_the_queue_whose_completions_do_not_fit),
		TEST(qpc_forget_srq__cuts_off_the_message_that_uses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
