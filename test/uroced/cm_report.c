/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the requests of uroced's telemetry to the connection manager: the replies of the server,
 * requests that the server must not serve, and replies of a hostile connection manager.
 */

#include "cm_report.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "cm/service_id.h"
#include "cm/state.h"
#include "cm_rig.h"
#include "send_fd.h"

#define HANG_MS 300000 /* a limit that is only reached if a call hangs */

static struct cm_report report;

/* --- requests ------------------------------------------------------------------------------------ */

/* Send a request to the server, and receive its reply. */
static void
query(enum cm_report_kind kind, uint32_t first)
{
	const struct cm_report_request request = { .number = 5, .kind = kind, .first = first };

	assert_int_equal(send(reports[0], &request, sizeof(request), 0), sizeof(request));
	cm_server_round(&server, HANG_MS);
	assert_int_equal(recv(reports[0], &report, sizeof(report), MSG_DONTWAIT), sizeof(report));
	assert_int_equal(report.number, 5);
	assert_int_equal(report.kind, kind);
}

static const struct uroce_cm_row *
find_row(uint32_t id, const struct uroce_cm_row_owner **owner)
{
	for (uint32_t i = 0; i < report.ids.nb; i++) {
		if (report.ids.row[i].id != id)
			continue;
		*owner = &report.ids.owner[i];
		return &report.ids.row[i];
	}
	fail_msg("id %u is not in the list", id);
	return NULL;
}

/* --- replies of the server ----------------------------------------------------------------------- */

static void
stats__count_the_messages_of_all_clients(void **state)
{
	uint32_t anns, bobs;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	query(CM_REPORT_STATS, 0);
	for (enum uroce_cm_attr attr = UROCE_CM_REQ; attr <= UROCE_CM_RTU; attr++) {
		const bool is_sent =
			attr == UROCE_CM_REQ || attr == UROCE_CM_REP || attr == UROCE_CM_RTU;

		assert_int_equal(report.stats.cm.nb_tx[attr - UROCE_CM_REQ], is_sent);
		assert_int_equal(report.stats.cm.nb_rx[attr - UROCE_CM_REQ], is_sent);
	}
}

static void
ids__have_their_clients(void **state)
{
	const struct uroce_cm_row_owner *owner;
	const struct uroce_cm_row *row;
	uint32_t listener, anns, bobs;

	(void)state;
	if (geteuid() != 0)
		skip();
	program_hang_up(&bob);
	program_open_as(&bob, OTHER_UID, 30);
	listener = program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	query(CM_REPORT_IDS, 0);
	assert_int_equal(report.ids.nb, 3);
	assert_int_equal(report.ids.next, UROCE_CM_NO_ID);
	row = find_row(listener, &owner);
	assert_int_equal(row->state, UROCE_CM_STATE_LISTEN);
	assert_true(owner->is_known);
	assert_int_equal(owner->uid, OTHER_UID);
	assert_int_equal(owner->pid, getpid());
	row = find_row(bobs, &owner);
	assert_int_equal(row->state, UROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(owner->uid, OTHER_UID);
	row = find_row(anns, &owner);
	assert_int_equal(row->remote_qpn, PROGRAM_QPN(&bob));
	assert_int_equal(owner->uid, geteuid());
}

static void
request__that_waits_belongs_to_the_client_of_its_listener(void **state)
{
	const struct uroce_cm_row_owner *owner;
	uint32_t listener;

	(void)state;
	if (geteuid() != 0)
		skip();
	program_hang_up(&bob);
	program_open_as(&bob, OTHER_UID, 30);
	listener = program_listen_at(&bob, PORT);
	(void)program_connect_id(&ann);
	query(CM_REPORT_IDS, 0);
	assert_int_equal(report.ids.nb, 3);
	for (uint32_t i = 0; i < report.ids.nb; i++) {
		if (report.ids.row[i].state != UROCE_CM_STATE_REQ_RCVD)
			continue;
		assert_int_equal(report.ids.row[i].listener, listener);
		owner = &report.ids.owner[i];
		assert_true(owner->is_known);
		assert_int_equal(owner->uid, OTHER_UID);
		return;
	}
	fail_msg("no request waits");
}

/*
 * When a client has ended, its connection stays in the engine, without an owner, until the peer has
 * answered the DREQ.
 */
static void
ids__of_a_client_that_has_gone_have_no_client(void **state)
{
	const struct uroce_cm_row_owner *owner;
	uint32_t anns, bobs;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	engine.is_cut = true;
	program_hang_up(&ann);
	rig_settle();
	query(CM_REPORT_IDS, 0);
	assert_int_equal(find_row(anns, &owner)->state, UROCE_CM_STATE_DREQ_SENT);
	assert_false(find_row(anns, &owner)->has_owner);
	assert_false(owner->is_known);
}

static void
list__of_many_ids_comes_in_parts(void **state)
{
	uint32_t first = 0, nb = 0, id;

	(void)state;
	for (unsigned i = 0; i < 2 * UROCE_CM_REPLY_ROWS + 3; i++)
		assert_int_equal(program_create(&ann, &id), 0);
	while (first != UROCE_CM_NO_ID) {
		query(CM_REPORT_IDS, first);
		assert_in_range(report.ids.nb, 1, UROCE_CM_REPLY_ROWS);
		nb += report.ids.nb;
		first = report.ids.next;
	}
	assert_int_equal(nb, 2 * UROCE_CM_REPLY_ROWS + 3);
}

/* --- requests that are not served ---------------------------------------------------------------- */

/*
 * Expect that the server does not answer requests of telemetry any more, but still serves its
 * clients.
 */
static void
expect_deaf(void)
{
	const struct cm_report_request request = { .kind = CM_REPORT_STATS };
	uint32_t id;

	rig_settle();
	assert_int_equal(send(reports[0], &request, sizeof(request), MSG_DONTWAIT),
			 sizeof(request));
	rig_settle();
	assert_int_equal(recv(reports[0], &report, sizeof(report), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(program_create(&ann, &id), 0);
}

static void
request__of_another_length_is_the_last(void **state)
{
	static const char bytes[sizeof(struct cm_report_request) + 1];

	(void)state;
	assert_int_equal(send(reports[0], bytes, sizeof(bytes), 0), sizeof(bytes));
	expect_deaf();
}

static void
request__of_another_kind_is_the_last(void **state)
{
	const struct cm_report_request request = { .kind = CM_REPORT_NB };

	(void)state;
	assert_int_equal(send(reports[0], &request, sizeof(request), 0), sizeof(request));
	expect_deaf();
}

static void
request__with_a_descriptor_is_the_last(void **state)
{
	const struct cm_report_request request = { .kind = CM_REPORT_STATS };

	(void)state;
	assert_int_equal(send_fd(reports[0], &request, sizeof(request), STDERR_FILENO),
			 sizeof(request));
	expect_deaf();
}

static void
hang_up__of_telemetry_ends_nothing(void **state)
{
	uint32_t id;

	(void)state;
	assert_int_equal(close(reports[0]), 0);
	reports[0] = -1;
	rig_settle();
	assert_int_equal(program_create(&ann, &id), 0);
}

/*
 * When the socket is full of replies that telemetry does not read, the server drops further replies
 * and does not wait.
 */
static void
reply__without_room_is_dropped(void **state)
{
	const struct cm_report_request request = { .kind = CM_REPORT_IDS };
	uint32_t id;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		(void)send(reports[0], &request, sizeof(request), MSG_DONTWAIT);
		cm_server_round(&server, 0);
	}
	assert_int_equal(program_create(&ann, &id), 0);
}

/* --- replies of a hostile connection manager ----------------------------------------------------- */

/* A connection manager that sends the reply which a test has prepared. */
struct liar {
	int socket;
	struct cm_report reply; /* the reply; the number of the request is added to its number */
	size_t len;             /* length of the reply; 0 to hang up instead of a reply */
};

static void *
lie(void *arg)
{
	struct liar *liar = arg;
	struct cm_report_request request;

	if (recv(liar->socket, &request, sizeof(request), 0) != sizeof(request))
		return NULL;
	liar->reply.number += request.number;
	if (liar->len)
		(void)send(liar->socket, &liar->reply, liar->len, MSG_NOSIGNAL);
	else
		(void)shutdown(liar->socket, SHUT_RDWR);
	return NULL;
}

static int
query_liar(struct liar *liar, uint32_t first, int timeout_ms)
{
	struct cm_report_request request = { .kind = CM_REPORT_IDS, .first = first };
	pthread_t thread;
	int ends[2], ret;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	liar->socket = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, lie, liar), 0);
	ret = cm_report_ask(ends[0], &request, &report, timeout_ms);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
	return ret;
}

