/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SQD [IBA 10.3.1.5]: the send queue finishes the requests that it has begun, and waits. When it
 * has drained, it raises an event if the program has asked for the event.
 */

#include "rc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

/* --- draining of the send queue --- */

static void
set_sqd(bool has_event)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
					  .en_sqd_async_notify = has_event };

	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			 0);
}

static bool
is_draining(void)
{
	struct ibv_qp_attr attr;

	uroce_qpc_query(&pair.host[A].qpc, &attr);
	return attr.sq_draining;
}

static void
req_send__drain_finishes_what_was_begun(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.burst = 1;
	pair_open(&pair, &conf);
	post_writes(2, 2048);
	pair_run_for(&pair, 0);
	set_sqd(true);
	assert_true(is_draining());
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST psn 1 A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
	assert_false(is_draining());
	/* after the transition to RTS the queue continues with the next request */
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 1 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair_events(&pair, A), 0);
	pair_close(&pair);
}

static void
req_send__drain_behind_a_packet_that_did_not_ask(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.burst = 1;
	pair_open(&pair, &conf);
	post_writes(3, 10);
	pair_run_for(&pair, PAIR_GAP_NS);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\nA>B WRITE_ONLY psn 1\n");
	set_sqd(true);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 1 A\nB>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
	/* after the transition to RTS the queue sends its requests as before */
	post_writes(1, 10);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 2\nA>B WRITE_ONLY psn 3 A\nB>A ACK psn 3\n");
	pair_close(&pair);
}

static void
req_send__drain_of_an_idle_queue_is_done_at_once(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct pair_conf conf = pair_conf(types[i]);

		pair_open(&pair, &conf);
		set_sqd(true);
		assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
		pair_set_state(&pair, A, IBV_QPS_RTS);
		set_sqd(false);
		assert_int_equal(pair_events(&pair, A), 0);
		assert_false(is_draining());
		pair_close(&pair);
	}
}

static void
attr_modify__event_of_a_drained_queue_is_asked_for_each_time(void **state)
{
	(void)state;
	open_pair(NULL);
	set_sqd(true);
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	/* without en_sqd_async_notify no event is raised */
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(pair_events(&pair, A), 0);
	pair_close(&pair);
}

static void
req_send__drain_given_up_raises_nothing(void **state)
{
	(void)state;
	open_pair(NULL);
	post_writes(1, 10);
	pair_flush(&pair, A);
	set_sqd(true);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair_events(&pair, A), 0);
	pair_close(&pair);
}

static void
req_send__drain_waits_for_reads(void **state)
{
	(void)state;
	open_pair(NULL);
	post_read(4000);
	pair_run_for(&pair, 0);
	set_sqd(true);
	assert_true(is_draining());
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, A), UROCE_QPC_SQ_DRAINED);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req_send__drain_finishes_what_was_begun),
		cmocka_unit_test(req_send__drain_behind_a_packet_that_did_not_ask),
		cmocka_unit_test(req_send__drain_of_an_idle_queue_is_done_at_once),
		cmocka_unit_test(attr_modify__event_of_a_drained_queue_is_asked_for_each_time),
		cmocka_unit_test(req_send__drain_given_up_raises_nothing),
		cmocka_unit_test(req_send__drain_waits_for_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
