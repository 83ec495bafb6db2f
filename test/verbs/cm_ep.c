/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints (rdma_create_ep), ids without a channel, and the QPs and SRQs of ids. */

#include "cm_rig.h"

#include <pthread.h>

static struct cm_rig rig;
static struct rdma_cm_id *listener;

/*
 * Get an address by uroce_cm_getaddrinfo(): for a listener at host b with RAI_PASSIVE, otherwise
 * for a client.
 */
static struct rdma_addrinfo *
address(const char *node, int flags, enum rdma_port_space ps)
{
	struct rdma_addrinfo hints = { .ai_flags = flags | RAI_NUMERICHOST, .ai_port_space = ps };
	struct rdma_addrinfo *res = NULL;

	assert_int_equal(uroce_cm_getaddrinfo(node, "7471", &hints, &res), 0);
	return res;
}

static const struct ibv_qp_init_attr qp_init = {
	.qp_type = IBV_QPT_RC,
	.sq_sig_all = 1,
	.cap = { 4, 4, 1, 1, 0 },
};

static int
setup(void **state)
{
	struct rdma_addrinfo *const res = address(HOST_B, RAI_PASSIVE, RDMA_PS_TCP);
	struct ibv_qp_init_attr init = qp_init;

	(void)state;
	rig_open(&rig, NULL);
	assert_int_equal(uroce_cm_create_ep(&listener, res, NULL, &init), 0);
	uroce_cm_freeaddrinfo(res);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	uroce_cm_destroy_ep(listener);
	listener = NULL;
	rig_close(&rig);
	return 0;
}

static void
add_mr(struct cm_end *end)
{
	assert_non_null(end->mr = uroce_reg_mr(end->id->pd, end->buf, RIG_LEN,
					       IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE));
}

/* A thread that accepts a connection at the listener. */
static void *
serve_one(void *arg)
{
	(void)arg;
	assert_int_equal(uroce_cm_get_request(listener, &rig.b.id), 0);
	assert_int_equal(rig.b.id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_non_null(rig.b.id->qp);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	return NULL;
}

static struct rdma_cm_id *
create_active(void)
{
	struct rdma_addrinfo *const res = address(HOST_B, 0, RDMA_PS_TCP);
	struct ibv_qp_init_attr init = qp_init;
	struct rdma_cm_id *id = NULL;

	assert_int_equal(uroce_cm_create_ep(&id, res, NULL, &init), 0);
	uroce_cm_freeaddrinfo(res);
	return id;
}

static void
create_ep__connects_two_synchronous_ids(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(uroce_cm_listen(listener, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve_one, NULL), 0);
	rig.a.id = create_active();
	assert_non_null(rig.a.id->qp);
	assert_int_equal(rig.a.id->route.num_paths, 1);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	pthread_join(thread, NULL);
	add_mr(&rig.a);
	add_mr(&rig.b);
	rig_exchange(&rig.a, &rig.b);
	rig_exchange(&rig.b, &rig.a);
}

static void
create_ep__checks_its_arguments(void **state)
{
	struct rdma_addrinfo *const res = address(HOST_B, 0, RDMA_PS_TCP);
	struct rdma_cm_id *id = NULL;

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_create_ep(NULL, res, NULL, NULL));
	assert_cm_fails(EINVAL, uroce_cm_create_ep(&id, NULL, NULL, NULL));
	res->ai_qp_type = IBV_QPT_UD;
	assert_cm_fails(EINVAL, uroce_cm_create_ep(&id, res, NULL, NULL));
	assert_null(id);
	uroce_cm_freeaddrinfo(res);
	uroce_cm_destroy_ep(NULL);
}

