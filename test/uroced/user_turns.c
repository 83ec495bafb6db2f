/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests which clients are served next, among clients of a few users that always have a message. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "uroced/user_turns.h"

#define HOSTILE    65534u
#define HONEST     1000u
#define NB_CROWD   512u
#define NB_CLIENTS (NB_CROWD + 2)

static struct user_turn clients[NB_CLIENTS];
static uint64_t nb_served;
static unsigned nb_of[NB_CLIENTS];

/* Make a user with many clients, and two users with one client each. */
static int
set_up(void **state)
{
	(void)state;
	nb_served = 0;
	memset(nb_of, 0, sizeof(nb_of));
	for (uint32_t i = 0; i < NB_CLIENTS; i++)
		clients[i] = (struct user_turn){ i < NB_CROWD ? HOSTILE : HONEST + i, i, 0 };
	return 0;
}

/*
 * Serve the chosen clients, as the control thread does.
 * @return the number of users that were served before `client`
 */
static unsigned
serve_once(uint32_t client)
{
	struct user_turn turns[NB_CLIENTS];
	unsigned nb, place = NB_CLIENTS;

	memcpy(turns, clients, sizeof(turns));
	nb = user_turns_choose(turns, NB_CLIENTS);
	assert_int_equal(nb, 3);
	for (unsigned i = 0; i < nb; i++) {
		clients[turns[i].slot].served = ++nb_served;
		nb_of[turns[i].slot]++;
		if (turns[i].slot == client)
			place = i;
	}
	return place;
}

static void
client__waits_for_one_message_of_each_other_user(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10 * NB_CROWD; i++)
		assert_true(serve_once(NB_CROWD) < 3);
	assert_int_equal(nb_of[NB_CROWD], 10 * NB_CROWD);
	assert_int_equal(nb_of[NB_CROWD + 1], 10 * NB_CROWD);
}

static void
clients__of_one_user_have_turns(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10 * NB_CROWD; i++)
		(void)serve_once(0);
	for (unsigned i = 0; i < NB_CROWD; i++)
		assert_int_equal(nb_of[i], 10);
}

/* Of a user's clients, those that were not served yet come first. */
static void
client__that_is_new_is_served_first(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 7; i++)
		(void)serve_once(0);
	clients[300] = (struct user_turn){ HONEST, 300, 0 };
	clients[301] = (struct user_turn){ HONEST, 301, 0 };
	clients[NB_CROWD].uid = clients[NB_CROWD + 1].uid;
	assert_true(serve_once(300) < 3);
	assert_true(serve_once(301) < 3);
}

static void
nobody__is_chosen_where_nobody_is(void **state)
{
	(void)state;
	assert_int_equal(user_turns_choose(clients, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(client__waits_for_one_message_of_each_other_user, set_up),
		cmocka_unit_test_setup(clients__of_one_user_have_turns, set_up),
		cmocka_unit_test_setup(client__that_is_new_is_served_first, set_up),
		cmocka_unit_test_setup(nobody__is_chosen_where_nobody_is, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
