/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failed requests: the status of the failed request at each side, and the status of the requests
 * behind it.
 */

#include "net.h"

#include <rte_cycles.h>

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	return 0;
}

/*
 * Connect without RNR retries. The ACK timeout is long, because a response is late where the
 * machine is busy.
 */
static int
setup_without_rnr_retry(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC,
					     .timeout = 18, /* code of an ACK timeout of 1.07 s */
					     .is_impatient = true,
					     .retry_cnt = 7,
					     .rnr_retry = 0 });
	pair_connect(&net);
	return 0;
}

/* Connect so that a request without a response fails soon. */
static int
setup_impatient(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC,
					     .timeout = 8, /* code of an ACK timeout of 1 ms */
					     .is_impatient = true,
					     .retry_cnt = 1 });
	pair_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/* Post valid requests behind the one that must fail, on both queues of a's QP. */
static void
post_followers(void)
{
	for (uint64_t i = 1; i < 4; i++)
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 8), 100);
	for (uint64_t i = 10; i < 12; i++)
		post_recv(&net.a, i, sge_of(&net.a, 0, 8));
}

/*
 * Check that the first request of a fails with `status`, that all others are flushed in order, and
 * that the QP is in ERR.
 */
static void
expect_failure(enum ibv_wc_status status)
{
	expect_wc(&net, net.a.scq, 0, status);
	for (uint64_t i = 1; i < 4; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_WR_FLUSH_ERR);
	for (uint64_t i = 10; i < 12; i++)
		expect_wc(&net, net.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(&net.a), IBV_QPS_ERR);
	assert_int_equal(net.b.buf[100], 0); /* no request behind the failed one was sent */
}

static void
post_write(uint32_t lkey, uint32_t rkey, uint64_t remote_addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)net.a.buf, len, lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 0,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { remote_addr, rkey },
	};

	memset(net.a.buf, 0xff, 100);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
}

static void
bad_lkey__is_a_local_protection_error(void **state)
{
	(void)state;
	post_write(net.a.mr->lkey ^ 1, net.b.mr->rkey, (uintptr_t)net.b.buf, 8);
	post_followers();
	expect_failure(IBV_WC_LOC_PROT_ERR);
	/* the QP of b has received nothing of the request */
	assert_int_equal(state_of(&net.b), IBV_QPS_RTS);
}

static void
deregistered_lkey__is_a_local_protection_error(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.a.pd, net.a.buf, 100, 0);
	const uint32_t lkey = mr->lkey;

	(void)state;
	assert_int_equal(uroce_dereg_mr(mr), 0);
	post_write(lkey, net.b.mr->rkey, (uintptr_t)net.b.buf, 8);
	post_followers();
	expect_failure(IBV_WC_LOC_PROT_ERR);
}

static void
lkey_of_another_pd__is_a_local_protection_error(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(net.a.context);
	struct ibv_mr *mr = uroce_reg_mr(pd, net.a.buf, 100, 0);

	(void)state;
	post_write(mr->lkey, net.b.mr->rkey, (uintptr_t)net.b.buf, 8);
	post_followers();
	expect_failure(IBV_WC_LOC_PROT_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

static void
range_past_the_region__is_a_local_protection_error(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.a.pd, net.a.buf, 5000, 0);

	(void)state;
	post_write(mr->lkey, net.b.mr->rkey, (uintptr_t)net.b.buf + 1000, 5001);
	post_followers();
	expect_failure(IBV_WC_LOC_PROT_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
expect_access_error_at_b(void)
{
	struct ibv_async_event event;

	expect_failure(IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_ERR);
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	while (event.event_type == IBV_EVENT_COMM_EST) {
		uroce_ack_async_event(&event);
		assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	}
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
}

/* A READ fails if max_rd_atomic is 0, so that no READ may be outstanding. */
static void
read__where_none_may_be_out_is_a_local_operation_error(void **state)
{
	struct ibv_qp_attr none = { .max_rd_atomic = 0 };

	(void)state;
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	assert_int_equal(uroce_modify_qp(net.a.qp, &none, IBV_QP_MAX_QP_RD_ATOMIC), 0);
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), 0);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 0, sge_of(&net.a, 0, 8), 0);
	post_followers();
	expect_failure(IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_RTS);
}

