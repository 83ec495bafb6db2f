/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: creation, modification, queries. matrix.c tests the legal transitions. */

#include "net.h"

#include <stdlib.h>
#include <uroce_dv.h>

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "qps=4" });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static struct ibv_qp_init_attr
an_init(void)
{
	return (struct ibv_qp_init_attr){
		.qp_context = &net,
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.cap = { 5, 6, 2, 3, 0 },
	};
}

static void
create__checks_its_arguments(void **state)
{
	struct ibv_qp_init_attr init = an_init();

	(void)state;
	assert_errno(EINVAL, uroce_create_qp(NULL, &init));
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, NULL));
	init.send_cq = NULL;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	init = an_init();
	init.recv_cq = NULL;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	init.recv_cq = net.b.rcq;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	init = an_init();
	init.qp_type = 0;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	init.qp_type = 77;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
}

static void
create__says_what_it_does_not_support(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER };
	struct ibv_qp_init_attr init = an_init();

	(void)state;
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		init.qp_type = types[i];
		assert_errno(EOPNOTSUPP, uroce_create_qp(net.a.pd, &init));
	}
}

static void
create__holds_to_the_limits_of_query_device(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	for (unsigned which = 0; which < 5; which++) {
		init = an_init();
		switch (which) {
		case 0:
			init.cap.max_send_wr = (uint32_t)attr.max_qp_wr + 1;
			break;
		case 1:
			init.cap.max_recv_wr = (uint32_t)attr.max_qp_wr + 1;
			break;
		case 2:
			init.cap.max_send_sge = (uint32_t)attr.max_sge + 1;
			break;
		case 3:
			init.cap.max_recv_sge = (uint32_t)attr.max_sge + 1;
			break;
		case 4:
			init.cap.max_inline_data = 1u << 20;
			break;
		}
		assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	}
	init = an_init();
	init.cap.max_send_wr = init.cap.max_recv_wr = (uint32_t)attr.max_qp_wr;
	init.cap.max_send_sge = init.cap.max_recv_sge = (uint32_t)attr.max_sge;
	struct ibv_qp *qp = uroce_create_qp(net.a.pd, &init);

	assert_non_null(qp);
	assert_int_equal(init.cap.max_send_wr, attr.max_qp_wr);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
create__describes_the_qp(void **state)
{
	struct ibv_qp_init_attr init = an_init();
	struct ibv_qp *qp = uroce_create_qp(net.a.pd, &init);

	(void)state;
	assert_non_null(qp);
	assert_ptr_equal(qp->context, net.a.context);
	assert_ptr_equal(qp->qp_context, &net);
	assert_ptr_equal(qp->pd, net.a.pd);
	assert_ptr_equal(qp->send_cq, net.a.scq);
	assert_ptr_equal(qp->recv_cq, net.a.rcq);
	assert_null(qp->srq);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_int_equal(qp->qp_type, IBV_QPT_RC);
	assert_in_range(qp->qp_num, 2, 0xfffffe);
	assert_int_not_equal(qp->qp_num, net.a.qp->qp_num);
	assert_int_equal(init.cap.max_send_wr, 5);
	assert_int_equal(init.cap.max_recv_wr, 6);
	assert_int_equal(init.cap.max_send_sge, 2);
	assert_int_equal(init.cap.max_recv_sge, 3);
	assert_true(init.cap.max_inline_data >= 64);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
create__grants_one_of_each_at_least(void **state)
{
	struct ibv_qp_init_attr init = an_init();
	struct ibv_qp *qp;

	(void)state;
	init.cap = (struct ibv_qp_cap){ 0 };
	assert_non_null(qp = uroce_create_qp(net.a.pd, &init));
	assert_int_equal(init.cap.max_send_wr, 1);
	assert_int_equal(init.cap.max_recv_wr, 1);
	assert_int_equal(init.cap.max_send_sge, 1);
	assert_int_equal(init.cap.max_recv_sge, 1);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
create__has_room_for_max_qp(void **state)
{
	struct ibv_qp_init_attr init = an_init();
	struct ibv_qp *qp[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(qp[i] = uroce_create_qp(net.a.pd, &init));
	assert_errno(ENOMEM, uroce_create_qp(net.a.pd, &init));
	assert_int_equal(uroce_destroy_qp(qp[0]), 0);
	assert_non_null(qp[0] = uroce_create_qp(net.a.pd, &init));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(uroce_destroy_qp(qp[i]), 0);
}

static void
qp__keeps_its_pd(void **state)
{
	(void)state;
	assert_int_equal(uroce_dereg_mr(net.a.mr), 0);
	net.a.mr = NULL;
	assert_int_equal(uroce_dealloc_pd(net.a.pd), EBUSY);
}

static void
room_behind_ibv_qp_ex__is_zero(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	assert_memory_equal((const uint8_t *)net.a.qp + sizeof(struct ibv_qp_ex), zeros, 64);
	assert_memory_equal((const uint8_t *)net.a.scq + sizeof(struct ibv_cq_ex), zeros, 64);
	assert_int_equal(((struct ibv_qp_ex *)net.a.qp)->comp_mask, 0);
}

static void
modify__refuses_null(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp nowhere = { 0 };

	(void)state;
	assert_int_equal(uroce_modify_qp(NULL, &attr, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_modify_qp(&nowhere, &attr, IBV_QP_STATE), EINVAL);
	assert_int_equal(uroce_modify_qp(net.a.qp, NULL, IBV_QP_STATE), EINVAL);
}

static void
modify__that_fails_changes_nothing(void **state)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 2, /* port 2 does not exist */
	};
	struct ibv_qp_attr before, after;
	struct ibv_qp_init_attr init;
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	(void)state;
	assert_int_equal(uroce_query_qp(net.a.qp, &before, 0, &init), 0);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.port_num = 1;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask & ~IBV_QP_PORT), EINVAL);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask | IBV_QP_QKEY), EINVAL);
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), EINVAL);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), EINVAL);
	assert_int_equal(uroce_query_qp(net.a.qp, &after, 0, &init), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(net.a.qp->state, IBV_QPS_RESET);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), 0);
	assert_int_equal(net.a.qp->state, IBV_QPS_INIT);
}

