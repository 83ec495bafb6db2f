/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Loss of messages: when a message is repeated, and when an end gives up. The expected logs are the
 * ladder diagrams of the standard, with times.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

/* Take the request at B, accept it, and return the id of B. */
static uint32_t
accept_request(struct ends *ends)
{
	const uint32_t b =
		expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;

	end_accept(ends, &ends->b, b, 0x22);
	return b;
}

static void
lost_req__is_repeated_after_10_ms(void **state)
{
	struct ends *ends = *state;
	uint32_t a;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_lose(ends, &ends->a, UROCE_CM_REQ);
	ends_pass(ends, 10 * MSEC);
	(void)accept_request(ends);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	expect_log(ends, "0 A>B REQ LOST\n10 A>B REQ\n10 B>A REP\n");
}

static void
lost_rep__is_repeated_after_10_ms(void **state)
{
	struct ends *ends = *state;
	uint32_t a;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	(void)accept_request(ends);
	ends_lose(ends, &ends->b, UROCE_CM_REP);
	ends_pass(ends, 10 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	/* both ends repeat their message after 10 ms, so the REQ and the REP cross */
	expect_log(ends, "0 A>B REQ\n0 B>A REP LOST\n10 A>B REQ\n10 B>A REP\n");
}

static void
lost_rtu__is_repeated_for_the_next_rep(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, "now", 3, 0), 0);
	ends_lose(ends, &ends->a, UROCE_CM_RTU);
	ends_pass(ends, 10 * MSEC);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, b);
	assert_memory_equal(ends->last.rtu.private_data, "now\0", 4);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n0 A>B RTU LOST\n10 B>A REP\n10 A>B RTU\n");
}

static void
lost_dreq_and_drep__are_repeated(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_lose(ends, &ends->a, UROCE_CM_DREQ);
	ends_pass(ends, 10 * MSEC);
	assert_int_equal(uroce_cme_disconnect(ends->b.cm, ids.b, NULL, 0, ends->now_ns), 0);
	ends_lose(ends, &ends->b, UROCE_CM_DREP);
	ends_pass(ends, 20 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a);
	expect_log(ends, "0 A>B DREQ LOST\n10 A>B DREQ\n10 B>A DREP LOST\n"
			 "30 A>B DREQ\n30 B>A DREP\n");
}

static void
silent_peer__req_is_repeated_15_times(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_event event;
	uint32_t a;
	const uint64_t *nb_tx = uroce_cme_stats(ends->a.cm)->nb_tx;

	a = end_connect(ends, &ends->a, 0x11);
	/* A waits for 16 response timeouts of 4.3 s, which are 68.7 s */
	ends_pass_deaf(ends, 68700 * MSEC, &ends->a);
	assert_int_equal(nb_tx[UROCE_CM_REQ - UROCE_CM_ATTR_FIRST], 16);
	assert_int_equal(uroce_cme_stats(ends->a.cm)->nb_tx_retries[0], 15);
	expect_no_event(&ends->a);
	ends_pass_deaf(ends, 100 * MSEC, &ends->a);
	event = expect_event(&ends->a, UROCE_CM_EVENT_UNREACHABLE, a);
	assert_int_equal(event.status, -ETIMEDOUT);
	assert_memory_equal(ends->log,
			    "0 A>B REQ LOST\n10 A>B REQ LOST\n30 A>B REQ LOST\n"
			    "70 A>B REQ LOST\n150 A>B REQ LOST\n310 A>B REQ LOST\n"
			    "630 A>B REQ LOST\n1270 A>B REQ LOST\n2550 A>B REQ LOST\n"
			    "5110 A>B REQ LOST\n",
			    150);
	/* A sends a REJ when it gives up, because the peer may have received a REQ */
	assert_int_equal(ends->last.attr, UROCE_CM_REJ);
	assert_int_equal(ends->last.rej.reason, UROCE_CM_REASON_TIMEOUT);
}

static void
silent_peer__rep_is_given_up(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	ends_pass_deaf(ends, 68800 * MSEC, &ends->a);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_UNREACHABLE, b).status, -ETIMEDOUT);
	/* B sends a REJ when it gives up, so the connection of A ends */
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, a);
}

static void
silent_peer__dreq_is_given_up(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_pass_deaf(ends, 68800 * MSEC, &ends->a);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, ids.a).status,
			 -ETIMEDOUT);
	ends_pass_deaf(ends, 3000 * MSEC, &ends->a);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_TIMEWAIT_EXIT, ids.a);
}

