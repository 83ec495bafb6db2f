/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A peer that sends wrong messages, too many messages, or never ends a connection: what it can do
 * to its own connections, to the calls of this side's user, and to other hosts.
 */

#include <errno.h>
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

/* Deliver a message to B with the source address 192.0.2.`host`. */
static void
give_from(struct ends *ends, uint8_t host, const struct uroce_cm_msg *msg)
{
	struct uroce_cm_av av = { 0 };

	memcpy(av.local_gid, ends->b.gid, 16);
	memcpy(av.remote_gid, ends->a.gid, 16);
	av.remote_gid[15] = host;
	uroce_cme_recv(ends->b.cm, msg, &av, ends->now_ns);
}

/* Deliver A's REQ to B from 192.0.2.`host`, with a comm id and a QP that `number` selects. */
static void
give_req_of(struct ends *ends, uint8_t host, const struct uroce_cm_msg *req, uint32_t number)
{
	struct uroce_cm_msg other = *req;

	other.req.primary.local_gid[15] = host;
	other.req.private_data[19] = host; /* last byte of the source address in the IP header */
	other.req.local_comm_id = 0x10000u * host + number;
	other.req.local_qpn = 0x100 + number;
	give_from(ends, host, &other);
}

/* @return the reason of B's next message, which must be a REJ; 0: B sends no message */
static uint16_t
take_reason(struct ends *ends)
{
	struct uroce_cm_tx tx;
	struct uroce_cm_msg msg;

	if (!uroce_cme_send(ends->b.cm, &tx, 1, ends->now_ns))
		return 0;
	assert_int_equal(uroce_cm_parse(tx.mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
	assert_int_equal(msg.attr, UROCE_CM_REJ);
	return msg.rej.reason;
}

/* The state of an id when a wrong message arrives: an id of A, or of B in the last two rows. */
enum stage {
	STAGE_REQ_SENT,
	STAGE_REP_RCVD,
	STAGE_ESTABLISHED,
	STAGE_DREQ_SENT,
	STAGE_DREQ_RCVD,
	STAGE_TIMEWAIT,
	STAGE_NB
};

/* Restart A and B, and bring ids to a stage. @return the id of A; `b` receives that of B */
static uint32_t
bring_to(struct ends *ends, enum stage stage, uint32_t *b)
{
	uint32_t a;

	end_restart(&ends->a);
	end_restart(&ends->b);
	if (stage == STAGE_REQ_SENT) {
		(void)end_listen(&ends->b, PORT);
		a = end_connect(ends, &ends->a, 0x11);
		ends_move(ends, &ends->a, UROCE_CM_REQ);
		*b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
		return a;
	}
	ends_accept(ends, &a, b);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	if (stage == STAGE_REP_RCVD)
		return a;
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, ends->now_ns), 0);
	ends_settle(ends);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, *b);
	if (stage == STAGE_ESTABLISHED)
		return a;
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, a, NULL, 0, ends->now_ns), 0);
	ends_move(ends, &ends->a, UROCE_CM_DREQ);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, *b);
	if (stage == STAGE_DREQ_SENT)
		return a;
	/* in the stages DREQ_RCVD and TIMEWAIT it is B that receives the wrong messages */
	if (stage == STAGE_TIMEWAIT) {
		assert_int_equal(uroce_cme_disconnect(ends->b.cm, *b, NULL, 0, ends->now_ns), 0);
		ends_lose(ends, &ends->b, UROCE_CM_DREP);
	}
	return a;
}

/* A valid message to the id that `info` describes. The caller makes one field wrong. */
static struct uroce_cm_msg
message_to(const struct uroce_cm_info *info, enum uroce_cm_attr attr)
{
	struct uroce_cm_msg msg = { .attr = attr, .tid = 1234 };

	/* all messages that the callers use have the comm ids at the same place as an RTU */
	msg.rtu.local_comm_id = info->remote_comm_id;
	msg.rtu.remote_comm_id = info->local_comm_id;
	if (attr == UROCE_CM_REP)
		msg.rep.local_qpn = 0x77;
	if (attr == UROCE_CM_REJ)
		msg.rej.reason = UROCE_CM_REASON_CONSUMER_DEFINED;
	if (attr == UROCE_CM_DREQ)
		msg.dreq.remote_qpn = info->local_qpn;
	if (attr == UROCE_CM_MRA)
		msg.mra.timeout_code = 31;
	return msg;
}

