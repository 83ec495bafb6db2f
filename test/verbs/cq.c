/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: limits, resize, overrun.
 */

#include "net.h"

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "workers=2" });
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
create__checks_its_arguments(void **state)
{
	struct ibv_context *context = net.a.context;
	struct ibv_context *other = uroce_open_device(net.a.device);
	struct ibv_comp_channel *channel = uroce_create_comp_channel(other);
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(uroce_query_device(context, &attr), 0);
	assert_errno(EINVAL, uroce_create_cq(NULL, 1, NULL, NULL, 0));
	assert_errno(EINVAL, uroce_create_cq(context, 0, NULL, NULL, 0));
	assert_errno(EINVAL, uroce_create_cq(context, -1, NULL, NULL, 0));
	assert_errno(EINVAL, uroce_create_cq(context, attr.max_cqe + 1, NULL, NULL, 0));
	assert_errno(EINVAL, uroce_create_cq(context, 1, NULL, NULL, -1));
	assert_errno(EINVAL, uroce_create_cq(context, 1, NULL, NULL, context->num_comp_vectors));
	assert_errno(EINVAL, uroce_create_cq(context, 1, NULL, channel, 0));
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	assert_int_equal(uroce_close_device(other), 0);
}

static void
create__takes_every_comp_vector(void **state)
{
	int tag;

	(void)state;
	assert_int_equal(net.a.context->num_comp_vectors, 2);
	for (int vector = 0; vector < 2; vector++) {
		struct ibv_cq *cq = uroce_create_cq(net.a.context, 7, &tag, NULL, vector);

		assert_non_null(cq);
		assert_true(cq->cqe >= 7);
		assert_ptr_equal(cq->cq_context, &tag);
		assert_ptr_equal(cq->context, net.a.context);
		assert_int_equal(uroce_destroy_cq(cq), 0);
	}
}

/*
 * A CQ of the maximum length can be created, although EAL has only 256 MiB of memory in this test.
 */
static void
max_cqe__can_be_had_whatever_EAL_was_given(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_cq *cq;

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	cq = uroce_create_cq(net.a.context, attr.max_cqe, NULL, NULL, 0);
	assert_non_null(cq);
	assert_true(cq->cqe >= attr.max_cqe);
	assert_int_equal(uroce_resize_cq(net.a.scq, attr.max_cqe), 0);
	assert_true(net.a.scq->cqe >= attr.max_cqe);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void
destroy__is_refused_while_a_qp_uses_it(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_cq(NULL), EINVAL);
	assert_int_equal(uroce_destroy_cq(net.a.scq), EBUSY);
	assert_int_equal(uroce_destroy_cq(net.a.rcq), EBUSY);
}

static void
poll__takes_no_more_than_asked_for(void **state)
{
	struct ibv_wc wc[4];

	(void)state;
	pair_connect(&net);
	assert_int_equal(uroce_poll_cq(net.a.scq, 4, wc), 0);
	for (uint64_t i = 0; i < 3; i++)
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 8), 0);
	/* the completions come in the order of the requests: wr_id 0, 1, 2, 3 */
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 3, sge_of(&net.a, 0, 8), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
	assert_int_equal(uroce_poll_cq(net.a.scq, 0, wc), 0);
	assert_true(uroce_poll_cq(net.a.scq, -1, wc) < 0);
}

/*
 * Send `nb` messages from b to a, so that a's receive CQ gets `nb` completions. Return when the
 * last send request of b has completed.
 */
static void
receive(uint64_t nb)
{
	for (uint64_t i = 0; i < nb; i++)
		post_recv(&net.a, i, sge_of(&net.a, 0, 64));
	for (uint64_t i = 0; i < nb; i++) {
		post_send(&net.b, IBV_WR_SEND, 100 + i, sge_of(&net.b, 0, 8));
		expect_wc(&net, net.b.scq, 100 + i, IBV_WC_SUCCESS);
	}
}

