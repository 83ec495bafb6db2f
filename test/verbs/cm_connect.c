/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections by <uroce_cm.h>: connect, accept, reject, disconnect, and the private data. */

#include "cm_rig.h"

#include <arpa/inet.h>

#define REASON_NO_RESOURCES     3
#define REASON_INVALID_SERVICE  8
#define REASON_CONSUMER_DEFINED 28
#define REASON_VENDOR_OPTION    35

static struct cm_rig rig;

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

/* Wait for a CONNECT_REQUEST at host b, and store its id. */
static struct rdma_cm_event *
await_request(void)
{
	struct rdma_cm_event *const event =
		await_event(rig.channel[1], RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	rig.b.id = event->id;
	return event;
}

static void
connect__moves_data_both_ways(void **state)
{
	(void)state;
	rig_connect(&rig);
	assert_int_equal(qp_state_of(rig.a.id), IBV_QPS_RTS);
	assert_int_equal(qp_state_of(rig.b.id), IBV_QPS_RTS);
	rig_exchange(&rig.a, &rig.b);
	rig_exchange(&rig.b, &rig.a);
}

static void
connect__tells_each_side_the_addresses_of_both(void **state)
{
	const struct sockaddr_in *sin;

	(void)state;
	rig_connect(&rig);
	assert_int_equal(uroce_cm_get_dst_port(rig.a.id), htons(RIG_PORT));
	assert_int_equal(uroce_cm_get_src_port(rig.b.id), htons(RIG_PORT));
	assert_int_equal(uroce_cm_get_src_port(rig.a.id), uroce_cm_get_dst_port(rig.b.id));
	assert_true(uroce_cm_get_src_port(rig.a.id) != 0);
	sin = (const struct sockaddr_in *)uroce_cm_get_peer_addr(rig.b.id);
	assert_int_equal(sin->sin_family, AF_INET);
	assert_int_equal(sin->sin_addr.s_addr, inet_addr(HOST_A));
	sin = (const struct sockaddr_in *)uroce_cm_get_local_addr(rig.b.id);
	assert_int_equal(sin->sin_addr.s_addr, inet_addr(HOST_B));
}

static void
connect__carries_the_parameters_of_both(void **state)
{
	struct rdma_conn_param of_a = { .private_data = "from a",
					.private_data_len = 7,
					.responder_resources = 3,
					.initiator_depth = 2,
					.flow_control = 1,
					.retry_count = 5,
					.rnr_retry_count = 6 };
	struct rdma_conn_param of_b = { .private_data = "from b",
					.private_data_len = 7,
					.responder_resources = 2,
					.initiator_depth = 1,
					.rnr_retry_count = 4 };
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, &of_a), 0);
	event = await_request();
	assert_ptr_equal(event->listen_id, rig.listener);
	assert_ptr_equal(event->id->context, rig.listener->context);
	assert_ptr_equal(event->id->channel, rig.channel[1]);
	assert_string_equal(event->param.conn.private_data, "from a");
	assert_int_equal(event->param.conn.private_data_len, 56);
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.retry_count, 5);
	assert_int_equal(event->param.conn.rnr_retry_count, 6);
	assert_int_equal(event->param.conn.qp_num, rig.a.id->qp->qp_num);
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, &of_b), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	event = await_event(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_string_equal(event->param.conn.private_data, "from b");
	assert_int_equal(event->param.conn.private_data_len, 196);
	assert_int_equal(event->param.conn.responder_resources, 1);
	assert_int_equal(event->param.conn.initiator_depth, 2);
	assert_int_equal(event->param.conn.qp_num, rig.b.id->qp->qp_num);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	/* both QPs have the attributes on which the two sides have agreed */
	assert_int_equal(uroce_query_qp(rig.a.id->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.dest_qp_num, rig.b.id->qp->qp_num);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	assert_int_equal(attr.max_rd_atomic, 2);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.rnr_retry, 4);
	assert_int_equal(uroce_query_qp(rig.b.id->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.dest_qp_num, rig.a.id->qp->qp_num);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	assert_int_equal(attr.max_rd_atomic, 1);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.rnr_retry, 6);
	rig_exchange(&rig.a, &rig.b);
}

