/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: the members of a group receive its datagrams. Sending to a group needs no
 * address resolution.
 */

#include "net.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define GRH      40u
#define LEN      100u
#define ANYBODY  0xffffffu
#define GROUP4   "::ffff:239.1.2.3"
#define GROUP4_B "::ffff:239.129.2.3" /* another group, with the same multicast MAC as GROUP4 */
#define GROUP6   "ff15::4791"

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

static union ibv_gid
gid(const char *text)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static int
attach(const struct host *host, const char *group)
{
	const union ibv_gid to = gid(group);

	return uroce_attach_mcast(host->qp, &to, 0);
}

static int
detach(const struct host *host, const char *group)
{
	const union ibv_gid to = gid(group);

	return uroce_detach_mcast(host->qp, &to, 0);
}

/* Send a datagram from host a to a multicast group. */
static void
send_to(const char *group, uint32_t qkey)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);
	struct ibv_sge sge = sge_of(&net.a, 0, LEN);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = ANYBODY, .remote_qkey = qkey },
	};

	attr.grh.dgid = gid(group);
	attr.grh.sgid_index = attr.grh.dgid.raw[0] == 0xff ? ADDR_GID + 1 : ADDR_GID;
	wr.wr.ud.ah = uroce_create_ah(net.a.pd, &attr);
	assert_non_null(wr.wr.ud.ah);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(wr.wr.ud.ah), 0);
}

static void
expect_arrival(uint64_t wr_id)
{
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, wr_id, IBV_WC_SUCCESS);

	assert_int_equal(wc.byte_len, GRH + LEN);
	assert_int_equal(wc.src_qp, net.a.qp->qp_num);
	assert_memory_equal(net.b.buf + GRH, net.a.buf, LEN);
}

static void
attach_mcast__a_member_gets_what_is_sent_to_its_group(void **state)
{
	static const char *const groups[] = { GROUP4, GROUP6 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		fill(net.a.buf, LEN, i);
		assert_int_equal(attach(&net.b, groups[i]), 0);
		post_recv(&net.b, 10 + i, sge_of(&net.b, 0, GRH + LEN));
		send_to(groups[i], QKEY);
		expect_arrival(10 + i);
		assert_int_equal(detach(&net.b, groups[i]), 0);
	}
}

static void
attach_mcast__to_other_groups_nothing_arrives(void **state)
{
	(void)state;
	assert_int_equal(attach(&net.b, GROUP4), 0);
	post_recv(&net.b, 10, sge_of(&net.b, 0, GRH + LEN));
	send_to(GROUP4_B, QKEY);
	send_to(GROUP6, QKEY);
	expect_none(&net);
	/* b does not receive a datagram whose Q_Key differs from that of b's QP */
	send_to(GROUP4, QKEY + 1);
	expect_none(&net);
	send_to(GROUP4, QKEY);
	expect_wc(&net, net.b.rcq, 10, IBV_WC_SUCCESS);
	assert_int_equal(detach(&net.b, GROUP4), 0);
}

static void
attach_mcast__twice_is_once(void **state)
{
	(void)state;
	assert_int_equal(attach(&net.b, GROUP4), 0);
	assert_int_equal(attach(&net.b, GROUP4), 0);
	post_recv(&net.b, 10, sge_of(&net.b, 0, GRH + LEN));
	post_recv(&net.b, 11, sge_of(&net.b, 0, GRH + LEN));
	send_to(GROUP4, QKEY);
	expect_wc(&net, net.b.rcq, 10, IBV_WC_SUCCESS);
	expect_none(&net);
	assert_int_equal(detach(&net.b, GROUP4), 0);
	assert_int_equal(detach(&net.b, GROUP4), EINVAL);
	send_to(GROUP4, QKEY);
	expect_none(&net);
}

static void
destroy_qp__a_member_stays(void **state)
{
	(void)state;
	assert_int_equal(attach(&net.b, GROUP4), 0);
	assert_int_equal(attach(&net.b, GROUP6), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), EBUSY);
	assert_int_equal(detach(&net.b, GROUP6), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), EBUSY);
	assert_int_equal(detach(&net.b, GROUP4), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
}