static void
lie__in_each_state_changes_nothing(void **state)
{
	static const enum uroce_cm_attr attrs[] = {
		UROCE_CM_MRA,  UROCE_CM_REJ, UROCE_CM_REP, UROCE_CM_RTU,     UROCE_CM_DREQ,
		UROCE_CM_DREP, UROCE_CM_LAP, UROCE_CM_APR, UROCE_CM_SIDR_REP
	};
	struct ends *ends = *state;

	for (unsigned stage = 0; stage < STAGE_NB; stage++) {
		for (unsigned i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
			uint32_t b;
			const uint32_t a = bring_to(ends, stage, &b);
			struct end *end = stage < STAGE_DREQ_RCVD ? &ends->a : &ends->b;
			const uint32_t id = stage < STAGE_DREQ_RCVD ? a : b;
			struct uroce_cm_info info;
			struct uroce_cm_msg msg;

			uroce_cme_query(end->cm, id, &info);
			msg = message_to(&info, attrs[i]);
			msg.rtu.remote_comm_id++; /* the receiver has no id with this comm id */
			end_give(ends, end, &msg);
			expect_state(end, id, info.state);
			msg = message_to(&info, attrs[i]);
			/*
			 * the sender has another comm id; if the receiver does not know one, only
			 * the TID is wrong
			 */
			msg.rtu.local_comm_id += info.remote_comm_id ? 1 : 0;
			if (attrs[i] == UROCE_CM_MRA)
				msg.mra.about = UROCE_CM_ABOUT_OTHER;
			if (attrs[i] == UROCE_CM_DREQ)
				msg.dreq.remote_qpn++;
			end_give(ends, end, &msg);
			expect_state(end, id, info.state);
			expect_no_event(end);
			ends->log_len = 0;
		}
	}
}

static void
req__that_is_wrong_ends_no_connection(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg good;
	struct uroce_cm_msg bad;

	/* after A has restarted, a valid REQ with the old QP would end B's connection */
	end_restart(&ends->a);
	good = take_req(ends, 0x11);
	bad = good;
	bad.req.mtu_code = 0;
	end_give(ends, &ends->b, &bad);
	assert_int_equal(take_reason(ends), UROCE_CM_REASON_INVALID_MTU);
	bad = good;
	bad.req.primary.remote_gid[15]++;
	end_give(ends, &ends->b, &bad);
	assert_int_equal(take_reason(ends), UROCE_CM_REASON_INVALID_GID);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	end_give(ends, &ends->b, &good);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_DREQ_SENT);
}

static void
rep__with_another_guid_ends_no_connection_of_its_owner(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg req = take_req(ends, 0x12);
	struct uroce_cm_msg rep = { .attr = UROCE_CM_REP, .tid = req.tid };
	struct uroce_cm_av av = { 0 };

	/* another host answers A's REQ with a REP that has the GUID and the QP of B */
	rep.rep = (struct uroce_cm_rep){ .local_comm_id = 5,
					 .remote_comm_id = req.req.local_comm_id,
					 .local_qpn = 0x22,
					 .local_ca_guid = ends->b.conf.ca_guid };
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	av.remote_gid[15] = 'C';
	uroce_cme_recv(ends->a.cm, &rep, &av, ends->now_ns);
	expect_state(&ends->a, ids.a, UROCE_CM_STATE_ESTABLISHED);
	expect_no_event(&ends->a);
}

static void
rep__with_a_huge_ack_delay_does_not_prolong_timewait(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg rep;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_move(ends, &ends->a, UROCE_CM_REQ);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, b, 0x22);
	assert_true(end_take(ends, &ends->b, &rep));
	rep.rep.ack_delay_code = 31; /* ACK delay of 2.4 hours */
	end_give(ends, &ends->a, &rep);
	uroce_cme_destroy(ends->a.cm, a, 0);
	ends_settle(ends);
	a = end_connect(ends, &ends->a, 0x12);
	ends_move(ends, &ends->a, UROCE_CM_REQ);
	b = expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).id;
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, b, 0x23);
	assert_true(end_take(ends, &ends->b, &rep));
	rep.rep.ack_delay_code = 31;
	end_give(ends, &ends->a, &rep);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	uroce_cme_destroy(ends->a.cm, a, 0);
	ends_settle(ends);
	ends_pass(ends, 200 * MSEC);
	assert_true(uroce_cme_qpn_busy_until(ends->a.cm, 0x12) < 18000 * MSEC);
}

