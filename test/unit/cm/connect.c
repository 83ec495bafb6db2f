/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connect, establish and disconnect without loss: which messages are sent, which events the user
 * gets, and that a duplicate of a message has no effect.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/ip_header.h"
#include "ends.h"

static void
connect__request_response_and_ready(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = end_listen(&ends->b, PORT);
	const uint32_t a = end_connect(ends, &ends->a, 0x11);
	struct uroce_cm_event event;
	struct uroce_cm_info info;
	uint32_t b;

	ends_move(ends, &ends->a, UROCE_CM_REQ);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	b = event.id;
	assert_int_equal(event.listener, listener);
	assert_int_equal(event.user, PORT);
	assert_int_equal(event.private_len, UROCE_CM_REQ_USER_LEN);
	assert_memory_equal(event.private_data, "ping\0", 5);
	uroce_cme_query(ends->b.cm, b, &info);
	assert_int_equal(info.remote_qpn, 0x11);
	/* responder_resources is the initiator depth of A */
	assert_int_equal(info.responder_resources, 2);
	assert_int_equal(info.initiator_depth, 3);
	assert_int_equal(info.mtu_code, 3);
	assert_int_equal(info.retry_count, 6);
	assert_int_equal(info.rnr_retry_count, 7);
	assert_int_equal(info.ack_timeout_code, 19);
	assert_int_equal(info.local.port, PORT);
	assert_memory_equal(info.remote.ip, ends->a.ip.ip, 16);
	assert_true(info.remote.port >= 32768);

	end_accept(ends, &ends->b, b, 0x22);
	ends_move(ends, &ends->b, UROCE_CM_REP);
	event = expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	assert_int_equal(event.private_len, UROCE_CM_REP_PRIVATE_LEN);
	assert_memory_equal(event.private_data, "pong\0", 5);
	uroce_cme_query(ends->a.cm, a, &info);
	assert_int_equal(info.remote_qpn, 0x22);
	assert_int_equal(info.responder_resources, 1);
	assert_int_equal(info.initiator_depth, 2);
	assert_int_equal(info.rnr_retry_count, 5);
	assert_int_equal(info.retry_count, 6);
	assert_int_equal(info.ack_timeout_code, 19);

	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	expect_state(&ends->a, a, UROCE_CM_STATE_ESTABLISHED);
	ends_move(ends, &ends->a, UROCE_CM_RTU);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, b);
	expect_state(&ends->b, b, UROCE_CM_STATE_ESTABLISHED);
	expect_no_event(&ends->a);
	expect_no_event(&ends->b);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n0 A>B RTU\n");
	/* no timer is set while a connection is established */
	assert_true(uroce_cme_deadline(ends->a.cm) == UROCE_CM_NEVER);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
}

/*
 * The passive side accepts with more READs and atomics than the REQ allows: the active side uses
 * the values of its REQ.
 */
static void
rep__gives_no_more_than_the_req_offers(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param param = { .qpn = 0x22,
					      .responder_resources = 128,
					      .initiator_depth = 128 };
	struct uroce_cm_info info;
	uint32_t a, b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	assert_int_equal(uroce_cme_accept(ends->b.cm, b, &param, ends->now_ns), 0);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	uroce_cme_query(ends->a.cm, a, &info);
	assert_int_equal(info.responder_resources, 3);
	assert_int_equal(info.initiator_depth, 2);
}

static void
connect__psns_cross_over(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_info a;
	struct uroce_cm_info b;

	uroce_cme_query(ends->a.cm, ids.a, &a);
	uroce_cme_query(ends->b.cm, ids.b, &b);
	assert_int_equal(a.sq_psn, b.rq_psn);
	assert_int_equal(a.rq_psn, b.sq_psn);
	assert_int_equal(a.local_comm_id, b.remote_comm_id);
	assert_int_equal(a.remote_comm_id, b.local_comm_id);
	assert_int_not_equal(a.sq_psn, b.sq_psn);
}

static void
starting_psn__is_what_the_other_side_sends_first(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_info a;
	struct uroce_cm_info b;
	uint32_t req_psn;
	uint32_t rep_psn;
	uint32_t id_a;
	uint32_t id_b;

	(void)end_listen(&ends->b, PORT);
	id_a = end_connect(ends, &ends->a, 0x11);
	ends_move(ends, &ends->a, UROCE_CM_REQ);
	req_psn = ends->last.req.starting_psn;
	id_b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, id_b, 0x22);
	ends_move(ends, &ends->b, UROCE_CM_REP);
	rep_psn = ends->last.rep.starting_psn;
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, id_a);

	uroce_cme_query(ends->a.cm, id_a, &a);
	uroce_cme_query(ends->b.cm, id_b, &b);
	assert_int_equal(a.rq_psn, req_psn);
	assert_int_equal(a.sq_psn, rep_psn);
	assert_int_equal(b.rq_psn, rep_psn);
	assert_int_equal(b.sq_psn, req_psn);
}

