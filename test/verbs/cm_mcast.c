/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups of ids: join, send, leave. */

#include "cm_rig.h"

#include <arpa/inet.h>

#define GROUP   "239.1.2.3"
#define GROUP6  "ff05::1:3"
#define GRH_LEN 40u

static struct cm_rig rig;

static void
create_member(unsigned host, struct cm_end *end, const char *ip)
{
	assert_int_equal(uroce_cm_create_id(rig.channel[host], &end->id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(uroce_cm_bind_addr(end->id, sa_of(ip, 0)), 0);
	end_create_qp(end, IBV_QPT_UD);
}

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig, NULL);
	create_member(0, &rig.a, HOST_A);
	create_member(1, &rig.b, HOST_B);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

/* Wait for the event of a join, and create an address handle from it. */
static struct ibv_ah *
await_join(unsigned host, struct cm_end *end, void *context)
{
	struct rdma_cm_event *const event =
		await_event(rig.channel[host], RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct ibv_ah *ah;

	assert_ptr_equal(event->id, end->id);
	assert_ptr_equal(event->param.ud.private_data, context);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	ah = uroce_create_ah(end->id->pd, &event->param.ud.ah_attr);
	assert_non_null(ah);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	return ah;
}

/* Send a datagram from host a to the multicast group of an address handle. */
static void
send_to_group(struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)rig.a.buf, 64, rig.a.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = RDMA_UDP_QKEY },
	};
	struct ibv_wc wc;

	assert_int_equal(uroce_post_send(rig.a.id->qp, &wr, &bad), 0);
	while (uroce_poll_cq(rig.a.id->send_cq, 1, &wc) == 0)
		;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void
expect_datagram(void)
{
	struct ibv_wc wc;

	while (uroce_poll_cq(rig.b.id->recv_cq, 1, &wc) == 0)
		;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, GRH_LEN + 64);
	assert_memory_equal(rig.b.buf + GRH_LEN, rig.a.buf, 64);
}

static void
post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)rig.b.buf, RIG_LEN, rig.b.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(uroce_post_recv(rig.b.id->qp, &wr, &bad), 0);
}

static void
check_join_of(const char *group)
{
	struct ibv_ah *ah[2];
	int cookie;

	assert_int_equal(uroce_cm_join_multicast(rig.a.id, sa_of(group, 0), &cookie), 0);
	assert_int_equal(uroce_cm_join_multicast(rig.b.id, sa_of(group, 0), NULL), 0);
	ah[0] = await_join(0, &rig.a, &cookie);
	ah[1] = await_join(1, &rig.b, NULL);
	fill(rig.a.buf, 64, 7);
	post_receive();
	send_to_group(ah[0]);
	expect_datagram();
	assert_int_equal(uroce_cm_leave_multicast(rig.b.id, sa_of(group, 0)), 0);
	assert_cm_fails(EADDRNOTAVAIL, uroce_cm_leave_multicast(rig.b.id, sa_of(group, 0)));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_ah(ah[i]), 0);
}

static void
join_multicast__receives_what_is_sent_to_the_group(void **state)
{
	(void)state;
	check_join_of(GROUP);
}

static void
join_multicast__of_ipv6(void **state)
{
	(void)state;
	end_destroy(&rig.a);
	end_destroy(&rig.b);
	create_member(0, &rig.a, HOST_A6);
	create_member(1, &rig.b, HOST_B6);
	check_join_of(GROUP6);
}

static void
join_multicast_ex__a_sender_does_not_receive(void **state)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = sa_of(GROUP, 0),
	};
	struct ibv_ah *ah[2];
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };

	(void)state;
	assert_int_equal(uroce_cm_join_multicast_ex(rig.a.id, &attr, NULL), 0);
	ah[0] = await_join(0, &rig.a, NULL);
	/* the join was for sending only, so the QP is not attached to the group */
	assert_int_equal(uroce_detach_mcast(rig.a.id->qp, &gid, 0), EINVAL);
	assert_int_equal(uroce_cm_join_multicast(rig.b.id, sa_of(GROUP, 0), NULL), 0);
	ah[1] = await_join(1, &rig.b, NULL);
	fill(rig.a.buf, 64, 8);
	post_receive();
	send_to_group(ah[0]);
	expect_datagram();
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_ah(ah[i]), 0);
}

static void
join_multicast__checks_its_arguments(void **state)
{
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS,
						.addr = sa_of(GROUP, 0) };
	struct rdma_cm_id *id;

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_join_multicast(NULL, sa_of(GROUP, 0), NULL));
	assert_cm_fails(EINVAL, uroce_cm_join_multicast(rig.a.id, NULL, NULL));
	assert_cm_fails(EINVAL, uroce_cm_join_multicast(rig.a.id, sa_of(HOST_B, 0), NULL));
	assert_cm_fails(EINVAL, uroce_cm_join_multicast_ex(rig.a.id, &attr, NULL));
	assert_cm_fails(EINVAL, uroce_cm_join_multicast_ex(rig.a.id, NULL, NULL));
	assert_cm_fails(EINVAL, uroce_cm_leave_multicast(NULL, sa_of(GROUP, 0)));
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &id, NULL, RDMA_PS_UDP), 0);
	assert_cm_fails(EINVAL, uroce_cm_join_multicast(id, sa_of(GROUP, 0), NULL));
	assert_int_equal(uroce_cm_destroy_id(id), 0);
	assert_int_equal(uroce_cm_join_multicast(rig.a.id, sa_of(GROUP, 0), NULL), 0);
	/*
	 * the id has joined the group already; leaving the group drops the pending event of the
	 * join
	 */
	assert_cm_fails(EINVAL, uroce_cm_join_multicast(rig.a.id, sa_of(GROUP, 0), NULL));
	assert_int_equal(uroce_cm_leave_multicast(rig.a.id, sa_of(GROUP, 0)), 0);
	expect_no_event(rig.channel[0]);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join_multicast__receives_what_is_sent_to_the_group),
		TEST(join_multicast__of_ipv6),
		TEST(join_multicast_ex__a_sender_does_not_receive),
		TEST(join_multicast__checks_its_arguments),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