static void
query__answers_what_was_set(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	pair_connect(&net);
	assert_int_equal(uroce_query_qp(net.a.qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, net.b.qp->qp_num);
	assert_int_equal(attr.qp_access_flags, ALL_REMOTE | UROCE_DV_ACCESS_FLUSH_GLOBAL);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	assert_int_equal(attr.min_rnr_timer, 1);
	assert_int_equal(attr.ah_attr.grh.sgid_index, ADDR_GID);
	assert_int_equal(attr.cap.max_send_wr, NB_WR);
	assert_int_equal(attr.cap.max_send_sge, NB_SGE);
	assert_int_equal(init.cap.max_recv_wr, NB_WR);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.sq_sig_all, 1);
	assert_ptr_equal(init.send_cq, net.a.scq);
	assert_ptr_equal(init.recv_cq, net.a.rcq);
	assert_null(init.srq);
	assert_int_equal(uroce_query_qp(NULL, &attr, 0, &init), EINVAL);
	assert_int_equal(uroce_query_qp(net.a.qp, NULL, 0, &init), EINVAL);
	assert_int_equal(uroce_query_qp(net.a.qp, &attr, 0, NULL), EINVAL);
}

/*
 * Move a's QP from INIT to RTR, with the destination 192.0.`net_byte`.`last`.
 * @return the result of uroce_modify_qp()
 */
static int
to_rtr_at(uint8_t net_byte, uint8_t last)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 17,
		.ah_attr = ah_attr_to(&net.b, ADDR_GID),
	};

	attr.ah_attr.grh.dgid.raw[14] = net_byte;
	attr.ah_attr.grh.dgid.raw[15] = last;
	return uroce_modify_qp(net.a.qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER);
}

static void
modify__says_that_there_is_no_way(void **state)
{
	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	/* the destination is in no network of the device, and there is no gateway */
	assert_int_equal(to_rtr_at(9, 2), ENETUNREACH);
	assert_int_equal(to_rtr_at(2, 77), ETIMEDOUT); /* no host has this address */
	assert_int_equal(state_of(&net.a), IBV_QPS_INIT);
	assert_int_equal(to_rtr_at(2, 2), 0);
	assert_int_equal(state_of(&net.a), IBV_QPS_RTR);
}

static void
modify__refuses_a_malformed_address(void **state)
{
	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = ah_attr_to(&net.b, ADDR_GID),
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	attr.ah_attr.is_global = 0;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.ah_attr = ah_attr_to(&net.b, ADDR_GID);
	attr.ah_attr.grh.sgid_index = 15; /* the entry 15 of the GID table is empty */
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.ah_attr.grh.sgid_index = 200;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	assert_int_equal(state_of(&net.a), IBV_QPS_INIT);
}

static void
reset__forgets_everything(void **state)
{
	(void)state;
	pair_connect(&net);
	for (uint64_t i = 0; i < NB_WR; i++)
		post_recv(&net.a, i, sge_of(&net.a, 0, 8));
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	/* RESET removes the completions that were not polled, and the requests of the queue */
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	expect_none(&net);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	pair_connect(&net);
	for (uint64_t i = 0; i < NB_WR; i++)
		post_recv(&net.a, 100 + i, sge_of(&net.a, 0, 8));
	post_send(&net.b, IBV_WR_SEND, 1, sge_of(&net.b, 0, 8));
	expect_wc(&net, net.a.rcq, 100, IBV_WC_SUCCESS);
}

static void
destroy__takes_its_completions_with_it(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_qp(NULL), EINVAL);
	pair_connect(&net);
	post_recv(&net.a, 1, sge_of(&net.a, 0, 8));
	post_send(&net.b, IBV_WR_SEND, 2, sge_of(&net.b, 0, 8));
	expect_wc(&net, net.b.scq, 2, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = NULL;
	expect_none(&net);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__checks_its_arguments),
		TEST(create__says_what_it_does_not_support),
		TEST(create__holds_to_the_limits_of_query_device),
		TEST(create__describes_the_qp),
		TEST(create__grants_one_of_each_at_least),
		TEST(create__has_room_for_max_qp),
		TEST(qp__keeps_its_pd),
		TEST(room_behind_ibv_qp_ex__is_zero),
		TEST(modify__refuses_null),
		TEST(modify__that_fails_changes_nothing),
		TEST(query__answers_what_was_set),
		TEST(modify__says_that_there_is_no_way),
		TEST(modify__refuses_a_malformed_address),
		TEST(reset__forgets_everything),
		TEST(destroy__takes_its_completions_with_it),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
