/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Datagram services: SIDR_REQ and SIDR_REP.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

static uint32_t
offer_service(struct end *end)
{
	struct uroce_cm_addr addr = end->ip;
	uint32_t id;

	addr.port = PORT;
	assert_int_equal(uroce_cme_create(end->cm, UROCE_CM_PS_UDP, true, 1, &id), 0);
	assert_int_equal(uroce_cme_bind(end->cm, id, &addr, false, false), 0);
	assert_int_equal(uroce_cme_listen(end->cm, id, 0), 0);
	return id;
}

static uint32_t
resolve_service(struct ends *ends)
{
	struct uroce_cm_addr remote = ends->b.ip;
	struct uroce_cm_av av = { .hop_limit = 64 };
	const struct uroce_cm_param param = { .private_len = 4, .private_data = "ping" };
	uint32_t id;

	remote.port = PORT;
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_UDP, true, 2, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->a.cm, id, &ends->a.ip, false, false), 0);
	assert_int_equal(uroce_cme_connect(ends->a.cm, id, &remote, &av, &param, ends->now_ns), 0);
	return id;
}

static void
resolve__tells_qpn_and_qkey(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param param = {
		.qpn = 0x22, .qkey = 0x1234567, .private_len = 4, .private_data = "pong"
	};
	struct uroce_cm_event event;
	struct uroce_cm_info info;
	uint32_t a;
	uint32_t b;

	(void)offer_service(&ends->b);
	a = resolve_service(ends);
	ends_settle(ends);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	b = event.id;
	assert_int_equal(event.private_len, UROCE_CM_SIDR_REQ_USER_LEN);
	assert_memory_equal(event.private_data, "ping\0", 5);
	assert_int_equal(uroce_cme_accept(ends->b.cm, b, &param, 0), 0);
	ends_settle(ends);
	event = expect_event(&ends->a, UROCE_CM_EVENT_ESTABLISHED, a);
	assert_int_equal(event.private_len, UROCE_CM_SIDR_REP_PRIVATE_LEN);
	assert_memory_equal(event.private_data, "pong\0", 5);
	uroce_cme_query(ends->a.cm, a, &info);
	assert_int_equal(info.remote_qpn, 0x22);
	assert_int_equal(info.remote_qkey, 0x1234567);
	expect_log(ends, "0 A>B SIDR_REQ\n0 B>A SIDR_REP\n");
	uroce_cme_destroy(ends->a.cm, a, 0);
	uroce_cme_destroy(ends->b.cm, b, 0);
	assert_false(uroce_cme_has_tx(ends->a.cm));
	assert_false(uroce_cme_has_tx(ends->b.cm));
	ends_pass(ends, 13000 * MSEC);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
}

static void
lost_sidr_messages__are_repeated(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param param = { .qpn = 0x22 };
	uint32_t a;
	uint32_t b;

	(void)offer_service(&ends->b);
	a = resolve_service(ends);
	ends_lose(ends, &ends->a, UROCE_CM_SIDR_REQ);
	ends_pass(ends, 200 * MSEC);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	/* before the user has answered, a duplicate of the SIDR_REQ is dropped */
	end_give(ends, &ends->b, &ends->last);
	expect_no_event(&ends->b);
	assert_int_equal(uroce_cme_accept(ends->b.cm, b, &param, ends->now_ns), 0);
	ends_lose(ends, &ends->b, UROCE_CM_SIDR_REP);
	ends_pass(ends, 400 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_ESTABLISHED, a);
	expect_log(ends, "0 A>B SIDR_REQ LOST\n200 A>B SIDR_REQ\n200 B>A SIDR_REP LOST\n"
			 "600 A>B SIDR_REQ\n600 B>A SIDR_REP\n");
}

static void
no_service__is_unreachable(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = resolve_service(ends);

	ends_settle(ends);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_UNREACHABLE, a).status,
			 UROCE_CM_SIDR_UNSUPPORTED);
}

static void
no_service__is_resolved_again_while_listeners_are_expected(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = resolve_service(ends);

	uroce_cme_await_listeners(ends->b.cm, 100 * MSEC);
	ends_settle(ends);
	expect_no_event(&ends->a);
	ends_pass(ends, 200 * MSEC);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_UNREACHABLE, a).status,
			 UROCE_CM_SIDR_UNSUPPORTED);
}

static void
refused_service__is_unreachable(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_event event;
	uint32_t a;
	uint32_t b;

	(void)offer_service(&ends->b);
	a = resolve_service(ends);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	assert_int_equal(uroce_cme_reject(ends->b.cm, b, UROCE_CM_SIDR_NO_QP, "no", 2, 0), 0);
	ends_settle(ends);
	event = expect_event(&ends->a, UROCE_CM_EVENT_UNREACHABLE, a);
	assert_int_equal(event.status, UROCE_CM_SIDR_NO_QP);
	assert_memory_equal(event.private_data, "no\0", 3);
	assert_int_equal(ends->last.sidr_rep.qpn, 0);
}

static void
sidr_rep__without_a_qp_is_ignored(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = resolve_service(ends);
	struct uroce_cm_msg rep = { .attr = UROCE_CM_SIDR_REP };
	struct uroce_cm_msg req;

	assert_true(end_take(ends, &ends->a, &req));
	rep.tid = req.tid;
	rep.sidr_rep.request_id = req.sidr_req.request_id;
	rep.sidr_rep.qpn = 1;
	end_give(ends, &ends->a, &rep);
	expect_no_event(&ends->a);
	expect_state(&ends->a, a, UROCE_CM_STATE_SIDR_REQ_SENT);
	rep.sidr_rep.qpn = 2;
	end_give(ends, &ends->a, &rep);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_ESTABLISHED, a);
}

static void
refusal__has_a_status_that_is_none_of_success(void **state)
{
	struct ends *ends = *state;
	uint32_t b;

	(void)offer_service(&ends->b);
	(void)resolve_service(ends);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	assert_int_equal(uroce_cme_reject(ends->b.cm, b, 0, NULL, 0, 0), -EINVAL);
	assert_int_equal(uroce_cme_reject(ends->b.cm, b, 0x100, NULL, 0, 0), -EINVAL);
	assert_false(uroce_cme_has_tx(ends->b.cm));
}

static void
silent_service__times_out(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = resolve_service(ends);

	ends_pass_deaf(ends, 69000 * MSEC, &ends->a);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_UNREACHABLE, a).status, -ETIMEDOUT);
	assert_int_equal(uroce_cme_stats(ends->a.cm)->nb_tx[UROCE_CM_SIDR_REQ - UROCE_CM_REQ], 16);
}

static void
connection__at_a_datagram_service_is_refused(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = ends->b.ip;
	uint32_t id;
	uint32_t a;

	addr.port = PORT;
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, true, 1, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &addr, false, false), 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, id, 0), 0);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status, 8);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(resolve__tells_qpn_and_qkey),
		TEST(lost_sidr_messages__are_repeated),
		TEST(no_service__is_unreachable),
		TEST(no_service__is_resolved_again_while_listeners_are_expected),
		TEST(refused_service__is_unreachable),
		TEST(sidr_rep__without_a_qp_is_ignored),
		TEST(refusal__has_a_status_that_is_none_of_success),
		TEST(silent_service__times_out),
		TEST(connection__at_a_datagram_service_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
