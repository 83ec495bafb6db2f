/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion control of a QP: its selection, refused selections, and queries. */

#include "net.h"

#include "uroce_dv.h"

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	return 0;
}

static int
setup_ud(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static struct uroce_dv_cc
query(struct ibv_qp *qp)
{
	struct uroce_dv_cc out;

	assert_int_equal(uroce_qp_query_cc(qp, &out), 0);
	return out;
}

static void
qp_set_cc__before_it_has_a_path(void **state)
{
	(void)state;
	assert_string_equal(query(net.a.qp).name, "none");
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "dcqcn"), 0);
	assert_string_equal(query(net.a.qp).name, "dcqcn");
	assert_string_equal(query(net.b.qp).name, "none");
	assert_int_equal(uroce_qp_set_cc(net.b.qp, "dcqcn"), 0);
	assert_int_equal(uroce_qp_set_cc(net.b.qp, "none"), 0);
	assert_string_equal(query(net.b.qp).name, "none");
	pair_connect(&net);
	/* a connected QP cannot get another congestion control */
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "none"), EINVAL);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 3000), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	const struct uroce_dv_cc cc = query(net.a.qp);

	assert_string_equal(cc.name, "dcqcn");
	assert_int_equal(cc.rate_bps, 0);
	assert_int_equal(cc.target_bps, 0);
	assert_int_equal(cc.cnps_handled, 0);
	assert_int_equal(query(net.b.qp).ce_marked, 0);
	assert_int_equal(query(net.b.qp).cnps_sent, 0);
}

static void
qp_set_cc__survives_a_reset(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	(void)state;
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "dcqcn"), 0);
	pair_connect(&net);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, IBV_QP_STATE), 0);
	assert_string_equal(query(net.a.qp).name, "dcqcn");
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "none"), 0);
}

static void
qp_cc__bad_arguments(void **state)
{
	struct uroce_dv_cc out;

	(void)state;
	assert_int_equal(uroce_qp_set_cc(NULL, "dcqcn"), EINVAL);
	assert_int_equal(uroce_qp_set_cc(net.a.qp, NULL), EINVAL);
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "cubic"), EINVAL);
	assert_int_equal(uroce_qp_query_cc(NULL, &out), EINVAL);
	assert_int_equal(uroce_qp_query_cc(net.a.qp, NULL), EINVAL);
}

static void
qp_set_cc__not_for_datagrams(void **state)
{
	(void)state;
	assert_int_equal(uroce_qp_set_cc(net.a.qp, "dcqcn"), EINVAL);
	assert_string_equal(query(net.a.qp).name, "none");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(qp_set_cc__before_it_has_a_path, setup, teardown),
		cmocka_unit_test_setup_teardown(qp_set_cc__survives_a_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(qp_cc__bad_arguments, setup, teardown),
		cmocka_unit_test_setup_teardown(qp_set_cc__not_for_datagrams, setup_ud, teardown),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
