/* SPDX-License-Identifier: BSD-3-Clause */

/* Refusals: REJs and their reasons, stale connections, floods of requests, alternate paths. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

static struct uroce_cm_msg
take_req(struct ends *ends, uint32_t qpn)
{
	struct uroce_cm_msg req;

	(void)end_connect(ends, &ends->a, qpn);
	assert_true(end_take(ends, &ends->a, &req));
	return req;
}

static void
expect_rej(struct ends *ends, enum uroce_cm_reason reason)
{
	struct uroce_cm_msg rej;

	assert_true(end_take(ends, &ends->b, &rej));
	assert_int_equal(rej.attr, UROCE_CM_REJ);
	assert_int_equal(rej.rej.reason, reason);
	assert_false(uroce_cme_has_tx(ends->b.cm));
}

static void
no_listener__rejects_with_8(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);

	ends_settle(ends);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status, 8);
	expect_state(&ends->a, a, UROCE_CM_STATE_CLOSED);
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x11) == 0);
	assert_int_equal(ends->last.rej.about, UROCE_CM_ABOUT_REQ);
	expect_log(ends, "0 A>B REQ\n0 B>A REJ 8\n");
}

/* B has restarted. The program at B listens again 20 ms later. */
static void
listener__that_returns_gets_the_repeated_request(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);

	uroce_cme_await_listeners(ends->b.cm, 100 * MSEC);
	ends_pass(ends, 20 * MSEC);
	expect_no_event(&ends->a);
	(void)end_listen(&ends->b, PORT);
	ends_pass(ends, 15 * MSEC);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	expect_state(&ends->a, a, UROCE_CM_STATE_REQ_SENT);
	expect_log(ends, "0 A>B REQ\n10 A>B REQ\n30 A>B REQ\n");
}

static void
no_listener__rejects_when_none_is_expected_any_more(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);

	uroce_cme_await_listeners(ends->b.cm, 25 * MSEC);
	ends_pass(ends, 35 * MSEC);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status, 8);
	expect_log(ends, "0 A>B REQ\n10 A>B REQ\n30 A>B REQ\n30 B>A REJ 8\n");
}

static void
every_reason__reaches_the_user(void **state)
{
	struct ends *ends = *state;

	(void)end_listen(&ends->b, PORT);
	for (uint16_t reason = 1; reason <= 35; reason++) {
		uint32_t a;
		uint32_t b;

		/* after this reason A tries again, and reports no event */
		if (reason == UROCE_CM_REASON_STALE_CONN)
			continue;
		a = end_connect(ends, &ends->a, 0x100u + reason);
		ends_settle(ends);
		b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
		assert_int_equal(uroce_cme_reject(ends->b.cm, b, reason, NULL, 0, 0), 0);
		ends_settle(ends);
		assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status, reason);
	}
}

static void
bad_req__is_refused(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg good = take_req(ends, 0x11);
	struct uroce_cm_msg bad;

	(void)end_listen(&ends->b, PORT);
	bad = good;
	bad.req.transport = UROCE_CM_TRANSPORT_RD;
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_INVALID_TRANSPORT);
	bad = good;
	bad.req.primary.local_gid[15]++;
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_INVALID_GID);
	bad = good;
	bad.req.primary.remote_gid[15]++;
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_INVALID_GID);
	bad = good;
	bad.req.private_data[19]++; /* last byte of the source address in the IP header */
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_INVALID_GID);
	bad = good;
	bad.req.private_data[0]++; /* version of the IP header */
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_CONSUMER_DEFINED);
	bad = good;
	bad.req.private_data[1] = 0x50; /* IP version in the IP header */
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_CONSUMER_DEFINED);
	bad = good;
	bad.req.local_qpn = 1;
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_NO_QP);
	bad = good;
	bad.req.mtu_code = 6;
	end_give(ends, &ends->b, &bad);
	expect_rej(ends, UROCE_CM_REASON_INVALID_MTU);
	expect_no_event(&ends->b);
	end_give(ends, &ends->b, &good);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
}