static struct liar
honest(void)
{
	return (struct liar){
		.reply = { .kind = CM_REPORT_IDS, .ids = { .next = UROCE_CM_NO_ID, .nb = 1 } },
		.len = sizeof(struct cm_report),
	};
}

static void
query__returns_a_well_formed_reply(void **state)
{
	struct liar liar = honest();

	(void)state;
	assert_int_equal(query_liar(&liar, 7, HANG_MS), 0);
	assert_int_equal(report.ids.nb, 1);
	liar = honest();
	liar.reply.ids.next = 8;
	assert_int_equal(query_liar(&liar, 7, HANG_MS), 0);
}

static void
query__refuses_malformed_replies(void **state)
{
	struct liar liar = honest();

	(void)state;
	liar.reply.kind = CM_REPORT_STATS;
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPROTO);
	liar = honest();
	liar.reply.ids.nb = UROCE_CM_REPLY_ROWS + 1;
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPROTO);
	liar = honest();
	liar.reply.ids.next = 7;
	/* a list whose next part begins with the same id as this part would have no end */
	assert_int_equal(query_liar(&liar, 7, HANG_MS), -EPROTO);
	liar = honest();
	memset(&liar.reply.ids.row[0].has_owner, 2, 1);
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPROTO);
	liar = honest();
	memset(&liar.reply.ids.owner[0].is_known, 2, 1);
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPROTO);
	liar = honest();
	liar.len--;
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPROTO);
	liar = honest();
	liar.len = 0;
	assert_int_equal(query_liar(&liar, 0, HANG_MS), -EPIPE);
}

static void
query__waits_for_a_limited_time(void **state)
{
	struct liar liar = honest();

	(void)state;
	/* a reply that does not have the number of the request is skipped */
	liar.reply.number = UINT32_MAX;
	assert_int_equal(query_liar(&liar, 0, 20), -ETIMEDOUT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stats__count_the_messages_of_all_clients),
		TEST(ids__have_their_clients),
		TEST(request__that_waits_belongs_to_the_client_of_its_listener),
		TEST(ids__of_a_client_that_has_gone_have_no_client),
		TEST(list__of_many_ids_comes_in_parts),
		TEST(request__of_another_length_is_the_last),
		TEST(request__of_another_kind_is_the_last),
		TEST(request__with_a_descriptor_is_the_last),
		TEST(hang_up__of_telemetry_ends_nothing),
		TEST(reply__without_room_is_dropped),
		cmocka_unit_test(query__returns_a_well_formed_reply),
		cmocka_unit_test(query__refuses_malformed_replies),
		cmocka_unit_test(query__waits_for_a_limited_time),
	};

	return rig_start() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