static void
connect__the_ack_timeout_option_is_that_of_the_qp(void **state)
{
	uint8_t code = 11;
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_set_option(rig.a.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     &code, sizeof(code)),
			 0);
	assert_int_equal(
		uroce_cm_resolve_addr(rig.a.id, sa_of(HOST_A, 0), sa_of(HOST_B, RIG_PORT), 2000),
		0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 2000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(rig.a.id->route.path_rec->packet_life_time, code - 1);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = await_request();
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(uroce_query_qp(rig.a.id->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.timeout, code);
	assert_int_equal(uroce_query_qp(rig.b.id->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.timeout, code);
}

static void
connect__without_listener_is_rejected_with_reason_8(void **state)
{
	(void)state;
	rig_listen_elsewhere(&rig);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_INVALID_SERVICE);
	assert_int_equal(qp_state_of(rig.a.id), IBV_QPS_ERR);
}

static void
reject__tells_the_reason_and_the_private_data(void **state)
{
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(await_request()), 0);
	assert_cm_fails(EINVAL, uroce_cm_reject(rig.b.id, "no", 149));
	assert_int_equal(uroce_cm_reject(rig.b.id, "no", 3), 0);
	event = await_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_CONSUMER_DEFINED);
	assert_string_equal(event->param.conn.private_data, "no");
	assert_int_equal(event->param.conn.private_data_len, 148);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	assert_cm_fails(EINVAL, uroce_cm_reject(rig.b.id, NULL, 0));
	assert_cm_fails(EINVAL, uroce_cm_accept(rig.b.id, NULL));
}

static void
reject_ece__has_its_own_reason(void **state)
{
	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(await_request()), 0);
	assert_int_equal(uroce_cm_reject_ece(rig.b.id, NULL, 0), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_VENDOR_OPTION);
}

static void
listen__a_full_backlog_is_rejected_with_reason_3(void **state)
{
	struct cm_end first;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[1], &rig.listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_bind_addr(rig.listener, sa_of(HOST_B, RIG_PORT)), 0);
	assert_int_equal(uroce_cm_listen(rig.listener, 1), 0);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	first = rig.a;
	rig.a.id = NULL;
	rig.a.mr = NULL;
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_NO_RESOURCES);
	assert_int_equal(uroce_cm_ack_cm_event(await_request()), 0);
	end_destroy(&first);
}