static void
response__can_be_rejected(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	/* A rejects the REP, as a user does whose QP cannot be moved to RTR */
	assert_int_equal(
		uroce_cme_reject(ends->a.cm, a, UROCE_CM_REASON_CONSUMER_DEFINED, NULL, 0, 0), 0);
	ends_lose(ends, &ends->a, UROCE_CM_REJ);
	assert_int_equal(ends->last.rej.about, UROCE_CM_ABOUT_REP);
	ends_pass(ends, 10 * MSEC);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).status, 28);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n0 A>B REJ 28 LOST\n10 B>A REP\n10 A>B REJ 28\n");
	/* A has received B's QPN, so B's QP must not be reused for a time */
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) > 2147 * MSEC);
}

/*
 * A REJ that ends a connection is reported without private data. The private data of an event that
 * was reported before does not change.
 */
static void
response__keeps_its_data_when_a_rej_follows(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);
	struct uroce_cm_msg rej = { .attr = UROCE_CM_REJ, .rej = { .private_data = "no" } };
	struct uroce_cm_event event;
	struct uroce_cm_info info;

	(void)end_listen(&ends->b, PORT);
	ends_settle(ends);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	end_accept(ends, &ends->b, event.id, 0x22);
	ends_settle(ends);
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, a, NULL, 0, 0), 0);
	uroce_cme_query(ends->a.cm, a, &info);
	rej.rej.local_comm_id = info.remote_comm_id;
	rej.rej.remote_comm_id = info.local_comm_id;
	rej.rej.about = UROCE_CM_ABOUT_OTHER;
	rej.rej.reason = UROCE_CM_REASON_INVALID_COMM_ID;
	end_give(ends, &ends->a, &rej);
	event = expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	assert_memory_equal(event.private_data, "pong\0", 5);
	event = expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, a);
	assert_int_equal(event.status, UROCE_CM_REASON_INVALID_COMM_ID);
	assert_int_equal(event.private_len, 0);
}

static void
backlog__bounds_a_flood_at_one_listener(void **state)
{
	struct ends *ends = *state;
	uint32_t other;

	(void)end_listen(&ends->b, PORT);
	for (uint32_t qpn = 0x100; qpn < 0x104; qpn++) {
		struct uroce_cm_msg req = take_req(ends, qpn);

		end_give(ends, &ends->b, &req);
		assert_false(uroce_cme_has_tx(ends->b.cm));
	}
	for (uint32_t qpn = 0x104; qpn < 0x120; qpn++) {
		struct uroce_cm_msg req = take_req(ends, qpn);

		end_give(ends, &ends->b, &req);
		expect_rej(ends, UROCE_CM_REASON_NO_RESOURCES);
	}
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_backlog_full, 0x1c);
	/*
	 * when the user takes the event of one request, the backlog has room for one more request
	 */
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	{
		struct uroce_cm_msg req = take_req(ends, 0x200);

		end_give(ends, &ends->b, &req);
		assert_false(uroce_cme_has_tx(ends->b.cm));
	}
	/* although the backlog is full, the user of B can connect and listen */
	other = end_connect(ends, &ends->b, 0x300);
	ends_lose(ends, &ends->b, UROCE_CM_REQ);
	uroce_cme_destroy(ends->b.cm, other, 0);
	(void)end_listen(&ends->b, PORT + 1);
}

static void
peers__do_not_take_the_last_ids(void **state)
{
	struct ends *ends = *state;
	unsigned nb = 0;
	uint32_t id;

	(void)end_listen(&ends->b, PORT);
	for (uint32_t qpn = 0x100; qpn < 0x200; qpn++) {
		struct uroce_cm_msg req = take_req(ends, qpn);
		struct uroce_cm_event event;
		struct uroce_cm_av av = { 0 };

		/*
		 * each request comes from another host, because one host gets only half of the ids
		 */
		memcpy(av.local_gid, ends->b.gid, 16);
		memcpy(av.remote_gid, ends->a.gid, 16);
		av.remote_gid[15] = req.req.primary.local_gid[15] = req.req.private_data[19] =
			(uint8_t)qpn;
		uroce_cme_recv(ends->b.cm, &req, &av, 0);
		if (!uroce_cme_next_event(ends->b.cm, &event)) {
			assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_no_id, 1);
			break;
		}
		nb++;
		/* restart A, so that its own ids suffice for all requests */
		end_restart(&ends->a);
	}
	assert_int_equal(nb, 64 - 64 / 8 - 1);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_not_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
}