static void
lost_rej__is_repeated_with_its_private_data(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_event event;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	assert_int_equal(
		uroce_cme_reject(ends->b.cm, b, UROCE_CM_REASON_CONSUMER_DEFINED, "no", 2, 0), 0);
	uroce_cme_destroy(ends->b.cm, b, 0);
	ends_lose(ends, &ends->b, UROCE_CM_REJ);
	ends_pass(ends, 10 * MSEC);
	event = expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a);
	assert_int_equal(event.status, 28);
	assert_memory_equal(event.private_data, "no\0", 3);
	expect_log(ends, "0 A>B REQ\n0 B>A REJ 28 LOST\n10 A>B REQ\n10 B>A REJ 28\n");
	expect_no_event(&ends->b);
}

static void
destroy__after_the_rep_is_repeated_until_confirmed(void **state)
{
	struct ends *ends = *state;
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	ends_lose(ends, &ends->a, UROCE_CM_RTU);
	uroce_cme_destroy(ends->b.cm, b, 0);
	ends_lose(ends, &ends->b, UROCE_CM_DREQ);
	ends_pass(ends, 10 * MSEC);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, a);
}

static void
dreq__that_overtakes_the_rep_ends_the_attempt(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg rep;
	uint32_t a;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = accept_request(ends);
	assert_true(end_take(ends, &ends->b, &rep));
	uroce_cme_destroy(ends->b.cm, b, 0);
	ends_settle(ends);
	assert_int_equal(expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, a).status,
			 UROCE_CM_REASON_CONSUMER_DEFINED);
	end_give(ends, &ends->a, &rep);
	expect_no_event(&ends->a);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n0 B>A DREQ\n0 A>B DREP\n");
}

static void
rtu__after_the_end_is_rejected(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg drep = { .attr = UROCE_CM_DREP };
	struct uroce_cm_msg rep;
	uint32_t a;
	uint32_t b;

	/* the active side confirms a DREQ for a connection that it does not know, as Linux does */
	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = accept_request(ends);
	assert_true(end_take(ends, &ends->b, &rep));
	uroce_cme_destroy(ends->b.cm, b, 0);
	ends_lose(ends, &ends->b, UROCE_CM_DREQ);
	drep.tid = ends->last.tid;
	drep.drep.local_comm_id = rep.rep.remote_comm_id;
	drep.drep.remote_comm_id = rep.rep.local_comm_id;
	end_give(ends, &ends->b, &drep);
	end_give(ends, &ends->a, &rep);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, a);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_DISCONNECTED, a);
}

static void
first_interval__follows_the_round_trip(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct uroce_cm_msg drep;

	/*
	 * the DREQ and the DREP measure a round trip of 30 ms; the samples of the messages before
	 * were 0
	 */
	for (uint32_t i = 0; i < 2; i++)
		end_restart(&ends->b);
	assert_int_equal(uroce_cme_disconnect(ends->a.cm, ids.a, NULL, 0, 0), 0);
	ends_move(ends, &ends->a, UROCE_CM_DREQ);
	assert_true(end_take(ends, &ends->b, &drep));
	ends->now_ns = 30 * MSEC;
	end_give(ends, &ends->a, &drep);
	ends->log_len = 0;
	(void)end_listen(&ends->b, PORT);
	(void)end_connect(ends, &ends->a, 0x12);
	ends_lose(ends, &ends->a, UROCE_CM_REQ);
	ends_pass(ends, 60 * MSEC);
	expect_log(ends, "30 A>B REQ LOST\n90 A>B REQ\n");
}

static void
mra__stretches_the_timer_once(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg mra = { .attr = UROCE_CM_MRA };
	uint32_t a;

	(void)end_listen(&ends->b, PORT);
	a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	mra.tid = ends->last.tid;
	mra.mra = (struct uroce_cm_mra){
		.local_comm_id = 99,
		.remote_comm_id = ends->last.req.local_comm_id,
		.about = UROCE_CM_ABOUT_REQ,
		.timeout_code = 20, /* service timeout of 4.3 s */
	};
	end_give(ends, &ends->a, &mra);
	expect_state(&ends->a, a, UROCE_CM_STATE_REQ_ACKED);
	ends_pass(ends, 4000 * MSEC);
	end_give(ends, &ends->a, &mra);
	ends_pass(ends, 400 * MSEC);
	expect_log(ends, "0 A>B REQ\n4304 A>B REQ\n4324 A>B REQ\n4364 A>B REQ\n");
	assert_int_equal(uroce_cme_stats(ends->a.cm)->nb_rx_duplicates[1], 1);
}