static void
disconnect__ends_both_sides(void **state)
{
	(void)state;
	rig_connect(&rig);
	assert_int_equal(uroce_cm_disconnect(rig.a.id), 0);
	assert_int_equal(qp_state_of(rig.a.id), IBV_QPS_ERR);
	expect_event(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(uroce_cm_disconnect(rig.b.id), 0);
	assert_int_equal(qp_state_of(rig.b.id), IBV_QPS_ERR);
	expect_event(rig.channel[0], RDMA_CM_EVENT_DISCONNECTED, 0);
	/* a second disconnect of an id has no effect */
	assert_int_equal(uroce_cm_disconnect(rig.a.id), 0);
	assert_int_equal(uroce_cm_disconnect(rig.b.id), 0);
}

static void
timewait_exit__follows_the_end(void **state)
{
	uint8_t code = 1; /* code of a short ACK timeout, which makes TIMEWAIT short */
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_set_option(rig.a.id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     &code, sizeof(code)),
			 0);
	assert_int_equal(
		uroce_cm_resolve_addr(rig.a.id, sa_of(HOST_A, 0), sa_of(HOST_B, RIG_PORT), 2000),
		0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 2000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = await_request();
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(uroce_cm_disconnect(rig.b.id), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

static void
destroy_id__of_a_connection_disconnects_the_peer(void **state)
{
	(void)state;
	rig_connect(&rig);
	end_destroy(&rig.a);
	expect_event(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void
destroy_id__of_a_listener_rejects_what_waits(void **state)
{
	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	await_readable(rig.channel[1]);
	assert_int_equal(uroce_cm_destroy_id(rig.listener), 0);
	rig.listener = NULL;
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_CONSUMER_DEFINED);
	expect_no_event(rig.channel[1]);
}

/*
 * Create a QP that does not belong to the id. The program modifies it by the attributes of
 * uroce_cm_init_qp_attr(), as UCX and SPDK do.
 */
static struct ibv_qp *
own_qp(struct rdma_cm_id *id, struct ibv_cq **cq)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	assert_non_null(*cq = uroce_create_cq(id->verbs, 8, NULL, NULL, 0));
	init.send_cq = init.recv_cq = *cq;
	return uroce_create_qp(id->pd, &init);
}

static void
move_own_qp(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	assert_int_equal(uroce_cm_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(uroce_modify_qp(qp, &attr, mask), 0);
}

static void
establish__is_for_programs_that_own_their_qp(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct ibv_ece ece = { .vendor_id = 0x123456, .options = 7 }, peer;
	struct ibv_qp *qp_a, *qp_b;
	struct ibv_cq *cq_a, *cq_b;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = 0;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	assert_non_null(qp_a = own_qp(rig.a.id, &cq_a));
	move_own_qp(rig.a.id, qp_a, IBV_QPS_INIT);
	/* before the connect, the id has no attributes for RTR, because the peer is not known */
	assert_cm_fails(EINVAL, uroce_cm_init_qp_attr(rig.a.id, &attr, &mask));
	assert_int_equal(mask, 0);
	assert_cm_fails(EINVAL, uroce_cm_establish(rig.a.id));
	assert_int_equal(uroce_cm_set_local_ece(rig.a.id, &ece), 0);
	param.qp_num = qp_a->qp_num;
	assert_int_equal(uroce_cm_connect(rig.a.id, &param), 0);
	event = await_request();
	assert_int_equal(uroce_cm_get_remote_ece(rig.b.id, &peer), 0);
	assert_int_equal(peer.vendor_id, ece.vendor_id);
	assert_int_equal(peer.options, ece.options);
	assert_non_null(qp_b = own_qp(rig.b.id, &cq_b));
	move_own_qp(rig.b.id, qp_b, IBV_QPS_INIT);
	move_own_qp(rig.b.id, qp_b, IBV_QPS_RTR);
	move_own_qp(rig.b.id, qp_b, IBV_QPS_RTS);
	param.qp_num = qp_b->qp_num;
	assert_int_equal(uroce_cm_accept(rig.b.id, &param), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	event = await_event(rig.channel[0], RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(event->param.conn.qp_num, qp_b->qp_num);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	move_own_qp(rig.a.id, qp_a, IBV_QPS_RTR);
	move_own_qp(rig.a.id, qp_a, IBV_QPS_RTS);
	expect_no_event(rig.channel[1]);
	assert_int_equal(uroce_cm_establish(rig.a.id), 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_cm_fails(EINVAL, uroce_cm_establish(rig.a.id));
	assert_int_equal(uroce_cm_disconnect(rig.a.id), 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(uroce_destroy_qp(qp_a), 0);
	assert_int_equal(uroce_destroy_qp(qp_b), 0);
	assert_int_equal(uroce_destroy_cq(cq_a), 0);
	assert_int_equal(uroce_destroy_cq(cq_b), 0);
}

static void
notify__data_before_the_rtu_establishes(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 77 };
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_connect(rig.a.id, &param), 0);
	event = await_request();
	assert_cm_fails(EINVAL, uroce_cm_notify(rig.b.id, IBV_EVENT_COMM_EST));
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_cm_fails(EINVAL, uroce_cm_notify(rig.b.id, IBV_EVENT_QP_FATAL));
	assert_int_equal(uroce_cm_notify(rig.b.id, IBV_EVENT_COMM_EST), 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(uroce_cm_notify(rig.b.id, IBV_EVENT_COMM_EST), 0);
	assert_int_equal(uroce_cm_establish(rig.a.id), 0);
	expect_no_event(rig.channel[1]);
}

static void
reject__an_active_id_may_refuse_the_response(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 77 };
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_connect(rig.a.id, &param), 0);
	event = await_request();
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(uroce_cm_reject(rig.a.id, NULL, 0), 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_REJECTED, REASON_CONSUMER_DEFINED);
	assert_int_equal(qp_state_of(rig.b.id), IBV_QPS_ERR);
}

/*
 * The QP of the active side is in ERR, so it cannot be modified when the REP arrives. Both sides
 * get an event.
 */
static void
connect_error__tells_both_sides(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = await_request();
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_modify_qp(rig.a.id->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	expect_event(rig.channel[1], RDMA_CM_EVENT_REJECTED, REASON_CONSUMER_DEFINED);
}

static void
connect__to_the_own_address(void **state)
{
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	/*
	 * HOST_B is an address of a device of this process, so both ends of the connection are on
	 * that device
	 */
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, NULL, sa_of(HOST_B, RIG_PORT), 2000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(rig.a.id->verbs, rig.listener->verbs);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 2000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = await_request();
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
	rig_exchange(&rig.a, &rig.b);
}

static void
connect__checks_its_arguments(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .private_data = "" };
	struct ibv_device_attr limits;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.b.id, NULL, RDMA_PS_TCP), 0);
	assert_cm_fails(EINVAL, uroce_cm_connect(rig.b.id, NULL));
	assert_cm_fails(EINVAL, uroce_cm_accept(rig.b.id, NULL));
	assert_cm_fails(EINVAL, uroce_cm_reject(rig.b.id, NULL, 0));
	assert_cm_fails(EINVAL, uroce_cm_disconnect(rig.b.id));
	assert_cm_fails(EINVAL, uroce_cm_resolve_route(rig.b.id, 1));
	rig_listen_elsewhere(&rig);
	rig_resolve(&rig, RDMA_PS_TCP);
	/* uroce_cm_connect() fails, because the id has no QP and `param` has no QP number */
	assert_cm_fails(EINVAL, uroce_cm_connect(rig.a.id, NULL));
	assert_cm_fails(EINVAL, uroce_cm_connect(rig.a.id, &param));
	param.qp_num = 5;
	param.private_data_len = 57;
	assert_cm_fails(EINVAL, uroce_cm_connect(rig.a.id, &param));
	param.private_data_len = 0;
	assert_int_equal(uroce_query_device(rig.a.id->verbs, &limits), 0);
	if (limits.max_qp_rd_atom < RDMA_MAX_RESP_RES - 1) {
		param.responder_resources = (uint8_t)(limits.max_qp_rd_atom + 1);
		assert_cm_fails(EINVAL, uroce_cm_connect(rig.a.id, &param));
	}
	param.responder_resources = RDMA_MAX_RESP_RES;
	assert_int_equal(uroce_cm_connect(rig.a.id, &param), 0);
	assert_cm_fails(EINVAL, uroce_cm_connect(rig.a.id, &param));
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, REASON_INVALID_SERVICE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connect__moves_data_both_ways),
		TEST(connect__tells_each_side_the_addresses_of_both),
		TEST(connect__carries_the_parameters_of_both),
		TEST(connect__the_ack_timeout_option_is_that_of_the_qp),
		TEST(connect__without_listener_is_rejected_with_reason_8),
		TEST(reject__tells_the_reason_and_the_private_data),
		TEST(reject_ece__has_its_own_reason),
		TEST(listen__a_full_backlog_is_rejected_with_reason_3),
		TEST(disconnect__ends_both_sides),
		TEST(timewait_exit__follows_the_end),
		TEST(destroy_id__of_a_connection_disconnects_the_peer),
		TEST(destroy_id__of_a_listener_rejects_what_waits),
		TEST(establish__is_for_programs_that_own_their_qp),
		TEST(notify__data_before_the_rtu_establishes),
		TEST(reject__an_active_id_may_refuse_the_response),
		TEST(connect_error__tells_both_sides),
		TEST(connect__to_the_own_address),
		TEST(connect__checks_its_arguments),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
