/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC by the older generation of the calls, in which a target QP is named by its number [RDMA Aware
 * Programming User Manual, 3.4.8 to 3.4.14 and 3.6.3].
 */

#include "receiver.h"

#include <fcntl.h>
#include <sys/mman.h>

#define assert_fails(expected, call)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

/* Move a target QP to INIT and then to RTR, by uroce_modify_xrc_rcv_qp(). */
static void
bring_up(struct ibv_xrc_domain *domain, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_REMOTE,
	};

	assert_int_equal(uroce_modify_xrc_rcv_qp(domain, qpn, &attr,
						 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
							 IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = net.a.qp->qp_num,
		.rq_psn = (0xfffff0 + net.a.qp->qp_num % 16) & 0xffffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = ah_attr_to(&net.a, ADDR_GID),
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	/* a modify without a required attribute fails and changes nothing, not even the state */
	assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(domain, qpn, &attr, mask & ~IBV_QP_RQ_PSN));
	assert_int_equal(uroce_modify_xrc_rcv_qp(domain, qpn, &attr, mask), 0);
}

static void
connect_to(uint32_t qpn)
{
	struct ibv_qp number = { .qp_num = qpn, .qp_type = IBV_QPT_XRC_RECV };
	struct host peer = net.b;

	peer.qp = &number;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_rtr(&net, &net.a, &peer), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
}

static void
rcv_qp__lives_as_long_as_somebody_is_registered(void **state)
{
	struct uroce_xrc_rcv_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_srq_init_attr srq_init = { .attr = { SRQ_WR, 1, 0 } };
	struct ibv_xrc_domain *first, *second;
	struct ibv_qp_attr attr;
	struct receiver to;
	uint32_t qpn;

	(void)state;
	open_receiver(&to, xrc_fd);
	assert_non_null(first = uroce_open_xrc_domain(net.b.context, xrc_fd, 0));
	assert_non_null(second = uroce_open_xrc_domain(to.context, xrc_fd, O_CREAT));
	assert_ptr_equal(second->context, to.context);
	init.xrc_domain = first;
	assert_int_equal(uroce_create_xrc_rcv_qp(&init, &qpn), 0);
	assert_int_equal(uroce_destroy_srq(to.srq), 0);
	to.srq = uroce_create_xrc_srq(to.pd, second, to.cq, &srq_init);
	assert_non_null(to.srq);
	assert_int_equal(uroce_get_srq_num(to.srq, &to.srqn), 0);
	bring_up(first, qpn);
	connect_to(qpn);
	exchange(&to, 1);
	/* a second context registers for the target, and then the creator unregisters */
	assert_int_equal(uroce_reg_xrc_rcv_qp(second, qpn), 0);
	assert_int_equal(uroce_reg_xrc_rcv_qp(second, qpn), 0);
	assert_fails(EBUSY, uroce_close_xrc_domain(first));
	assert_int_equal(uroce_unreg_xrc_rcv_qp(first, qpn), 0);
	assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(first, qpn));
	assert_int_equal(uroce_close_xrc_domain(first), 0);
	exchange(&to, 2);
	assert_int_equal(uroce_query_xrc_rcv_qp(second, qpn, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(attr.dest_qp_num, net.a.qp->qp_num);
	assert_ptr_equal(init.xrc_domain, second);
	assert_int_equal(uroce_unreg_xrc_rcv_qp(second, qpn), 0);
	/* the last context has unregistered, so the target was destroyed */
	assert_fails(EINVAL, uroce_query_xrc_rcv_qp(second, qpn, &attr, IBV_QP_STATE, &init));
	assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(second, qpn));
	/* the domain cannot be closed while its SRQ exists */
	assert_fails(EBUSY, uroce_close_xrc_domain(second));
	assert_int_equal(uroce_destroy_srq(to.srq), 0);
	assert_int_equal(uroce_close_xrc_domain(second), 0);
	assert_non_null(to.srq = make_srq(&to));
	close_receiver(&to);
}