/* Connect until B has sent its REP, and give B an MRA for the REP. */
static struct connected
acknowledge_rep(struct ends *ends)
{
	struct uroce_cm_msg mra = { .attr = UROCE_CM_MRA };
	struct connected ids;

	(void)end_listen(&ends->b, PORT);
	ids.a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	ids.b = accept_request(ends);
	ends_settle(ends);
	mra.mra = (struct uroce_cm_mra){
		.local_comm_id = ends->last.rep.remote_comm_id,
		.remote_comm_id = ends->last.rep.local_comm_id,
		.about = UROCE_CM_ABOUT_REP,
		.timeout_code = 24, /* service timeout of 69 s, as Linux sends it */
	};
	end_give(ends, &ends->b, &mra);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_REP_ACKED);
	return ids;
}

static void
mra__of_a_rep_makes_its_repetitions_rare(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = acknowledge_rep(ends);

	ends_pass(ends, 2000 * MSEC);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n100 B>A REP\n300 B>A REP\n700 B>A REP\n"
			 "1500 B>A REP\n");
	/* the user of A needs a minute, and B still waits */
	ends_pass(ends, 60000 * MSEC);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_REP_ACKED);
	assert_int_equal(uroce_cme_establish(ends->a.cm, ids.a, NULL, 0, ends->now_ns), 0);
	ends_settle(ends);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
}

/* The peer sends an RTU again only when it receives the REP again. */
static void
mra__of_a_rep_does_not_delay_a_lost_rtu(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = acknowledge_rep(ends);

	assert_int_equal(uroce_cme_establish(ends->a.cm, ids.a, NULL, 0, ends->now_ns), 0);
	ends_lose(ends, &ends->a, UROCE_CM_RTU);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_REP_ACKED);
	ends_pass(ends, 110 * MSEC);
	expect_state(&ends->b, ids.b, UROCE_CM_STATE_ESTABLISHED);
}

static void
unsent_message__waits_for_the_caller(void **state)
{
	struct ends *ends = *state;
	const uint32_t a = end_connect(ends, &ends->a, 0x11);

	/* timers expire, but uroce_cme_send() is not called */
	for (uint64_t ms = 0; ms < 5000; ms++)
		uroce_cme_expire(ends->a.cm, ms * MSEC);
	assert_int_equal(uroce_cme_stats(ends->a.cm)->nb_tx[0], 0);
	expect_state(&ends->a, a, UROCE_CM_STATE_REQ_SENT);
	/* no message was sent, so no REJ has to be sent to the peer */
	uroce_cme_destroy(ends->a.cm, a, 5000 * MSEC);
	assert_false(uroce_cme_has_tx(ends->a.cm));
	assert_true(uroce_cme_deadline(ends->a.cm) == UROCE_CM_NEVER);
}

static void
returned_host__ends_the_old_connection(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);

	end_restart(&ends->a);
	assert_int_equal(uroce_cme_disconnect(ends->b.cm, ids.b, NULL, 0, 0), 0);
	ends_settle(ends);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_DISCONNECTED, ids.b);
	expect_log(ends, "0 B>A DREQ\n0 A>B DREP\n");
}

static void
returned_host__rejects_what_it_does_not_know(void **state)
{
	struct ends *ends = *state;
	uint32_t b;

	(void)end_listen(&ends->b, PORT);
	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = accept_request(ends);
	end_restart(&ends->a);
	ends_settle(ends);
	assert_int_equal(expect_event(&ends->b, UROCE_CM_EVENT_REJECTED, b).status,
			 UROCE_CM_REASON_INVALID_COMM_ID);
	expect_log(ends, "0 A>B REQ\n0 B>A REP\n0 A>B REJ 6\n");
}

/*
 * B ends a connection whose REP is still on the way. The DREQ arrives before the REP, and the peer
 * confirms it without knowing the connection, as Linux does. Then the peer gets the REP and sends
 * an RTU. If the RTU arrives at B before the DREP, this DREP does not end the connection.
 */