static void
lingering_ids__give_way(void **state)
{
	struct ends *ends = *state;

	/* B remembers each REJ in an id for 13 s; 200 rejections need more ids than exist */
	(void)end_listen(&ends->b, PORT);
	for (uint32_t qpn = 0x100; qpn < 0x1c8; qpn++) {
		struct uroce_cm_msg req = take_req(ends, qpn);
		uint32_t b;

		end_give(ends, &ends->b, &req);
		b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
		uroce_cme_destroy(ends->b.cm, b, 0);
		expect_rej(ends, UROCE_CM_REASON_CONSUMER_DEFINED);
		end_restart(&ends->a);
	}
	ends_pass(ends, 13000 * MSEC);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
}

static void
listener__rejects_what_was_not_taken(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = end_listen(&ends->b, PORT);
	uint32_t a[3];
	uint32_t taken;

	for (uint32_t i = 0; i < 3; i++)
		a[i] = end_connect(ends, &ends->a, 0x100 + i);
	ends_settle(ends);
	taken = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	uroce_cme_destroy(ends->b.cm, listener, 0);
	ends_settle(ends);
	expect_no_event(&ends->b);
	expect_state(&ends->b, taken, UROCE_CM_STATE_REQ_RCVD);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a[1]).status, 28);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a[2]).status, 28);
	expect_no_event(&ends->a);
}

static void
stale__comm_id_in_timewait(void **state)
{
	struct ends *ends = *state;
	struct connected ids;
	struct uroce_cm_msg req;

	/* a late duplicate of the REQ arrives after the connection has ended */
	ids.listener = end_listen(&ends->b, PORT);
	ids.a = end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &req));
	end_give(ends, &ends->b, &req);
	ids.b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, ids.b, 0x22);
	ends_settle(ends);
	assert_int_equal(uroce_cme_establish(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_settle(ends);
	uroce_cme_destroy(ends->b.cm, ids.b, 0);
	ends_pass(ends, 200 * MSEC);
	end_give(ends, &ends->b, &req);
	expect_rej(ends, UROCE_CM_REASON_STALE_CONN);
	expect_no_event(&ends->b);
}

static void
stale__qp_that_is_believed_connected(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_event event;
	uint32_t a;

	/* A restarts and connects again with the same QPN */
	end_restart(&ends->a);
	a = end_connect(ends, &ends->a, 0x11);
	ends_pass(ends, 10 * MSEC);
	event = expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	end_accept(ends, &ends->b, event.id, 0x23);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	expect_log(ends, "0 A>B REQ\n0 B>A REJ 10\n0 B>A DREQ\n0 A>B DREP\n"
			 "10 A>B REQ\n10 B>A REP\n");
}

/*
 * A REQ to a service without a listener ends no connection, even if the REQ names the QP of a
 * connection: an attacker could forge such a REQ without knowing a service.
 */
static void
stale__not_by_a_req_without_a_listener(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg req, other;

	end_restart(&ends->a);
	req = take_req(ends, 0x11);
	other = req;
	other.req.service_id++;
	end_give(ends, &ends->b, &other);
	expect_rej(ends, UROCE_CM_REASON_INVALID_SERVICE_ID);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
	expect_no_event(&ends->b);
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_superseded, 0);
	/* if a program listens, the REQ shows that A has lost the connection */
	end_give(ends, &ends->b, &req);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_DREQ_SENT);
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_superseded, 1);
	/* the connection does not end twice */
	req.req.local_comm_id++;
	end_give(ends, &ends->b, &req);
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_superseded, 1);
}

