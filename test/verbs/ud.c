/* SPDX-License-Identifier: BSD-3-Clause */
/* UD: datagrams, Q_Keys and address handles. */

#include "net.h"

#include <arpa/inet.h>

#define GRH 40u
#define MTU 1024u

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD, .keys = "mtu=1024" });
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
send_to(struct ibv_ah *ah, uint64_t wr_id, uint32_t len, uint32_t qkey)
{
	struct ibv_sge sge = sge_of(&net.a, 0, len);
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = 0x01020304,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = net.b.qp->qp_num, .remote_qkey = qkey },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
}

static void
send__arrives_behind_its_header(void **state)
{
	static const uint32_t lens[] = { 0, 1, 3, 1000, MTU };
	struct ibv_ah *ah = ah_to(&net.a, &net.b);

	(void)state;
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		fill(net.a.buf, MTU, i);
		memset(net.b.buf, 0, 2 * MTU);
		post_recv(&net.b, 100 + i, sge_of(&net.b, 0, GRH + MTU));
		send_to(ah, i, lens[i], QKEY);
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 100 + i, IBV_WC_SUCCESS);

		assert_int_equal(wc.byte_len, GRH + lens[i]);
		assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, 0x01020304);
		assert_int_equal(wc.src_qp, net.a.qp->qp_num);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_memory_equal(net.b.buf + GRH, net.a.buf, lens[i]);
	}
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
grh__holds_the_ipv4_header(void **state)
{
	static const uint8_t addrs[] = { 192, 0, 2, 1, 192, 0, 2, 2 };
	struct ibv_ah *ah = ah_to(&net.a, &net.b);

	(void)state;
	post_recv(&net.b, 1, sge_of(&net.b, 0, GRH + MTU));
	send_to(ah, 1, 8, QKEY);
	expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	assert_int_equal(net.b.buf[20] >> 4, 4);
	assert_memory_equal(net.b.buf + 32, addrs, sizeof(addrs));
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
grh__is_the_ipv6_header(void **state)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID + 1);
	struct ibv_ah *ah = uroce_create_ah(net.a.pd, &attr);
	const union ibv_gid from = gid_of(&net.a, ADDR_GID + 1), to = gid_of(&net.b, ADDR_GID + 1);

	(void)state;
	assert_non_null(ah);
	post_recv(&net.b, 1, sge_of(&net.b, 0, GRH + MTU));
	send_to(ah, 1, 8, QKEY);
	expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	assert_int_equal(net.b.buf[0] >> 4, 6);
	assert_memory_equal(net.b.buf + 8, from.raw, 16);
	assert_memory_equal(net.b.buf + 24, to.raw, 16);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
send__of_more_than_the_mtu_fails(void **state)
{
	struct ibv_ah *ah = ah_to(&net.a, &net.b);

	(void)state;
	post_recv(&net.b, 5, sge_of(&net.b, 0, GRH + 2 * MTU));
	send_to(ah, 1, MTU + 1, QKEY);
	expect_wc(&net, net.a.scq, 1, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(state_of(&net.a), IBV_QPS_SQE);
	/* a modify to RTS ends the state SQE */
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), 0);
	ah = ah_to(&net.a, &net.b);
	send_to(ah, 2, MTU, QKEY);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
send__with_another_qkey_is_not_received(void **state)
{
	struct ibv_ah *ah = ah_to(&net.a, &net.b);

	(void)state;
	post_recv(&net.b, 5, sge_of(&net.b, 0, GRH + MTU));
	send_to(ah, 1, 8, QKEY + 1);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_none(&net);
	/* if the Q_Key of a request has its high bit set, the QP's own Q_Key is sent */
	send_to(ah, 2, 8, 0x80000000u);
	expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
send__without_a_receive_request_is_lost(void **state)
{
	struct ibv_ah *ah = ah_to(&net.a, &net.b);

	(void)state;
	send_to(ah, 1, 8, QKEY);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_none(&net);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
create_ah__checks_its_arguments(void **state)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);

	(void)state;
	assert_errno(EINVAL, uroce_create_ah(NULL, &attr));
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, NULL));
	attr.is_global = 0;
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &attr));
	attr = ah_attr_to(&net.b, ADDR_GID);
	attr.port_num = 2;
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &attr));
	attr = ah_attr_to(&net.b, ADDR_GID);
	attr.grh.sgid_index = 15;
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &attr));
	attr.grh.sgid_index = 255;
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &attr));
	/* the destination is an IPv4 address, and the source an IPv6 address */
	attr = ah_attr_to(&net.b, ADDR_GID);
	attr.grh.sgid_index = ADDR_GID + 1;
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &attr));
	assert_int_equal(uroce_destroy_ah(NULL), EINVAL);
}

static void
create_ah__says_that_there_is_no_way(void **state)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);

	(void)state;
	attr.grh.dgid.raw[12] = 10;
	assert_errno(ENETUNREACH, uroce_create_ah(net.a.pd, &attr));
	attr = ah_attr_to(&net.b, ADDR_GID);
	attr.grh.dgid.raw[15] = 99;
	assert_errno(ETIMEDOUT, uroce_create_ah(net.a.pd, &attr));
}

static void
create_ah__describes_it_and_keeps_its_pd(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(net.a.context);
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);
	struct ibv_ah *ah = uroce_create_ah(pd, &attr);

	(void)state;
	assert_ptr_equal(ah->pd, pd);
	assert_ptr_equal(ah->context, net.a.context);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__arrives_behind_its_header),
		TEST(grh__holds_the_ipv4_header),
		TEST(grh__is_the_ipv6_header),
		TEST(send__of_more_than_the_mtu_fails),
		TEST(send__with_another_qkey_is_not_received),
		TEST(send__without_a_receive_request_is_lost),
		TEST(create_ah__checks_its_arguments),
		TEST(create_ah__says_that_there_is_no_way),
		TEST(create_ah__describes_it_and_keeps_its_pd),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
