/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several users that share an engine: each gets the events of its own ids only.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

#define NB_OWNERS 3

static int
setup(void **state)
{
	struct ends *ends;

	(void)ends_setup(state);
	ends = *state;
	ends->b.conf.max_owners = NB_OWNERS;
	end_restart(&ends->b);
	return 0;
}

/* Listen at B for an owner. */
static uint32_t
listen_for(struct ends *ends, uint16_t port, uint16_t owner)
{
	const uint32_t id = end_listen(&ends->b, port);

	uroce_cme_set_owner(ends->b.cm, id, owner);
	return id;
}

static void
request__goes_to_the_owner_of_its_listener(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = listen_for(ends, PORT, 2);
	struct uroce_cm_event event;

	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 0));
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 1));
	assert_true(uroce_cme_has_owner_event(ends->b.cm, 2));
	assert_false(uroce_cme_next_event(ends->b.cm, &event));
	assert_false(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 2, &event));
	assert_int_equal(event.kind, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event.listener, listener);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 2));
	/* later events of the new id go there, too */
	assert_true(uroce_cme_is_owner(ends->b.cm, event.id, 2));
	end_accept(ends, &ends->b, event.id, 0x22);
	ends_settle(ends);
	assert_int_equal(uroce_cme_establish(ends->b.cm, event.id, NULL, 0, ends->now_ns), 0);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 2, &event));
	assert_int_equal(event.kind, UROCE_CM_EVENT_ESTABLISHED);
}

static void
is_owner__of_ids_that_the_user_knows(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = listen_for(ends, PORT, 1);
	struct uroce_cm_event event;
	uint32_t nb_owned = 0;

	assert_true(uroce_cme_is_owner(ends->b.cm, listener, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, listener, 0));
	assert_false(uroce_cme_is_owner(ends->b.cm, UROCE_CM_NO_ID, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, ends->b.conf.max_ids, 1));
	/* the id of a request is unknown to the user until the event was taken */
	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	for (uint32_t id = 0; id < ends->b.conf.max_ids; id++)
		nb_owned += uroce_cme_is_owner(ends->b.cm, id, 1);
	assert_int_equal(nb_owned, 1);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	assert_true(uroce_cme_is_owner(ends->b.cm, event.id, 1));
	uroce_cme_destroy(ends->b.cm, event.id, ends->now_ns);
	assert_false(uroce_cme_is_owner(ends->b.cm, event.id, 1));
}

static void
destroy_owned__leaves_the_ids_of_others(void **state)
{
	struct ends *ends = *state;
	const uint32_t kept = listen_for(ends, PORT + 1, 0);
	const uint32_t listener = listen_for(ends, PORT, 1);
	struct uroce_cm_event event;
	uint32_t a[2];

	/* one request was taken, the other was not */
	for (unsigned i = 0; i < 2; i++)
		a[i] = end_connect(ends, &ends->a, 0x11 + i);
	ends_settle(ends);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, listener, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, event.id, 1));
	assert_true(uroce_cme_is_owner(ends->b.cm, kept, 0));
	ends_settle(ends);
	for (unsigned i = 0; i < 2; i++)
		(void)expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, UROCE_CM_NO_ID);
	for (unsigned i = 0; i < 2; i++)
		expect_state(&ends->a, a[i], UROCE_CM_STATE_CLOSED);
}

/* An id that nobody has used costs nothing: its memory keeps the bytes that it had. */
static void
init__does_not_write_ids_that_are_not_used(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_conf conf = { .max_ids = 64 };
	const size_t len = uroce_cme_memsize(&conf);
	size_t nb_same = 0;

	memset(ends->b.mem, 0xa5, len);
	(void)uroce_cme_init(ends->b.mem, &conf);
	for (size_t i = 0; i < len; i++)
		nb_same += ((const uint8_t *)ends->b.mem)[i] == 0xa5;
	assert_true(nb_same >= 64 * 700);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(request__goes_to_the_owner_of_its_listener),
		TEST(is_owner__of_ids_that_the_user_knows),
		TEST(destroy_owned__leaves_the_ids_of_others),
		TEST(init__does_not_write_ids_that_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