static void
stale__comm_id_changes_for_each_attempt(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);
	uint32_t last_comm_id = 0;

	for (unsigned i = 0; i < 4; i++) {
		struct uroce_cm_msg req;
		struct uroce_cm_msg rej = { .attr = UROCE_CM_REJ };

		assert_true(end_take(ends, &ends->a, &req));
		assert_int_not_equal(req.req.local_comm_id, last_comm_id);
		last_comm_id = req.req.local_comm_id;
		rej.tid = req.tid;
		rej.rej.remote_comm_id = last_comm_id;
		rej.rej.reason = UROCE_CM_REASON_STALE_CONN;
		end_give(ends, &ends->a, &rej);
		if (i == 3)
			break;
		expect_no_event(&ends->a);
		ends->now_ns = uroce_cme_deadline(ends->a.cm);
		uroce_cme_expire(ends->a.cm, ends->now_ns);
	}
	/*
	 * after the fourth REJ with reason "stale connection" A gives up: the user has to use
	 * another QP
	 */
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status,
			 UROCE_CM_REASON_STALE_CONN);
	expect_log(ends, "0 A>B REQ\n10 A>B REQ\n30 A>B REQ\n70 A>B REQ\n");
}

static void
stale__late_rej_delays_the_next_attempt_by_10_ms(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg rej = { .attr = UROCE_CM_REJ };

	(void)end_connect(ends, &ends->a, 0x11);
	/* after many repetitions of the REQ the interval between repetitions is long */
	ends_pass_deaf(ends, 60000 * MSEC, &ends->a);
	rej.tid = ends->last.tid;
	rej.rej.remote_comm_id = ends->last.req.local_comm_id;
	rej.rej.reason = UROCE_CM_REASON_STALE_CONN;
	end_give(ends, &ends->a, &rej);
	ends->log_len = 0;
	ends_pass_deaf(ends, 50 * MSEC, &ends->a);
	expect_log(ends, "60010 A>B REQ LOST\n60030 A>B REQ LOST\n");
}

static void
stale__rep_is_not_accepted_later(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg rep;
	uint32_t a;
	uint32_t b;

	/* B restarts, and its REP names a QPN with which A has a connection */
	end_restart(&ends->b);
	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x12);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, b, 0x22);
	assert_true(end_take(ends, &ends->b, &rep));
	end_give(ends, &ends->a, &rep);
	ends_settle(ends);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).status,
			 UROCE_CM_REASON_STALE_CONN);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
	/*
	 * the old connection has ended, but A must not accept the REP that it has rejected, because
	 * B has ended that connection as well
	 */
	end_give(ends, &ends->a, &rep);
	expect_no_event(&ends->a);
	expect_state(&ends->a, a, UROCE_CM_STATE_REQ_SENT);
	ends_pass(ends, 10 * MSEC);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
}

static void
stale__no_more_after_a_rejection(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_event event;

	(void)end_listen(&ends->b, PORT);
	for (unsigned i = 0; i < 3; i++) {
		const uint32_t a = end_connect(ends, &ends->a, 0x11);

		/* A connects several times with one QP, while B remembers each REJ for 13 s */
		ends_settle(ends);
		event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
		uroce_cme_destroy(ends->b.cm, event.id, ends->now_ns);
		ends_settle(ends);
		assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status,
				 UROCE_CM_REASON_CONSUMER_DEFINED);
		uroce_cme_destroy(ends->a.cm, a, ends->now_ns);
	}
}

static void
stale__of_another_host_is_no_business(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg req = take_req(ends, 0x11);
	struct uroce_cm_av av = { 0 };

	/* a REQ of another host, which has the GUID of A and a QP with the same number */
	req.req.primary.local_gid[15] = 'C';
	req.req.private_data[19] = 'C';
	memcpy(av.local_gid, ends->b.gid, 16);
	memcpy(av.remote_gid, req.req.primary.local_gid, 16);
	uroce_cme_recv(ends->b.cm, &req, &av, 0);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
}

static void
forged_rej__is_ignored(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_info info;
	struct uroce_cm_msg rej = { .attr = UROCE_CM_REJ };

	uroce_cme_query(ends->a.cm, ids.a, &info);
	rej.rej.remote_comm_id = info.local_comm_id;
	rej.rej.local_comm_id = info.remote_comm_id + 1;
	rej.rej.reason = 28;
	end_give(ends, &ends->a, &rej);
	expect_state(&ends->a, ids.a, UROCE_CM_STATE_ESTABLISHED);
	rej.rej.local_comm_id = info.remote_comm_id;
	end_give(ends, &ends->a, &rej);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
}