static void
bad_rkey__is_a_remote_access_error(void **state)
{
	(void)state;
	post_write(net.a.mr->lkey, net.b.mr->rkey ^ 1, (uintptr_t)net.b.buf, 8);
	post_followers();
	expect_access_error_at_b();
}

static void
range_past_the_peers_region__is_a_remote_access_error(void **state)
{
	(void)state;
	post_write(net.a.mr->lkey, net.b.mr->rkey, (uintptr_t)net.b.buf + BUF_LEN - 7, 8);
	post_followers();
	expect_access_error_at_b();
	assert_int_equal(net.b.buf[BUF_LEN - 7], 0);
}

static void
region_without_the_right__is_a_remote_access_error(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, 100,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);

	(void)state;
	post_write(net.a.mr->lkey, mr->rkey, (uintptr_t)net.b.buf, 8);
	post_followers();
	expect_access_error_at_b();
	assert_int_equal(net.b.buf[0], 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
send__longer_than_the_receive_request(void **state)
{
	(void)state;
	post_recv(&net.b, 20, sge_of(&net.b, 200, 10));
	post_recv(&net.b, 21, sge_of(&net.b, 200, 10));
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 11));
	post_followers();
	expect_failure(IBV_WC_REM_INV_REQ_ERR);
	expect_wc(&net, net.b.rcq, 20, IBV_WC_LOC_LEN_ERR);
	expect_wc(&net, net.b.rcq, 21, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_ERR);
}

static void
send__into_memory_without_the_right(void **state)
{
	/* the receive request is in a region without access rights */
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, 100, 0);
	struct ibv_sge sge = { (uintptr_t)net.b.buf, 100, mr->lkey };

	(void)state;
	post_recv(&net.b, 20, sge);
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 11));
	post_followers();
	expect_failure(IBV_WC_REM_OP_ERR);
	expect_wc(&net, net.b.rcq, 20, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
send__to_a_receiver_that_is_never_ready(void **state)
{
	(void)state;
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 11));
	post_followers();
	expect_failure(IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(state_of(&net.b), IBV_QPS_RTS);
}

static void
send__to_a_receiver_that_is_ready_later(void **state)
{
	(void)state;
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, 11));
	expect_none(&net);
	post_recv(&net.b, 2, sge_of(&net.b, 0, 11));
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);
}

/* The simulator checks that the failure comes within the budget of the retries. */
static void
peer_gone__is_an_error_after_all_retries(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 0, sge_of(&net.a, 0, 8), 0);
	post_followers();
	expect_failure(IBV_WC_RETRY_EXC_ERR);
}

static void
to_err__flushes_what_waits_in_sqd(void **state)
{
	(void)state;
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	post_followers();
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	for (uint64_t i = 1; i < 4; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_WR_FLUSH_ERR);
	for (uint64_t i = 10; i < 12; i++)
		expect_wc(&net, net.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
	expect_none(&net);
}

static void
after_an_error__a_qp_can_be_connected_again(void **state)
{
	(void)state;
	post_write(net.a.mr->lkey, net.b.mr->rkey ^ 1, (uintptr_t)net.b.buf, 8);
	expect_wc(&net, net.a.scq, 0, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	pair_connect(&net);
	post_write(net.a.mr->lkey, net.b.mr->rkey, (uintptr_t)net.b.buf, 8);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(net.b.buf[7], 0xff);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bad_lkey__is_a_local_protection_error),
		TEST(deregistered_lkey__is_a_local_protection_error),
		TEST(lkey_of_another_pd__is_a_local_protection_error),
		TEST(range_past_the_region__is_a_local_protection_error),
		TEST(read__where_none_may_be_out_is_a_local_operation_error),
		TEST(bad_rkey__is_a_remote_access_error),
		TEST(range_past_the_peers_region__is_a_remote_access_error),
		TEST(region_without_the_right__is_a_remote_access_error),
		TEST(send__longer_than_the_receive_request),
		TEST(send__into_memory_without_the_right),
		cmocka_unit_test_setup_teardown(send__to_a_receiver_that_is_never_ready,
						setup_without_rnr_retry, teardown),
		TEST(send__to_a_receiver_that_is_ready_later),
		cmocka_unit_test_setup_teardown(peer_gone__is_an_error_after_all_retries,
						setup_impatient, teardown),
		TEST(to_err__flushes_what_waits_in_sqd),
		TEST(after_an_error__a_qp_can_be_connected_again),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
