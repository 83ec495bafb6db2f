/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The list of ids: which ids are in it, what a row contains, and that each id appears once if the
 * list is read in parts.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cm/id_list.h"
#include "cm/service_id.h"
#include "ends.h"

#define NB_MAX 16

struct list {
	struct uroce_cm_row row[NB_MAX];
	unsigned nb;
};

/* Read the whole list of ids of an end, with at most `step` ids in a call. */
static struct list
list_in_steps(struct ends *ends, const struct end *end, unsigned step)
{
	struct list list = { .nb = 0 };
	uint32_t next = 0;

	while (next != UROCE_CM_NO_ID) {
		assert_true(list.nb + step <= NB_MAX);
		list.nb += uroce_cme_list(end->cm, &next, &list.row[list.nb], step, ends->now_ns);
	}
	return list;
}

static struct list
list_of(struct ends *ends, const struct end *end)
{
	return list_in_steps(ends, end, NB_MAX);
}

static void
empty_engine__has_an_empty_list(void **state)
{
	struct ends *ends = *state;

	assert_int_equal(list_of(ends, &ends->a).nb, 0);
}

static void
connection__is_shown_from_both_sides(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	const struct list a = list_of(ends, &ends->a), b = list_of(ends, &ends->b);
	const struct uroce_cm_row *passive;

	assert_int_equal(a.nb, 1);
	assert_int_equal(a.row[0].id, ids.a);
	assert_int_equal(a.row[0].state, UROCE_CM_STATE_ESTABLISHED);
	assert_true(a.row[0].is_active);
	assert_true(a.row[0].has_owner);
	assert_int_equal(a.row[0].space, UROCE_CM_PS_TCP);
	assert_int_equal(a.row[0].local_qpn, 0x11);
	assert_int_equal(a.row[0].remote_qpn, 0x22);
	assert_int_equal(a.row[0].remote.port, PORT);
	assert_memory_equal(a.row[0].remote.ip, ends->b.ip.ip, 16);
	assert_true(a.row[0].left_ns == UROCE_CM_NEVER);
	assert_int_equal(b.nb, 2);
	passive = &b.row[b.row[0].id == ids.b ? 0 : 1];
	assert_int_equal(passive->id, ids.b);
	assert_false(passive->is_active);
	assert_int_equal(passive->local.port, PORT);
	assert_int_equal(passive->remote.port, a.row[0].local.port);
	assert_int_equal(passive->local_comm_id, a.row[0].remote_comm_id);
	assert_int_equal(passive->remote_comm_id, a.row[0].local_comm_id);
}

static void
request__that_waits_names_its_listener(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = end_listen(&ends->b, PORT);
	struct list b;

	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	b = list_of(ends, &ends->b);
	assert_int_equal(b.nb, 2);
	assert_int_equal(b.row[0].id, listener);
	assert_int_equal(b.row[0].state, UROCE_CM_STATE_LISTEN);
	assert_int_equal(b.row[0].nb_waiting, 1);
	assert_in_range(b.row[0].max_backlog, 1, 1024);
	assert_int_equal(b.row[1].state, UROCE_CM_STATE_REQ_RCVD);
	assert_int_equal(b.row[1].listener, listener);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, b.row[1].id);
	b = list_of(ends, &ends->b);
	assert_int_equal(b.row[0].nb_waiting, 0);
	assert_int_equal(b.row[1].listener, UROCE_CM_NO_ID);
}

static void
repetitions__are_counted_and_the_time_to_the_next_is_known(void **state)
{
	struct ends *ends = *state;
	struct list a;

	(void)end_connect(ends, &ends->a, 0x11);
	ends_lose(ends, &ends->a, UROCE_CM_REQ);
	a = list_of(ends, &ends->a);
	assert_int_equal(a.row[0].state, UROCE_CM_STATE_REQ_SENT);
	assert_int_equal(a.row[0].nb_retries, 0);
	assert_in_range(a.row[0].left_ns, 1, 60 * UINT64_C(1000000000));
	ends_pass_deaf(ends, a.row[0].left_ns, &ends->a);
	a = list_of(ends, &ends->a);
	assert_int_equal(a.row[0].nb_retries, 1);
}

/* A destroyed id stays in the list until the peer has confirmed the DREQ and TIMEWAIT is over. */
static void
destroyed_id__is_shown_without_owner(void **state)
{
	struct ends *ends = *state;
	const struct connected ids = ends_connect(ends, 0x11, 0x22);
	struct list a;

	uroce_cme_destroy(ends->a.cm, ids.a, ends->now_ns);
	a = list_of(ends, &ends->a);
	assert_int_equal(a.nb, 1);
	assert_false(a.row[0].has_owner);
	assert_int_equal(a.row[0].state, UROCE_CM_STATE_DREQ_SENT);
	ends_settle(ends);
	uroce_cme_destroy(ends->b.cm, ids.b, ends->now_ns);
	ends_pass(ends, 600 * UINT64_C(1000000000));
	assert_int_equal(list_of(ends, &ends->a).nb, 0);
}

static void
list__in_parts_has_each_id_once(void **state)
{
	struct ends *ends = *state;
	uint32_t ids[7];

	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_UDP, true, i, &ids[i]),
				 0);
	uroce_cme_destroy(ends->a.cm, ids[3], ends->now_ns);
	for (unsigned step = 1; step <= 8; step++) {
		const struct list list = list_in_steps(ends, &ends->a, step);

		assert_int_equal(list.nb, 6);
		for (unsigned i = 0; i < 6; i++) {
			assert_int_equal(list.row[i].id, ids[i < 3 ? i : i + 1]);
			assert_true(list.row[i].is_datagram);
			assert_int_equal(list.row[i].state, UROCE_CM_STATE_IDLE);
		}
	}
}

/*
 * Reading the list from a number that no id has is the end of the list and no error: the number may
 * come from a client, which may send any number.
 */
static void
list__from_an_unknown_id_is_empty(void **state)
{
	static const uint32_t firsts[] = { 1, 1u << 24, UROCE_CM_NO_ID - 1, UROCE_CM_NO_ID };
	struct ends *ends = *state;
	struct uroce_cm_row row;
	uint32_t id;

	assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	for (unsigned i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		uint32_t next = firsts[i];

		assert_int_equal(uroce_cme_list(ends->a.cm, &next, &row, 1, ends->now_ns), 0);
		assert_int_equal(next, UROCE_CM_NO_ID);
	}
}

static void
space__has_the_name_of_rdma_cm(void **state)
{
	(void)state;
	assert_string_equal(uroce_cm_space_name(UROCE_CM_PS_TCP), "TCP");
	assert_string_equal(uroce_cm_space_name(UROCE_CM_PS_UDP), "UDP");
	assert_string_equal(uroce_cm_space_name(UROCE_CM_PS_IB), "IB");
	assert_string_equal(uroce_cm_space_name(UROCE_CM_PS_IPOIB), "IPOIB");
	assert_string_equal(uroce_cm_space_name(7), "?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_engine__has_an_empty_list),
		TEST(connection__is_shown_from_both_sides),
		TEST(request__that_waits_names_its_listener),
		TEST(repetitions__are_counted_and_the_time_to_the_next_is_known),
		TEST(destroyed_id__is_shown_without_owner),
		TEST(list__in_parts_has_each_id_once),
		TEST(list__from_an_unknown_id_is_empty),
		TEST(space__has_the_name_of_rdma_cm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