static void
req__has_what_linux_checks(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_req *req = &ends->last.req;
	struct uroce_cm_msg msg;
	struct uroce_cm_ip ip;

	(void)end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &msg));
	assert_int_equal(req->service_id, 0x01060000 + PORT);
	assert_int_equal(req->local_timeout_code, 20);
	assert_int_equal(req->remote_timeout_code, 20);
	assert_int_equal(req->max_cm_retries, 15);
	assert_int_equal(req->pkey, 0xffff);
	assert_int_equal(req->primary.ack_timeout_code, 19);
	assert_int_equal(req->primary.local_lid, 0xffff);
	assert_int_equal(req->primary.hop_limit, 64);
	assert_int_equal(req->primary.is_subnet_local, 0);
	assert_int_equal(req->primary.flow_label, 0x12345);
	assert_memory_equal(req->primary.local_gid, ends->a.gid, 16);
	assert_memory_equal(req->primary.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cm_ip_parse(req->private_data, &ip), UROCE_CM_VERDICT_ACCEPTED);
	assert_memory_equal(ip.src, ends->a.ip.ip, 16);
	assert_memory_equal(ip.dst, ends->b.ip.ip, 16);
	assert_memory_equal(req->private_data + UROCE_CM_IP_LEN, "ping\0", 5);
}

static void
disconnect__request_and_reply(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_move(ends, &ends->a, UROCE_CM_DREQ);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	assert_int_equal(uroce_cme_disconnect(ends->b.cm, ids.b, "bye", 3, 0), 0);
	ends_move(ends, &ends->b, UROCE_CM_DREP);
	assert_memory_equal(ends->last.drep.private_data, "bye\0", 4);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a).status, 0);
	/* a second disconnect of the id that has disconnected first is allowed */
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_pass(ends, 3000 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_TIMEWAIT_EXIT, ids.a);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_TIMEWAIT_EXIT, ids.b);
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, ends->now_ns), 0);
	uroce_cme_destroy(ends->a.cm, ids.a, ends->now_ns);
	uroce_cme_destroy(ends->b.cm, ids.b, ends->now_ns);
	expect_log(ends, "0 A>B DREQ\n0 B>A DREP\n");
}

static void
disconnect__is_confirmed_without_the_user(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_pass(ends, 1000 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_TIMEWAIT);
}

static void
disconnect__by_both_ends_at_once(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg from_a;
	struct uroce_cm_msg from_b;

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	assert_int_equal(uroce_cme_disconnect(ends->b.cm, ids.b, NULL, 0, 0), 0);
	assert_true(end_take(ends, &ends->a, &from_a));
	assert_true(end_take(ends, &ends->b, &from_b));
	end_give(ends, &ends->b, &from_a);
	end_give(ends, &ends->a, &from_b);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	expect_state(&ends->a, ids.a, UROCE_CM_STATE_TIMEWAIT);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_TIMEWAIT);
	expect_no_event(&ends->a);
	expect_log(ends, "0 A>B DREQ\n0 B>A DREQ\n0 A>B DREP\n0 B>A DREP\n");
}

static void
duplicate__req_is_silently_dropped_until_answered(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg req;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	(void)end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &req));
	end_give(ends, &ends->b, &req);
	end_give(ends, &ends->b, &req);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_give(ends, &ends->b, &req);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	expect_no_event(&ends->b);
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_rx_duplicates[0], 2);

	end_accept(ends, &ends->b, b, 0x22);
	ends_lose(ends, &ends->b, UROCE_CM_REP);
	end_give(ends, &ends->b, &req);
	ends_lose(ends, &ends->b, UROCE_CM_REP);
	assert_memory_equal(ends->last.rep.private_data, "pong\0", 5);
	expect_no_event(&ends->b);
}

static void
duplicate__rep_is_answered_by_the_same_rtu(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg rep;
	struct uroce_cm_msg rtu;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_move(ends, &ends->a, UROCE_CM_REQ);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, b, 0x22);
	assert_true(end_take(ends, &ends->b, &rep));
	end_give(ends, &ends->a, &rep);
	/* the REP arrives twice before the user of A has established the connection */
	end_give(ends, &ends->a, &rep);
	assert_false(uroce_cme_has_tx(ends->a.cm));
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, "ready", 5, 0), 0);
	assert_true(end_take(ends, &ends->a, &rtu));
	end_give(ends, &ends->a, &rep);
	ends_move(ends, &ends->a, UROCE_CM_RTU);
	assert_memory_equal(&ends->last, &rtu, sizeof(rtu));
	expect_no_event(&ends->a);
	/* B gets the RTU twice and reports the event once */
	end_give(ends, &ends->b, &rtu);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, b);
	expect_no_event(&ends->b);
}