static void
abandoned_req__is_withdrawn(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	uroce_cme_destroy(ends->a.cm, a, 0);
	ends_move(ends, &ends->a, UROCE_CM_REJ);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).status,
			 UROCE_CM_REASON_TIMEOUT);
}

static void
abandoned_req__answers_a_late_rep(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	uroce_cme_destroy(ends->a.cm, a, 0);
	ends_lose(ends, &ends->a, UROCE_CM_REJ);
	end_accept(ends, &ends->b, b, 0x22);
	ends_settle(ends);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).status,
			 UROCE_CM_REASON_TIMEOUT);
}

static void
request__withdrawn_before_it_was_taken_is_no_event(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = end_listen(&ends->b, PORT);
	uint32_t a;

	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	uroce_cme_destroy(ends->a.cm, a, 0);
	ends_settle(ends);
	expect_no_event(&ends->b);
	uroce_cme_destroy(ends->b.cm, listener, 0);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
}

static void
lap__is_refused(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg lap = { .attr = UROCE_CM_LAP, .tid = 5 };
	struct uroce_cm_info info;

	uroce_cme_query(ends->b.cm, ids.b, &info);
	lap.lap.local_comm_id = info.remote_comm_id;
	lap.lap.remote_comm_id = info.local_comm_id;
	end_give(ends, &ends->b, &lap);
	ends_move(ends, &ends->b, UROCE_CM_APR);
	assert_int_equal(ends->last.apr.status, UROCE_CM_APR_UNSUPPORTED);
	assert_int_equal(ends->last.tid, 5);
	lap.lap.remote_comm_id++;
	end_give(ends, &ends->b, &lap);
	ends_move(ends, &ends->b, UROCE_CM_APR);
	assert_int_equal(ends->last.apr.status, UROCE_CM_APR_INVALID_COMM_ID);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
}

static void
calls__in_a_wrong_state_are_refused(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param param = { .qpn = 5 };
	static const uint8_t data[255];
	uint32_t id;

	assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_not_equal(uroce_cme_listen(ends->a.cm, id, 0), 0);
	assert_int_not_equal(uroce_cme_accept(ends->a.cm, id, &param, 0), 0);
	assert_int_not_equal(uroce_cme_reject(ends->a.cm, id, 28, NULL, 0, 0), 0);
	assert_int_not_equal(uroce_cme_establish(ends->a.cm, id, NULL, 0, 0), 0);
	assert_int_not_equal(uroce_cme_disconnect(ends->a.cm, id, NULL, 0, 0), 0);
	uroce_cme_destroy(ends->a.cm, id, 0);
	id = ends_connect(ends, 0x11, 0x22).a;
	/* a DREQ has room for 220 bytes of private data */
	assert_int_not_equal(uroce_cme_disconnect(ends->a.cm, id, data, 221, 0), 0);
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, id, data, 220, 0), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(no_listener__rejects_with_8),
		TEST(listener__that_returns_gets_the_repeated_request),
		TEST(no_listener__rejects_when_none_is_expected_any_more),
		TEST(every_reason__reaches_the_user),
		TEST(bad_req__is_refused),
		TEST(response__can_be_rejected),
		TEST(response__keeps_its_data_when_a_rej_follows),
		TEST(backlog__bounds_a_flood_at_one_listener),
		TEST(peers__do_not_take_the_last_ids),
		TEST(lingering_ids__give_way),
		TEST(listener__rejects_what_was_not_taken),
		TEST(stale__comm_id_in_timewait),
		TEST(stale__qp_that_is_believed_connected),
		TEST(stale__not_by_a_req_without_a_listener),
		TEST(stale__comm_id_changes_for_each_attempt),
		TEST(stale__late_rej_delays_the_next_attempt_by_10_ms),
		TEST(stale__rep_is_not_accepted_later),
		TEST(stale__no_more_after_a_rejection),
		TEST(stale__of_another_host_is_no_business),
		TEST(forged_rej__is_ignored),
		TEST(abandoned_req__is_withdrawn),
		TEST(abandoned_req__answers_a_late_rep),
		TEST(request__withdrawn_before_it_was_taken_is_no_event),
		TEST(lap__is_refused),
		TEST(calls__in_a_wrong_state_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
