/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions: the content of an entry, the order of entries, events, and a full completion queue.
 */

#include "rc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct pair_wr write_10 = { .opcode = IBV_WR_RDMA_WRITE, .len = 10 };
static const struct pair_wr send_10 = { .opcode = IBV_WR_SEND, .len = 10 };

static struct ibv_wc
poll_one(struct uroce_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_cq_poll(cq, 1, &wc), 1);
	return wc;
}

static void
completion_send__every_opcode_has_its_own(void **state)
{
	static const struct {
		enum ibv_wr_opcode posted;
		enum ibv_wc_opcode completed;
	} rows[] = {
		{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE },
		{ IBV_WR_SEND, IBV_WC_SEND },
		{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND },
		{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pair_post_recv(&pair, B, 0, 10);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = rows[i].posted, .len = 8 });
	}
	pair.now_ns = 77000;
	pair_run(&pair);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct uroce_cqe *cqe =
			uroce_ring_at(&pair.host[A].send_cq.ring, (uint32_t)i);
		const struct ibv_wc wc = poll_one(&pair.host[A].send_cq);

		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.opcode, rows[i].completed);
		assert_int_equal(wc.byte_len, 8);
		assert_int_equal(wc.qp_num, pair.host[A].qpc.qpn);
		assert_int_equal(wc.vendor_err, 0);
		assert_int_equal(wc.wc_flags, 0);
		assert_ptr_equal(cqe->qp, &pair.host[A]);
		assert_true(cqe->timestamp_ns >= 77000);
	}
}

static void
completion_recv__says_what_arrived(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
				     .len = 10,
				     .imm = 0xaabbccdd,
				     .flags = IBV_SEND_SOLICITED });
	pair_run(&pair);
	const struct uroce_cqe *cqe = uroce_ring_at(&pair.host[B].recv_cq.ring, 0);
	const struct ibv_wc wc = poll_one(&pair.host[B].recv_cq);

	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 10);
	assert_int_equal(wc.imm_data, 0xaabbccdd);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.qp_num, pair.host[B].qpc.qpn);
	assert_true(cqe->is_solicited);
	assert_ptr_equal(cqe->qp, &pair.host[B]);
}

static void
completion_send__the_consumer_is_notified_once_for_a_batch(void **state)
{
	(void)state;
	uroce_cq_arm(&pair.host[A].send_cq, false);
	for (unsigned i = 0; i < 5; i++)
		pair_post(&pair, A, &write_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SEND_CQ_EVENT);
	pair_post(&pair, A, &write_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, A), 0);
}

static void
completion_flush__wakes_who_waits_for_solicited(void **state)
{
	(void)state;
	pair_post(&pair, A, &write_10);
	pair_post_recv(&pair, A, 0, 10);
	uroce_cq_arm(&pair.host[A].send_cq, true);
	uroce_cq_arm(&pair.host[A].recv_cq, true);
	uroce_qpc_fail(&pair.host[A].qpc, 0);
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SEND_CQ_EVENT | UROCE_QPC_RECV_CQ_EVENT);
}

static void
completion_flush__unsignaled_requests_leave_an_entry_too(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.is_unsignaled = true;
	pair_open(&pair, &conf);
	pair_post(&pair, A, &write_10);
	pair_post(&pair, A, &write_10);
	uroce_qpc_fail(&pair.host[A].qpc, 0);
	pair_expect_done(&pair, A, "send 0 WR_FLUSH_ERR\nsend 1 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completion_send__entries_that_do_not_fit_are_an_overrun(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct ibv_wc wc;

	conf.cq_len = 3;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 3; i++)
		pair_post(&pair, A, &write_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, A), 0);
	pair_post(&pair, A, &write_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SEND_CQ_OVERRUN);
	/* fail the QP, as its owner must do after an overrun */
	uroce_qpc_fail(&pair.host[A].qpc, pair.now_ns);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\n");
	assert_int_equal(uroce_cq_poll(&pair.host[A].send_cq, 1, &wc), -EOVERFLOW);
	close_pair(state);
}

static void
completion_recv__entries_that_do_not_fit_are_an_overrun(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.cq_len = 1;
	pair_open(&pair, &conf);
	pair_post_recv(&pair, B, 0, 10);
	pair_post_recv(&pair, B, 0, 10);
	pair_post(&pair, A, &send_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, B), 0);
	pair_post(&pair, A, &send_10);
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_RECV_CQ_OVERRUN);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
	close_pair(state);
}

static void
completion_flush__overrun_while_flushing(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.cq_len = 2;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 3; i++) {
		pair_post(&pair, A, &write_10);
		pair_post_recv(&pair, A, 0, 10);
	}
	uroce_qpc_fail(&pair.host[A].qpc, 0);
	assert_int_equal(pair_events(&pair, A),
			 UROCE_QPC_SEND_CQ_OVERRUN | UROCE_QPC_RECV_CQ_OVERRUN);
	pair_expect_done(&pair, A,
			 "send 0 WR_FLUSH_ERR\nsend 1 WR_FLUSH_ERR\n"
			 "recv 0 WR_FLUSH_ERR\nrecv 1 WR_FLUSH_ERR\n");
	close_pair(state);
}

static void
completion_send__queue_of_one_for_both_directions(void **state)
{
	(void)state;
	pair.host[A].qpc.recv_cq = &pair.host[A].send_cq;
	pair_post_recv(&pair, A, 0, 10);
	pair_post_recv(&pair, B, 0, 10);
	pair_post(&pair, A, &send_10);
	pair_post(&pair, B, &send_10);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RECV SUCCESS\nsend 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "send 0 SEND SUCCESS\nrecv 0 RECV SUCCESS 10\n");
}

#define DONE_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		DONE_TEST(completion_send__every_opcode_has_its_own),
		DONE_TEST(completion_recv__says_what_arrived),
		DONE_TEST(completion_send__the_consumer_is_notified_once_for_a_batch),
		DONE_TEST(completion_flush__wakes_who_waits_for_solicited),
		cmocka_unit_test(completion_flush__unsignaled_requests_leave_an_entry_too),
		cmocka_unit_test(completion_send__entries_that_do_not_fit_are_an_overrun),
		cmocka_unit_test(completion_recv__entries_that_do_not_fit_are_an_overrun),
		cmocka_unit_test(completion_flush__overrun_while_flushing),
		DONE_TEST(completion_send__queue_of_one_for_both_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