/*
 * The creation of an SRQ or a target returns the sizes that were granted [RDMA Aware Programming
 * User Manual, 3.4.9 and 3.4.11].
 */
static void
rcv_qp__what_was_granted_is_returned(void **state)
{
	struct ibv_srq_init_attr srq_init = { .srq_context = &net, .attr = { 0, 0, 5 } };
	struct uroce_xrc_rcv_init_attr init = {
		.qp_context = &net,
		.cap = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 77,
	};
	static const struct ibv_qp_cap none;
	struct ibv_xrc_domain *domain;
	struct ibv_srq_attr attr;
	struct ibv_qp_attr qp_attr;
	struct ibv_srq *srq;
	uint32_t qpn;

	(void)state;
	assert_non_null(domain = uroce_open_xrc_domain(net.b.context, -1, O_CREAT));
	/* sizes of 0 are granted as 1, and the limit is ignored */
	assert_non_null(srq = uroce_create_xrc_srq(net.b.pd, domain, net.b.rcq, &srq_init));
	assert_int_equal(srq_init.attr.max_wr, 1);
	assert_int_equal(srq_init.attr.max_sge, 1);
	assert_ptr_equal(srq->srq_context, &net);
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 1);
	assert_int_equal(attr.srq_limit, 0);
	/*
	 * a target has no queues, so attributes of queues are ignored, and their sizes are returned
	 * as 0
	 */
	init.send_cq = (struct ibv_cq *)8;
	init.recv_cq = (struct ibv_cq *)8;
	init.srq = (struct ibv_srq *)8;
	init.xrc_domain = domain;
	assert_int_equal(uroce_create_xrc_rcv_qp(&init, &qpn), 0);
	assert_memory_equal(&init.cap, &none, sizeof(none));
	assert_ptr_equal(init.qp_context, &net);
	assert_ptr_equal(init.xrc_domain, domain);
	assert_int_equal(uroce_query_xrc_rcv_qp(domain, qpn, &qp_attr, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&qp_attr.cap, &none, sizeof(none));
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(uroce_unreg_xrc_rcv_qp(domain, qpn), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_close_xrc_domain(domain), 0);
}

static void
rcv_qp__is_of_its_domain(void **state)
{
	struct uroce_xrc_rcv_init_attr init = { 0 };
	struct ibv_xrc_domain *other;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint32_t qpn;

	(void)state;
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(&init, &qpn));
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(NULL, &qpn));
	assert_non_null(other = uroce_open_xrc_domain(net.b.context, -1, O_CREAT));
	init.xrc_domain = other;
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(&init, NULL));
	/* numbers of a QP of another domain, of a QP of another type, and of no QP */
	const uint32_t bad[] = { net.b.qp->qp_num, net.a.qp->qp_num, 0 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(other, bad[i]));
		assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(other, bad[i]));
		assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(other, bad[i], &attr, IBV_QP_STATE));
		assert_fails(EINVAL, uroce_query_xrc_rcv_qp(other, bad[i], &attr, 0, &init));
	}
	assert_int_equal(uroce_close_xrc_domain(other), 0);
	assert_fails(EINVAL, uroce_close_xrc_domain(NULL));
	assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(NULL, 1));
	assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(NULL, 1));
	assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(NULL, 1, &attr, 0));
	assert_fails(EINVAL, uroce_query_xrc_rcv_qp(NULL, 1, &attr, 0, &init));
	assert_errno(EINVAL, uroce_create_xrc_srq(net.b.pd, NULL, net.b.rcq, NULL));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rcv_qp__lives_as_long_as_somebody_is_registered),
		TEST(rcv_qp__what_was_granted_is_returned),
		TEST(rcv_qp__is_of_its_domain),
	};

	net_init();
	xrc_fd = memfd_create("xrc", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