static void
rej__does_not_linger_as_long_as_the_peer_repeats(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg req = take_req(ends, 0x11);
	struct uroce_cm_event event;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	end_give(ends, &ends->b, &req);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	uroce_cme_destroy(ends->b.cm, b, 0);
	/* the peer repeats its REQ for too long, and gets the REJ each time */
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(take_reason(ends), UROCE_CM_REASON_CONSUMER_DEFINED);
		ends->now_ns += 5000 * MSEC;
		uroce_cme_expire(ends->b.cm, ends->now_ns);
		end_give(ends, &ends->b, &req);
		if (uroce_cme_next_event(ends->b.cm, &event))
			break;
	}
	/* after 16 + 3 response timeouts B takes the REQ as a new one */
	assert_int_equal(event.kind, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_in_range(ends->now_ns / MSEC, 80000, 90000);
}

static void
mra__storm_stretches_the_attempt_once(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);
	struct uroce_cm_event event = { 0 };
	struct uroce_cm_msg req;
	struct uroce_cm_msg mra = { .attr = UROCE_CM_MRA };

	assert_true(end_take(ends, &ends->a, &req));
	mra.tid = req.tid;
	mra.mra = (struct uroce_cm_mra){ .remote_comm_id = req.req.local_comm_id,
					 .local_comm_id = 7,
					 .timeout_code = 31 };
	while (!uroce_cme_next_event(ends->a.cm, &event)) {
		end_give(ends, &ends->a, &mra);
		ends->log_len = 0;
		ends_pass_deaf(ends, 100 * MSEC, &ends->a);
	}
	assert_int_equal(event.id, a);
	assert_int_equal(event.kind, UROCE_CM_EVENT_UNREACHABLE);
	/* A gives up after 16 timeouts of 4.3 s and a service timeout of 69 s */
	assert_in_range(ends->now_ns / MSEC, 137000, 138000);
}

static void
backlog__of_one_host_leaves_room_for_others(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg req = take_req(ends, 0x11);
	uint32_t number;

	(void)end_listen(&ends->b, PORT);
	/* the backlog is 4: host X fills it, and its further REQs are rejected */
	for (number = 0; number < 4; number++)
		give_req_of(ends, 'X', &req, number);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	for (; number < 40; number++) {
		give_req_of(ends, 'X', &req, number);
		assert_int_equal(take_reason(ends), UROCE_CM_REASON_NO_RESOURCES);
	}
	/*
	 * 8 requests of all hosts together may wait: 4 are of X, Y gets half of the other 4, and Z
	 * gets half of the rest
	 */
	for (number = 0; number < 2; number++)
		give_req_of(ends, 'Y', &req, number);
	give_req_of(ends, 'Z', &req, 0);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	give_req_of(ends, 'Y', &req, 2);
	assert_int_equal(take_reason(ends), UROCE_CM_REASON_NO_RESOURCES);
	for (unsigned i = 0; i < 7; i++)
		(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	expect_no_event(&ends->b);
}

static void
half_open__of_one_host_leave_ids_for_others(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg req = take_req(ends, 0x11);
	struct uroce_cm_event event;
	uint32_t ids[64];
	unsigned nb = 0;

	(void)end_listen(&ends->b, PORT);
	/* B accepts each request, and host X never sends an RTU */
	for (uint32_t number = 0; number < 64; number++) {
		give_req_of(ends, 'X', &req, number);
		if (!uroce_cme_next_event(ends->b.cm, &event))
			break;
		ids[nb++] = event.id;
		end_accept(ends, &ends->b, event.id, 0x400 + number);
	}
	/* of 64 ids, 8 are reserved for the user and 1 is the listener: X gets half of 55 */
	assert_int_equal(nb, 28);
	give_req_of(ends, 'Y', &req, 0);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	/* established connections do not count for the limit of half open ids of X */
	give_req_of(ends, 'X', &req, 100);
	expect_no_event(&ends->b);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uroce_cme_establish(ends->b.cm, ids[i], NULL, 0, 0), 0);
		(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, ids[i]);
	}
	give_req_of(ends, 'X', &req, 101);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
}

static void
replies__to_one_host_leave_room_for_others(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg req = take_req(ends, 0x11);
	struct uroce_cm_msg dreq = { .attr = UROCE_CM_DREQ };
	struct uroce_cm_tx tx;
	bool is_answered = false;

	/* host X sends DREQs for unknown connections, and B transmits no DREP meanwhile */
	for (uint32_t i = 1; i < 2000; i++) {
		dreq.dreq.local_comm_id = i;
		dreq.dreq.remote_comm_id = i;
		give_from(ends, 'X', &dreq);
	}
	give_req_of(ends, 'Y', &req, 0); /* no id of B listens, so B has to send a REJ to host Y */
	while (uroce_cme_send(ends->b.cm, &tx, 1, 0))
		is_answered |= tx.av.remote_gid[15] == 'Y';
	assert_true(is_answered);
}

