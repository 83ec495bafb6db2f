/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The limits of what a user's clients have together. A client beyond a limit is refused with the
 * reason, and is counted. Meanwhile clients of other users attach and leave. When clients of the
 * user have left, new ones attach.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"

#define OTHER_UID  65534u
#define NB_CLIENTS 6u
#define NB_PAIRS   8u
#define NB_BLOCKS  40u
#define SLOTS      64u
/* slots of a shared memory of 35 MiB: two of this size are above the limit */
#define BIG_SLOTS 4096u

static struct daemon daemon_;
static struct peer crowd[NB_CLIENTS + 1], good;

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_.options[0] = "--user-clients=6";
	daemon_.options[1] = "--user-pairs=8";
	daemon_.options[2] = "--user-memory=64";
	daemon_.options[3] = "--user-blocks=40";
	daemon_start(&daemon_);
	assert_int_equal(chmod(daemon_.folder, 0755), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

static uint64_t
query_user(uid_t uid, const char *name)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "/uroced/user,%u", uid);
	return daemon_ask(&daemon_, command, name);
}

static uint64_t
count_refused(const char *name)
{
	return daemon_ask(&daemon_, "/uroced/host", name);
}

static void
skip_without_users(void)
{
	if (geteuid() == 0)
		return;
	print_message("# not root: there is no other user to come as\n");
	skip();
}

/* Connect as the user that reaches its limit. */
static void
connect_other(struct peer *peer)
{
	memset(peer, 0, sizeof(*peer));
	peer->doorbell = -1;
	assert_int_equal(seteuid(OTHER_UID), 0);
	peer_connect(peer, daemon_.socket);
	assert_int_equal(seteuid(0), 0);
}

static void
open_other(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots)
{
	connect_other(peer);
	peer_make_area(peer, nb_pairs, nb_slots);
	peer_attach(peer);
}

static void
expect_refusal(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots, const char *why)
{
	connect_other(peer);
	peer_make_area(peer, nb_pairs, nb_slots);
	peer_ask_attach(peer);
	peer_expect_refusal(peer, why);
	peer_close(peer);
}

/* Expect that a client of another user attaches and leases blocks. */
static void
expect_service(uint32_t nb_pairs, uint32_t nb_slots, uint32_t nb_blocks)
{
	peer_open(&good, daemon_.socket, nb_pairs, nb_slots);
	assert_int_equal(peer_lease(&good, nb_blocks - 1), nb_blocks - 1);
	peer_close(&good);
}

/* Wait until all clients of the user have left and their memory is unmapped. */
static void
wait_for_the_end(void)
{
	while (query_user(OTHER_UID, "clients") > 0 || query_user(OTHER_UID, "areas") > 0)
		(void)usleep(1000);
	assert_int_equal(query_user(OTHER_UID, "area_bytes"), 0);
	assert_int_equal(query_user(OTHER_UID, "pairs"), 0);
	assert_int_equal(query_user(OTHER_UID, "leases"), 0);
}

static void
pairs__beyond_the_limit_are_refused(void **state)
{
	(void)state;
	skip_without_users();
	open_other(&crowd[0], 5, SLOTS);
	expect_refusal(&crowd[1], 4, SLOTS, "allowed are 8 (--user-pairs)");
	assert_int_equal(count_refused("refused_pairs"), 1);
	expect_service(8, SLOTS, 1);
	open_other(&crowd[1], 3, SLOTS);
	assert_int_equal(query_user(OTHER_UID, "pairs"), NB_PAIRS);
	expect_refusal(&crowd[2], 1, SLOTS, "allowed are 8 (--user-pairs)");
	peer_close(&crowd[0]);
	/* when uroced handles the next ATTACH, it does not count clients that have left */
	open_other(&crowd[0], 5, SLOTS);
	peer_close(&crowd[0]);
	peer_close(&crowd[1]);
	wait_for_the_end();
	expect_refusal(&crowd[0], 9, SLOTS, "allowed are 8 (--user-pairs)");
	wait_for_the_end();
}

static void
memory__beyond_the_limit_is_refused(void **state)
{
	(void)state;
	skip_without_users();
	open_other(&crowd[0], 1, BIG_SLOTS);
	assert_int_equal(query_user(OTHER_UID, "area_bytes"), crowd[0].area.plan.size);
	expect_refusal(&crowd[1], 1, BIG_SLOTS, "64 MiB (--user-memory)");
	assert_int_equal(count_refused("refused_memory"), 1);
	expect_service(1, BIG_SLOTS, 1);
	open_other(&crowd[1], 1, SLOTS);
	peer_close(&crowd[1]);
	peer_close(&crowd[0]);
	wait_for_the_end();
	open_other(&crowd[0], 1, BIG_SLOTS);
	peer_close(&crowd[0]);
	wait_for_the_end();
}

static void
clients__beyond_the_limit_are_refused(void **state)
{
	union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	(void)state;
	skip_without_users();
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		open_other(&crowd[i], 1, SLOTS);
	assert_int_equal(query_user(OTHER_UID, "clients"), NB_CLIENTS);
	assert_int_equal(seteuid(OTHER_UID), 0);
	crowd[NB_CLIENTS].socket = uroce_mux_connect(daemon_.socket);
	assert_int_equal(seteuid(0), 0);
	(void)uroce_mux_send(crowd[NB_CLIENTS].socket, &hello, -1);
	peer_expect_refusal(&crowd[NB_CLIENTS], "allowed are 6 (--user-clients)");
	(void)close(crowd[NB_CLIENTS].socket);
	assert_int_equal(count_refused("refused_clients"), 1);
	expect_service(1, SLOTS, 1);
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		peer_close(&crowd[i]);
	wait_for_the_end();
}

static void
blocks__beyond_the_limit_are_refused(void **state)
{
	(void)state;
	skip_without_users();
	open_other(&crowd[0], 1, SLOTS);
	open_other(&crowd[1], 1, SLOTS);
	assert_int_equal(peer_lease(&crowd[0], 30), 30);
	assert_int_equal(count_refused("refused_blocks"), 0);
	assert_int_equal(peer_lease(&crowd[1], 30), 10);
	assert_int_equal(count_refused("refused_blocks"), 1);
	assert_int_equal(query_user(OTHER_UID, "leases"), NB_BLOCKS);
	expect_service(1, SLOTS, NB_BLOCKS);
	peer_close(&crowd[0]);
	peer_close(&crowd[1]);
	wait_for_the_end();
}

/* Telemetry lists the clients behind a number, so a list may be read in parts. */
static void
clients__are_listed_in_parts(void **state)
{
	unsigned slots[8];
	char command[64], rest[64];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		peer_open(&crowd[i], daemon_.socket, 1, SLOTS);
	assert_int_equal(daemon_clients(&daemon_, slots, 8), 3);
	(void)snprintf(command, sizeof(command), "/uroced/clients,%u", slots[0]);
	(void)snprintf(rest, sizeof(rest), ":[%u,%u]}", slots[1], slots[2]);
	assert_non_null(strstr(daemon_query(&daemon_, command), rest));
	(void)snprintf(command, sizeof(command), "/uroced/clients,%u", slots[2]);
	assert_non_null(strstr(daemon_query(&daemon_, command), ":[]}"));
	for (unsigned i = 0; i < 3; i++)
		peer_close(&crowd[i]);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients__are_listed_in_parts),
		cmocka_unit_test(pairs__beyond_the_limit_are_refused),
		cmocka_unit_test(memory__beyond_the_limit_is_refused),
		cmocka_unit_test(clients__beyond_the_limit_are_refused),
		cmocka_unit_test(blocks__beyond_the_limit_are_refused),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
