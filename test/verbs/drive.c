/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that run with each kind of thread that can drive a worker: threads of the program that poll
 * a CQ, an lcore of DPDK, and a loop of the program that calls uroce_worker_poll().
 */

#include "net.h"

static struct pair net;

static int
setup_app(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "drive=app" });
	return 0;
}

static int
setup_lcore(void **state)
{
	(void)state;
	/* a long ACK timeout: the lcores spin on CPUs that a busy machine gives to others */
	pair_open(&net,
		  &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "drive=lcore", .timeout = 18 });
	return 0;
}

static int
setup_none(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){
				.type = IBV_QPT_RC, .keys = "drive=none", .is_driven = true });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/* Connect the QPs, transfer data, query, fail and reset the QPs. Repeat that three times. */
static void
life(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		pair_connect(&net);
		fill(net.a.buf, 20000, round);
		post_recv(&net.b, 1, sge_of(&net.b, 0, 20000));
		post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, 20000));
		expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
		expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
		assert_memory_equal(net.b.buf, net.a.buf, 20000);
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 3, sge_of(&net.a, 30000, 20000), 0);
		expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
		assert_memory_equal(net.a.buf + 30000, net.b.buf, 20000);
		assert_int_equal(state_of(&net.a), IBV_QPS_RTS);
		assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
		post_recv(&net.a, 4, sge_of(&net.a, 0, 1));
		expect_wc(&net, net.a.rcq, 4, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
		assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	}
}

static void
event__wakes_who_sleeps(void **state)
{
	struct ibv_comp_channel *channel = uroce_create_comp_channel(net.b.context);
	struct ibv_cq *cq = uroce_create_cq(net.b.context, 16, &net, channel, 0), *from;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
	};
	void *context;

	(void)state;
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_non_null(net.b.qp = uroce_create_qp(net.b.pd, &init));
	pair_connect(&net);
	post_recv(&net.b, 1, sge_of(&net.b, 0, 100));
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, 100));
	assert_int_equal(uroce_get_cq_event(channel, &from, &context), 0);
	assert_ptr_equal(from, cq);
	uroce_ack_cq_events(cq, 1);
	expect_wc(&net, cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

/*
 * A region is deregistered while a peer writes to it. After the call no request writes to the
 * memory, and the requests complete or are refused.
 */
static void
dereg__beside_traffic(void **state)
{
	struct ibv_mr *mr =
		uroce_reg_mr(net.b.pd, net.b.buf, 100000, IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);
	struct ibv_sge sge = sge_of(&net.a, 0, 100000);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	wr.wr.rdma.rkey = mr->rkey;
	pair_connect(&net);
	memset(net.a.buf, 1, 100000);
	for (unsigned i = 0; i < NB_WR; i++)
		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	wc = wait_for(&net, net.a.scq);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	/* the region is deregistered, so no request may write to the memory */
	memset(net.b.buf, 2, 100000);
	for (unsigned i = 1; i < NB_WR && wc.status == IBV_WC_SUCCESS; i++)
		wc = wait_for(&net, net.a.scq);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(net.b.buf[i], 2);
	assert_true(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR);
}

#define EACH(test)                                                                                 \
	{ #test "__app", test, setup_app, teardown, NULL },                                        \
		{ #test "__lcore", test, setup_lcore, teardown, NULL },                            \
	{                                                                                          \
#test "__none", test, setup_none, teardown, NULL                                   \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(life),
		EACH(event__wakes_who_sleeps),
		EACH(dereg__beside_traffic),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