static void
requests__have_a_share_of_each_burst(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg dreq = { .attr = UROCE_CM_DREQ };
	struct uroce_cm_msg msg;

	(void)end_connect(ends, &ends->b, 0x11);
	/* host X keeps B busy with DREQs, and B transmits one message at a time */
	for (unsigned i = 0; i < 10; i++) {
		struct uroce_cm_tx tx;

		give_from(ends, 'X', &dreq);
		give_from(ends, 'X', &dreq);
		assert_int_equal(uroce_cme_send(ends->b.cm, &tx, 1, 0), 1);
		assert_int_equal(uroce_cm_parse(tx.mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
		if (msg.attr == UROCE_CM_REQ)
			return;
	}
	fail();
}

static void
listener__rejects_its_own_requests_alone(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_msg req = take_req(ends, 0x11);
	const uint32_t first = end_listen(&ends->b, PORT);
	struct uroce_cm_msg other = req;

	(void)end_listen(&ends->b, PORT + 1);
	give_req_of(ends, 'X', &req, 0);
	other.req.service_id++;
	give_req_of(ends, 'X', &other, 1);
	give_req_of(ends, 'Y', &req, 0);
	uroce_cme_destroy(ends->b.cm, first, 0);
	assert_int_equal(take_reason(ends), UROCE_CM_REASON_CONSUMER_DEFINED);
	assert_int_equal(take_reason(ends), UROCE_CM_REASON_CONSUMER_DEFINED);
	assert_int_equal(take_reason(ends), 0);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	expect_no_event(&ends->b);
}

static void
call__with_a_bad_parameter_is_refused(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param good = { .qpn = 0x11, .mtu_code = 3 };
	struct uroce_cm_addr remote = ends->b.ip;
	struct uroce_cm_addr mapped = { .ip_version = 6,
					.ip = { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 1 } };
	struct uroce_cm_av av = { .hop_limit = 64 };
	struct uroce_cm *cm = ends->a.cm;
	struct uroce_cm_param bad;
	uint32_t id;
	uint32_t b;

	remote.port = PORT;
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cme_create(cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(cm, id, &mapped, false, false), -EADDRNOTAVAIL);
	assert_int_equal(uroce_cme_bind(cm, id, &ends->a.ip, false, false), 0);
	bad = good, bad.qpn = 1;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	bad = good, bad.qpn = 0x1000000;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	bad = good, bad.mtu_code = 6;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	bad = good, bad.transport = UROCE_CM_TRANSPORT_RD;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	bad = good, bad.transport = 4;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	bad = good, bad.ack_timeout_code = 32;
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &bad, 0), -EINVAL);
	expect_state(&ends->a, id, UROCE_CM_STATE_IDLE);
	(void)end_listen(&ends->b, PORT);
	assert_int_equal(uroce_cme_connect(cm, id, &remote, &av, &good, 0), 0);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	bad = good, bad.qpn = 0;
	assert_int_equal(uroce_cme_accept(ends->b.cm, b, &bad, 0), -EINVAL);
	assert_int_equal(uroce_cme_reject(ends->b.cm, b, 0, NULL, 0, 0), -EINVAL);
	expect_state(&ends->b, b, UROCE_CM_STATE_REQ_RCVD);
	end_accept(ends, &ends->b, b, 0x22);
	assert_int_equal(uroce_cme_qpn_busy_until(ends->b.cm, 0), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(lie__in_each_state_changes_nothing),
		TEST(req__that_is_wrong_ends_no_connection),
		TEST(rep__with_another_guid_ends_no_connection_of_its_owner),
		TEST(rep__with_a_huge_ack_delay_does_not_prolong_timewait),
		TEST(rej__does_not_linger_as_long_as_the_peer_repeats),
		TEST(mra__storm_stretches_the_attempt_once),
		TEST(backlog__of_one_host_leaves_room_for_others),
		TEST(half_open__of_one_host_leave_ids_for_others),
		TEST(replies__to_one_host_leave_room_for_others),
		TEST(requests__have_a_share_of_each_burst),
		TEST(listener__rejects_its_own_requests_alone),
		TEST(call__with_a_bad_parameter_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