static void
attach_mcast__checks_its_arguments(void **state)
{
	const union ibv_gid group = gid(GROUP4), host = gid_of(&net.a, ADDR_GID);

	(void)state;
	assert_int_equal(uroce_attach_mcast(NULL, &group, 0), EINVAL);
	assert_int_equal(uroce_attach_mcast(net.a.qp, NULL, 0), EINVAL);
	assert_int_equal(uroce_attach_mcast(net.a.qp, &host, 0), EINVAL);
	assert_int_equal(uroce_detach_mcast(NULL, &group, 0), EINVAL);
	assert_int_equal(uroce_detach_mcast(net.a.qp, NULL, 0), EINVAL);
	assert_int_equal(uroce_detach_mcast(net.a.qp, &group, 0), EINVAL);
}

static void
attach_mcast__runs_out_where_the_device_says(void **state)
{
	struct ibv_device_attr attr;
	union ibv_gid group = gid(GROUP6);
	int nb, ret = 0;

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	assert_int_equal(attr.max_mcast_grp, attr.max_total_mcast_qp_attach);
	for (nb = 0; ret == 0; nb += ret == 0) {
		group.raw[8] = (uint8_t)(nb >> 8);
		group.raw[9] = (uint8_t)nb;
		ret = uroce_attach_mcast(net.a.qp, &group, 0);
	}
	assert_int_equal(ret, ENOMEM);
	assert_int_equal(nb, attr.max_total_mcast_qp_attach);
	for (int i = 0; i < nb; i++) {
		group.raw[8] = (uint8_t)(i >> 8);
		group.raw[9] = (uint8_t)i;
		assert_int_equal(uroce_detach_mcast(net.a.qp, &group, 0), 0);
	}
}

/* A group can have as many member QPs as the device attributes say, and no more. */
static void
attach_mcast__as_many_qps_as_the_device_says(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.cap = { 1, 1, 1, 1, 0 },
	};
	const union ibv_gid group = gid(GROUP6);
	struct ibv_device_attr attr;
	struct ibv_qp **made;

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	assert_true(attr.max_mcast_qp_attach > 0);
	assert_non_null(made = calloc((size_t)attr.max_mcast_qp_attach, sizeof(*made)));
	for (int i = 0; i < attr.max_mcast_qp_attach; i++) {
		assert_non_null(made[i] = uroce_create_qp(net.a.pd, &init));
		assert_int_equal(uroce_attach_mcast(made[i], &group, 0), 0);
	}
	assert_int_equal(uroce_attach_mcast(net.a.qp, &group, 0), ENOMEM);
	for (int i = 0; i < attr.max_mcast_qp_attach; i++) {
		assert_int_equal(uroce_detach_mcast(made[i], &group, 0), 0);
		assert_int_equal(uroce_destroy_qp(made[i]), 0);
	}
	free(made);
}

static void
modify_qp__a_connection_has_one_peer(void **state)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 2,
		.max_dest_rd_atomic = 1,
		.ah_attr = ah_attr_to(&net.b, ADDR_GID),
	};

	(void)state;
	attr.ah_attr.grh.dgid = gid(GROUP4);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr,
					 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 EINVAL);
	assert_int_equal(attach(&net.a, GROUP4), EINVAL);
}

static int
setup_rc(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	assert_int_equal(to_init(&net.a), 0);
	return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attach_mcast__a_member_gets_what_is_sent_to_its_group),
		TEST(attach_mcast__to_other_groups_nothing_arrives),
		TEST(attach_mcast__twice_is_once),
		TEST(destroy_qp__a_member_stays),
		TEST(attach_mcast__checks_its_arguments),
		TEST(attach_mcast__as_many_qps_as_the_device_says),
		TEST(attach_mcast__runs_out_where_the_device_says),
		cmocka_unit_test_setup_teardown(modify_qp__a_connection_has_one_peer, setup_rc,
						teardown),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