static void
duplicate__dreq_is_answered_by_the_same_drep(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg dreq;
	struct uroce_cm_msg drep;

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, "end", 3, 0), 0);
	assert_true(end_take(ends, &ends->a, &dreq));
	assert_memory_equal(dreq.dreq.private_data, "end\0", 4);
	assert_int_equal(dreq.dreq.remote_qpn, 0x22);
	end_give(ends, &ends->b, &dreq);
	end_give(ends, &ends->b, &dreq);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	assert_int_equal(uroce_cme_disconnect(ends->b.cm, ids.b, "bye", 3, 0), 0);
	assert_true(end_take(ends, &ends->b, &drep));
	assert_true(drep.tid == dreq.tid);
	end_give(ends, &ends->b, &dreq);
	ends_move(ends, &ends->b, UROCE_CM_DREP);
	assert_memory_equal(&ends->last, &drep, sizeof(drep));
	end_give(ends, &ends->a, &drep);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
	expect_no_event(&ends->a);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	expect_no_event(&ends->b);
}

static void
dreq__must_name_our_qp(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg dreq;

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	assert_true(end_take(ends, &ends->a, &dreq));
	dreq.dreq.remote_qpn = 0x23;
	end_give(ends, &ends->b, &dreq);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
}

static void
dreq__of_unknown_id_is_confirmed(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg dreq = {
		.attr = UROCE_CM_DREQ,
		.tid = 77,
		.dreq = { .local_comm_id = 1, .remote_comm_id = 2, .remote_qpn = 3 },
	};

	end_give(ends, &ends->b, &dreq);
	ends_move(ends, &ends->b, UROCE_CM_DREP);
	assert_int_equal(ends->last.tid, 77);
	assert_int_equal(ends->last.drep.local_comm_id, 2);
	assert_int_equal(ends->last.drep.remote_comm_id, 1);
}

static void
dreq__before_rtu_ends_the_connection(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	ends_lose(ends, &ends->a, UROCE_CM_RTU);
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, a, NULL, 0, 0), 0);
	ends_move(ends, &ends->a, UROCE_CM_DREQ);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, b);
	expect_no_event(&ends->b);
}

static void
establish__by_data_before_the_rtu(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	assert_int_equal(uroce_cme_establish(ends->b.cm, b, NULL, 0, 0), 0);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, b);
	ends_move(ends, &ends->a, UROCE_CM_RTU);
	expect_no_event(&ends->b);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
}

static void
destroy__of_a_connection_never_waits(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	uroce_cme_destroy(ends->a.cm, ids.a, 0);
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x11) == UROCE_CM_NEVER);
	ends_settle(ends);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	uroce_cme_destroy(ends->b.cm, ids.b, 0);
	ends_settle(ends);
	expect_log(ends, "0 A>B DREQ\n0 B>A DREP\n");
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x11) > 2147 * MSEC);
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x11) < 2200 * MSEC);
	ends_pass(ends, 2200 * MSEC);
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x11) == 0);
	assert_true(uroce_cme_deadline(ends->a.cm) == UROCE_CM_NEVER);
	expect_no_event(&ends->a);
}

static void
both_ends__connect_at_once(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;
	uint32_t a_passive;
	uint32_t b_passive;

	(void)end_listen(&ends->a, PORT);
	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	b = end_connect(ends, &ends->b, 0x22);
	ends_settle(ends);
	a_passive = expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	b_passive = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->a, a_passive, 0x12);
	end_accept(ends, &ends->b, b_passive, 0x23);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_RESPONSE, b);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	assert_int_equal(uroce_cme_establish(ends->b.cm, b, NULL, 0, 0), 0);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_ESTABLISHED, a_passive);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, b_passive);
}

static void
responses__do_not_wait_behind_requests(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg req;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	(void)end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &req));
	end_give(ends, &ends->b, &req);
	for (uint32_t qpn = 0x100; qpn < 0x110; qpn++)
		(void)end_connect(ends, &ends->b, qpn);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, b, 0x22);
	ends_move(ends, &ends->b, UROCE_CM_REP);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(rep__gives_no_more_than_the_req_offers),
		TEST(connect__request_response_and_ready),
		TEST(connect__psns_cross_over),
		TEST(starting_psn__is_what_the_other_side_sends_first),
		TEST(req__has_what_linux_checks),
		TEST(disconnect__request_and_reply),
		TEST(disconnect__is_confirmed_without_the_user),
		TEST(disconnect__by_both_ends_at_once),
		TEST(duplicate__req_is_silently_dropped_until_answered),
		TEST(duplicate__rep_is_answered_by_the_same_rtu),
		TEST(duplicate__dreq_is_answered_by_the_same_drep),
		TEST(dreq__must_name_our_qp),
		TEST(dreq__of_unknown_id_is_confirmed),
		TEST(dreq__before_rtu_ends_the_connection),
		TEST(establish__by_data_before_the_rtu),
		TEST(destroy__of_a_connection_never_waits),
		TEST(both_ends__connect_at_once),
		TEST(responses__do_not_wait_behind_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