static void
resize__keeps_what_is_in_it(void **state)
{
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	pair_connect(&net);
	receive(5);
	assert_int_equal(uroce_resize_cq(NULL, 5), EINVAL);
	assert_int_equal(uroce_resize_cq(net.a.rcq, 0), EINVAL);
	assert_int_equal(uroce_resize_cq(net.a.rcq, -1), EINVAL);
	assert_int_equal(uroce_resize_cq(net.a.rcq, attr.max_cqe + 1), EINVAL);
	assert_int_equal(uroce_resize_cq(net.a.rcq, 4), EINVAL);
	assert_int_equal(net.a.rcq->cqe, 256);
	assert_int_equal(uroce_resize_cq(net.a.rcq, 5), 0);
	assert_true(net.a.rcq->cqe >= 5);
	for (uint64_t i = 0; i < 5; i++)
		expect_wc(&net, net.a.rcq, i, IBV_WC_SUCCESS);
	assert_int_equal(uroce_resize_cq(net.a.rcq, 1000), 0);
	receive(5);
	for (uint64_t i = 0; i < 5; i++)
		expect_wc(&net, net.a.rcq, i, IBV_WC_SUCCESS);
}

static void
overrun__loses_the_cq_and_its_qp_and_raises_their_events(void **state)
{
	struct ibv_async_event event;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(uroce_resize_cq(net.a.scq, 1), 0);
	pair_connect(&net);
	for (uint64_t i = 0; i < 8; i++)
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 8), 0);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, net.a.scq);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(event.element.qp, net.a.qp);
	uroce_ack_async_event(&event);
	while (uroce_poll_cq(net.a.scq, 1, &wc) > 0)
		;
	assert_true(uroce_poll_cq(net.a.scq, 1, &wc) < 0);
	assert_true(ibv_poll_cq(net.a.scq, 1, &wc) < 0);
	assert_int_equal(state_of(&net.a), IBV_QPS_ERR);
}

static int
destroy(void *cq)
{
	return uroce_destroy_cq(cq);
}

static void
acknowledge(void *event)
{
	uroce_ack_async_event(event);
}

/*
 * The destruction of a CQ waits until all its asynchronous events are acknowledged
 * [ibv_get_async_event(3)].
 */
static void
destroy__waits_until_events_are_acknowledged(void **state)
{
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(uroce_resize_cq(net.a.scq, 1), 0);
	pair_connect(&net);
	for (uint64_t i = 0; i < 8; i++)
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 8), 0);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = NULL;
	expect_wait(destroy, net.a.scq, &net.a.scq->cond, acknowledge, &event);
	net.a.scq = NULL;
}

static void
worker__of_the_send_cq_runs_the_qp(void **state)
{
	struct ibv_cq *cq = uroce_create_cq(net.a.context, 16, NULL, NULL, 1);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = net.a.rcq, /* this CQ belongs to another worker than the send CQ */
		.cap = { 4, 4, 1, 1, 0 },
		.sq_sig_all = 1,
	};

	(void)state;
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_non_null(net.a.qp = uroce_create_qp(net.a.pd, &init));
	pair_connect(&net);
	post_recv(&net.a, 7, sge_of(&net.a, 0, 64));
	post_send(&net.b, IBV_WR_SEND, 1, sge_of(&net.b, 0, 8));
	expect_wc(&net, net.a.rcq, 7, IBV_WC_SUCCESS);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 2, sge_of(&net.a, 0, 5000), 0);
	expect_wc(&net, cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = NULL;
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void
shared__two_qps_and_both_directions_in_one_cq(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.b.rcq,
		.recv_cq = net.b.rcq,
		.cap = { 4, 4, 1, 1, 0 },
	};
	struct ibv_qp *qp = uroce_create_qp(net.b.pd, &init);

	(void)state;
	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_cq(net.b.rcq), EBUSY);
	net.b.qp = qp;
	pair_connect(&net);
	post_recv(&net.b, 7, sge_of(&net.b, 0, 64));
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, 8));
	expect_wc(&net, net.b.rcq, 7, IBV_WC_SUCCESS);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__checks_its_arguments),
		TEST(create__takes_every_comp_vector),
		TEST(max_cqe__can_be_had_whatever_EAL_was_given),
		TEST(destroy__is_refused_while_a_qp_uses_it),
		TEST(poll__takes_no_more_than_asked_for),
		TEST(resize__keeps_what_is_in_it),
		TEST(overrun__loses_the_cq_and_its_qp_and_raises_their_events),
		TEST(destroy__waits_until_events_are_acknowledged),
		TEST(worker__of_the_send_cq_runs_the_qp),
		TEST(shared__two_qps_and_both_directions_in_one_cq),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