static void
drep__behind_a_late_rtu_is_not_the_end(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg rtu = { .attr = UROCE_CM_RTU };
	struct uroce_cm_msg drep = { .attr = UROCE_CM_DREP };
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	uroce_cme_destroy(ends->b.cm, b, 0);
	ends_lose(ends, &ends->b, UROCE_CM_DREQ);
	rtu.rtu.local_comm_id = drep.drep.local_comm_id = ends->last.dreq.remote_comm_id;
	rtu.rtu.remote_comm_id = drep.drep.remote_comm_id = ends->last.dreq.local_comm_id;
	drep.tid = ends->last.tid;
	end_give(ends, &ends->b, &rtu);
	end_give(ends, &ends->b, &drep);
	ends_lose(ends, &ends->b, UROCE_CM_DREQ);
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) == UROCE_CM_NEVER);
	end_give(ends, &ends->b, &drep);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) != UROCE_CM_NEVER);
}

/*
 * Establish a connection that B ends, and lose the DREQ of B.
 * @return a DREP of A that confirms this DREQ
 */
static struct uroce_cm_msg
lose_dreq_of_an_established_end(struct ends *ends)
{
	struct uroce_cm_msg drep = { .attr = UROCE_CM_DREP };
	uint32_t a;
	uint32_t b;

	ends_accept(ends, &a, &b);
	uroce_cme_destroy(ends->b.cm, b, 0);
	assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, 0), 0);
	ends_move(ends, &ends->a, UROCE_CM_RTU);
	ends_lose(ends, &ends->b, UROCE_CM_DREQ);
	drep.drep.local_comm_id = ends->last.dreq.remote_comm_id;
	drep.drep.remote_comm_id = ends->last.dreq.local_comm_id;
	drep.tid = ends->last.tid;
	return drep;
}

/* The RTU of the peer arrives before B sends its DREQ, so a DREP ends the connection. */
static void
drep__behind_an_early_rtu_is_the_end(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg drep = lose_dreq_of_an_established_end(ends);

	end_give(ends, &ends->b, &drep);
	assert_false(uroce_cme_has_tx(ends->b.cm));
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) != UROCE_CM_NEVER);
}

/*
 * A DREP with another TID confirms a DREQ that B has not sent: an attacker may have sent that DREQ
 * to the peer in B's name.
 */
static void
drep__of_another_dreq_is_dropped(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg drep = lose_dreq_of_an_established_end(ends);

	drep.tid++;
	end_give(ends, &ends->b, &drep);
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) == UROCE_CM_NEVER);
	drep.tid--;
	end_give(ends, &ends->b, &drep);
	assert_true(uroce_cme_qpn_busy_until(ends->b.cm, 0x22) != UROCE_CM_NEVER);
}

/* A waits for the REP. A DREQ that names a QPN which is not A's is not answered. */
static void
dreq__before_the_rep_must_name_our_qp(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg dreq = { .attr = UROCE_CM_DREQ, .tid = 1 };
	struct uroce_cm_msg req;

	(void)end_listen(&ends->b, PORT);
	(void)end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &req));
	dreq.dreq.local_comm_id = 0x12345678;
	dreq.dreq.remote_comm_id = req.req.local_comm_id;
	dreq.dreq.remote_qpn = 0x12;
	end_give(ends, &ends->a, &dreq);
	assert_false(uroce_cme_has_tx(ends->a.cm));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(drep__of_another_dreq_is_dropped),
		TEST(dreq__before_the_rep_must_name_our_qp),
		TEST(lost_req__is_repeated_after_10_ms),
		TEST(lost_rep__is_repeated_after_10_ms),
		TEST(lost_rtu__is_repeated_for_the_next_rep),
		TEST(lost_dreq_and_drep__are_repeated),
		TEST(silent_peer__req_is_repeated_15_times),
		TEST(silent_peer__rep_is_given_up),
		TEST(silent_peer__dreq_is_given_up),
		TEST(lost_rej__is_repeated_with_its_private_data),
		TEST(destroy__after_the_rep_is_repeated_until_confirmed),
		TEST(drep__behind_a_late_rtu_is_not_the_end),
		TEST(drep__behind_an_early_rtu_is_the_end),
		TEST(dreq__that_overtakes_the_rep_ends_the_attempt),
		TEST(rtu__after_the_end_is_rejected),
		TEST(first_interval__follows_the_round_trip),
		TEST(mra__stretches_the_timer_once),
		TEST(mra__of_a_rep_makes_its_repetitions_rare),
		TEST(mra__of_a_rep_does_not_delay_a_lost_rtu),
		TEST(unsent_message__waits_for_the_caller),
		TEST(returned_host__ends_the_old_connection),
		TEST(returned_host__rejects_what_it_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
