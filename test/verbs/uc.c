/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections: a request completes when it was sent. Its message arrives if the cable
 * loses no packet of it.
 */

#include "net.h"

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UC });
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

static void
send__arrives(void **state)
{
	static const uint32_t lens[] = { 0, 1, 1023, 1024, 1025, 20000 };

	(void)state;
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		fill(net.a.buf, 20000, i);
		post_recv(&net.b, 100 + i, sge_of(&net.b, 0, 20000));
		post_send(&net.a, IBV_WR_SEND_WITH_IMM, i, sge_of(&net.a, 0, lens[i]));
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 100 + i, IBV_WC_SUCCESS);

		assert_int_equal(wc.byte_len, lens[i]);
		assert_int_equal(wc.imm_data, 0x01020304);
		assert_memory_equal(net.b.buf, net.a.buf, lens[i]);
	}
}

static void
send__without_a_receive_request_is_lost(void **state)
{
	(void)state;
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, 3000));
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_none(&net);
	/* the message after the one that was not received arrives completely */
	post_recv(&net.b, 5, sge_of(&net.b, 0, 3000));
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, 3000));
	expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
}

static void
write__arrives(void **state)
{
	(void)state;
	fill(net.a.buf, 20000, 9);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 20000), 0);
	post_recv(&net.b, 5, sge_of(&net.b, 0, 0));
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE_WITH_IMM, 2, sge_of(&net.a, 0, 10), 30000);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);

	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_memory_equal(net.b.buf, net.a.buf, 20000);
	assert_memory_equal(net.b.buf + 30000, net.a.buf, 10);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__arrives),
		TEST(send__without_a_receive_request_is_lost),
		TEST(write__arrives),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