static void
connect__of_a_synchronous_id_tells_the_rejection(void **state)
{
	(void)state;
	rig.a.id = create_active();
	/* no id listens at the port of the address */
	assert_cm_fails(ECONNREFUSED, uroce_cm_connect(rig.a.id, NULL));
	assert_int_equal(rig.a.id->event->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(rig.a.id->event->status, 8);
}

static void
get_request__is_for_synchronous_listeners(void **state)
{
	struct rdma_cm_id *id = NULL;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_cm_fails(EINVAL, uroce_cm_get_request(rig.a.id, &id));
	assert_cm_fails(EINVAL, uroce_cm_get_request(listener, NULL));
	assert_cm_fails(EINVAL, uroce_cm_get_request(NULL, &id));
}

static void
create_srq__its_qps_have_no_receive_queue_of_their_own(void **state)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = qp_init;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_cm_fails(EINVAL, uroce_cm_create_srq(rig.a.id, NULL, &attr));
	assert_int_equal(uroce_cm_bind_addr(rig.a.id, sa_of(HOST_A, 0)), 0);
	assert_int_equal(uroce_cm_create_srq(rig.a.id, NULL, &attr), 0);
	assert_non_null(rig.a.id->srq);
	assert_cm_fails(EINVAL, uroce_cm_create_srq(rig.a.id, NULL, &attr));
	assert_int_equal(uroce_cm_create_qp(rig.a.id, NULL, &init), 0);
	assert_ptr_equal(rig.a.id->qp->srq, rig.a.id->srq);
	assert_int_equal(init.cap.max_recv_wr, 0);
	uroce_cm_destroy_qp(rig.a.id);
	uroce_cm_destroy_srq(rig.a.id);
	assert_null(rig.a.id->srq);
	uroce_cm_destroy_srq(rig.a.id);
}

static void
create_srq_ex__of_xrc_uses_the_domain_of_the_device(void **state)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = 0,
	};
	uint32_t number = 0;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_IB), 0);
	assert_int_equal(uroce_cm_bind_addr(rig.a.id, sa_of(HOST_A, 0)), 0);
	assert_int_equal(uroce_cm_create_srq_ex(rig.a.id, &attr), 0);
	assert_int_equal(uroce_get_srq_num(rig.a.id->srq, &number), 0);
	assert_int_equal(uroce_cm_create_qp_ex(rig.a.id, &init), 0);
	assert_int_equal(rig.a.id->qp->qp_type, IBV_QPT_XRC_RECV);
	assert_cm_fails(EINVAL, uroce_cm_create_qp_ex(rig.a.id, &init));
	uroce_cm_destroy_qp(rig.a.id);
	uroce_cm_destroy_srq(rig.a.id);
}

static void
create_qp__makes_queues_for_the_id(void **state)
{
	struct ibv_qp_init_attr init = qp_init;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_cm_fails(EINVAL, uroce_cm_create_qp(rig.a.id, NULL, &init));
	assert_int_equal(uroce_cm_bind_addr(rig.a.id, sa_of(HOST_A, 0)), 0);
	assert_int_equal(uroce_cm_create_qp(rig.a.id, NULL, &init), 0);
	assert_ptr_equal(rig.a.id->qp->send_cq, rig.a.id->send_cq);
	assert_ptr_equal(rig.a.id->send_cq_channel, rig.a.id->send_cq->channel);
	assert_int_equal(qp_state_of(rig.a.id), IBV_QPS_INIT);
	assert_cm_fails(EINVAL, uroce_cm_create_qp(rig.a.id, NULL, &init));
	uroce_cm_destroy_qp(rig.a.id);
	assert_null(rig.a.id->qp);
	assert_null(rig.a.id->send_cq);
	assert_null(rig.a.id->recv_cq_channel);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_ep__connects_two_synchronous_ids),
		TEST(create_ep__checks_its_arguments),
		TEST(connect__of_a_synchronous_id_tells_the_rejection),
		TEST(get_request__is_for_synchronous_listeners),
		TEST(create_srq__its_qps_have_no_receive_queue_of_their_own),
		TEST(create_srq_ex__of_xrc_uses_the_domain_of_the_device),
		TEST(create_qp__makes_queues_for_the_id),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
