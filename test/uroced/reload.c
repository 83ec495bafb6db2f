/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SIGHUP: uroced reads its configuration again. What may change is applied, and clients stay. What
 * cannot change, or is wrong, is refused with its reason, and nothing changes.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "manager.h"
#include "peer.h"

#define SLOTS 64u

static struct daemon daemon_;
static char config[96], option[128];

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	manager_open(daemon_.folder);
	(void)snprintf(config, sizeof(config), "%s/conf", daemon_.folder);
	(void)snprintf(option, sizeof(option), "--config=%s", config);
	daemon_.options[0] = option;
	daemon_.has_log = true;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	manager_close();
	daemon_remove(&daemon_);
	return 0;
}

/* Write a configuration. @param lines  the lines of the section [uroced] */
static void
configure(const char *lines)
{
	FILE *file = fopen(config, "we");

	assert_non_null(file);
	(void)fprintf(file, "; a comment\n[uroced]\n%s", lines);
	assert_int_equal(fclose(file), 0);
}

static void
start(const char *lines)
{
	configure(lines);
	daemon_start(&daemon_);
	manager_await("READY=1");
}

/* Let uroced read its configuration again. @return what it reports at the end */
static const char *
reload(void)
{
	assert_int_equal(kill(daemon_.pid, SIGHUP), 0);
	assert_non_null(strstr(manager_await("RELOADING=1"), "MONOTONIC_USEC="));
	return manager_await("READY=1");
}

static uint64_t
query(const char *name)
{
	return daemon_ask(&daemon_, "/uroced/host", name);
}

static void
exchange(struct peer *peer)
{
	static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];

	peer_send(peer, 0, frame, peer_build(peer, frame, NULL, peer_qpn(peer, 0), 400));
	assert_int_equal(peer_receive(peer, 0, got), 400);
}

/*
 * Wait until the user has so many connections. A connection that was refused, or by which the test
 * has found the socket, counts until uroced has closed it.
 */
static void
await_connections(uint64_t nb)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "/uroced/user,%u", geteuid());
	while (daemon_ask(&daemon_, command, "clients") > nb)
		(void)usleep(1000);
}

/* Connect as a client beyond the limit of clients. */
static void
expect_no_room(uint64_t nb_clients)
{
	static struct peer peer;

	memset(&peer, 0, sizeof(peer));
	peer.doorbell = -1;
	peer.socket = uroce_mux_connect(daemon_.socket);
	assert_true(peer.socket >= 0);
	peer_expect_refusal(&peer, "allowed are 1 (--user-clients)");
	peer_hang_up(&peer);
	daemon_await_log(&daemon_, "refused: too many clients of user ", 1);
	await_connections(nb_clients);
}

static void
limits__change_and_clients_stay(void **state)
{
	static struct peer first, second;

	(void)state;
	start("user-clients = 1\n");
	await_connections(0);
	peer_open(&first, daemon_.socket, 1, SLOTS);
	peer_accept(&first, &first);
	exchange(&first);
	expect_no_room(1);
	configure("user-clients = 2\nuser-pairs = 7\nuser-memory = 100\nuser-blocks = 9\n");
	assert_null(strstr(reload(), "refused"));
	daemon_await_log(
		&daemon_,
		"reload: limits of each user: 2 clients, 7 pairs of rings, 100 MiB, 9 blocks", 1);
	assert_int_equal(query("limit_clients"), 2);
	assert_int_equal(query("limit_pairs"), 7);
	assert_int_equal(query("limit_bytes"), UINT64_C(100) << 20);
	assert_int_equal(query("limit_leases"), 9);
	peer_open(&second, daemon_.socket, 1, SLOTS);
	exchange(&first);
	/* a line that is missing has the default again: blocks of the first client stay its own */
	configure("user-clients = 1\n");
	assert_null(strstr(reload(), "refused"));
	assert_int_equal(query("limit_pairs"), 4096);
	assert_int_equal(query("clients"), 2);
	exchange(&first);
	expect_no_room(2);
	exchange(&first);
	peer_close(&second);
	peer_close(&first);
	daemon_end(&daemon_);
}

/* A limit of blocks is that of the table of leases. */
static void
limits__of_blocks_change(void **state)
{
	static struct peer peer;

	(void)state;
	start("user-blocks = 2\n");
	peer_open(&peer, daemon_.socket, 1, SLOTS);
	assert_int_equal(peer_lease(&peer, 3), 1);
	configure("user-blocks = 5\n");
	(void)reload();
	assert_int_equal(peer_lease(&peer, 9), 3);
	peer_close(&peer);
	daemon_end(&daemon_);
}

/* The level debug of qp is a level of a library that uroced has as well. */
static void
log_levels__change(void **state)
{
	(void)state;
	start("log = warning\n");
	configure("log = warning,port=debug\n");
	assert_null(strstr(reload(), "refused"));
	daemon_await_log(&daemon_, "reload: levels of the log: warning,port=debug", 1);
	configure("");
	assert_null(strstr(reload(), "refused"));
	daemon_await_log(&daemon_, "reload: levels of the log: notice", 1);
	daemon_end(&daemon_);
}

static void
options__that_cannot_change_are_refused(void **state)
{
	static const struct {
		const char *lines, *name, *why;
	} rows[] = {
		{ "mode = 0666\n", "mode",
		  "in its sandbox uroced cannot change the mode of a file" },
		{ "group = daemon\n", "group", "the owner of a file" },
		{ "leases = /tmp/other\n", "leases", "the leases of the present clients" },
	};
	static struct peer peer;
	char text[128], lines[128];

	(void)state;
	start("user-clients = 3\n");
	peer_open(&peer, daemon_.socket, 1, SLOTS);
	peer_accept(&peer, &peer);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(lines, sizeof(lines), "user-clients = 9\n%s", rows[i].lines);
		configure(lines);
		assert_non_null(strstr(reload(), "the last reload was refused"));
		(void)snprintf(text, sizeof(text),
			       "--%s cannot change while uroced runs: ", rows[i].name);
		daemon_await_log(&daemon_, text, 1);
		daemon_await_log(&daemon_, rows[i].why, 1);
		/* the limit of the same file is not applied either */
		assert_int_equal(query("limit_clients"), 3);
		exchange(&peer);
	}
	/* each option that cannot change has a line */
	configure("mode = 0600\ngroup = daemon\n");
	(void)reload();
	daemon_await_log(&daemon_, "--mode cannot change", 2);
	daemon_await_log(&daemon_, "--group cannot change", 2);
	configure("user-clients = 4\n");
	assert_null(strstr(reload(), "refused"));
	assert_int_equal(query("limit_clients"), 4);
	exchange(&peer);
	peer_close(&peer);
	daemon_end(&daemon_);
}

/* The default is a connection manager, so to leave out the line is a change, too. */
static void
connection_manager__cannot_be_added(void **state)
{
	static const char *const lines[] = { "cm = yes\n", "" };
	char path[128];

	(void)state;
	daemon_.has_cm = true;
	start("cm = no\n");
	(void)snprintf(path, sizeof(path), "%s.cm", daemon_.socket);
	assert_int_equal(access(path, F_OK), -1);
	for (unsigned i = 0; i < 2; i++) {
		configure(lines[i]);
		assert_non_null(strstr(reload(), "the last reload was refused"));
		daemon_await_log(&daemon_, "--cm cannot change while uroced runs: the process that",
				 i + 1);
	}
	configure("no-cm = yes\nuser-clients = 4\n");
	assert_null(strstr(reload(), "refused"));
	assert_int_equal(query("limit_clients"), 4);
	daemon_end(&daemon_);
}

static void
configuration__that_is_wrong_changes_nothing(void **state)
{
	static const struct {
		const char *lines, *why;
	} rows[] = {
		{ "user-clients = 0\n",
		  "conf: --user-clients=0: not a number in the allowed range" },
		{ "user-clients = 9\nnonsense = 1\n", "conf: nonsense: no option of this file" },
		{ "user-clients = 9\nlog = loud\n", "conf: --log=loud: not understood" },
		{ "cm = perhaps\n", "conf: cm = perhaps: allowed are yes and no" },
		{ "config = /tmp/x\n", "conf: config: no option of this file" },
		{ "user-clients = 9\n[other]\nx = 1\n", "it has not the one section: allowed is" },
	};

	(void)state;
	start("user-clients = 3\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		configure(rows[i].lines);
		assert_non_null(strstr(reload(), "the last reload was refused"));
		daemon_await_log(&daemon_, rows[i].why, 1);
		daemon_await_log(&daemon_, "reload refused: nothing has changed", (unsigned)i + 1);
		assert_int_equal(query("limit_clients"), 3);
	}
	assert_int_equal(unlink(config), 0);
	assert_non_null(strstr(reload(), "the last reload was refused"));
	daemon_await_log(&daemon_, "conf: No such file or directory: allowed is", 1);
	daemon_end(&daemon_);
}

/* The command line takes precedence over the file, at the start and later. */
static void
command_line__takes_precedence(void **state)
{
	(void)state;
	daemon_.options[1] = "--user-clients=5";
	start("user-clients = 3\nuser-pairs = 8\n");
	assert_int_equal(query("limit_clients"), 5);
	assert_int_equal(query("limit_pairs"), 8);
	configure("user-clients = 2\nuser-pairs = 9\n");
	(void)reload();
	assert_int_equal(query("limit_clients"), 5);
	assert_int_equal(query("limit_pairs"), 9);
	daemon_end(&daemon_);
}

static void
signal__without_a_configuration_changes_nothing(void **state)
{
	(void)state;
	daemon_.options[0] = NULL;
	daemon_start(&daemon_);
	manager_await("READY=1");
	assert_non_null(strstr(reload(), "the last reload was refused"));
	daemon_await_log(&daemon_, "there is no configuration file: allowed is", 1);
	daemon_end(&daemon_);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(limits__change_and_clients_stay),
		TEST(limits__of_blocks_change),
		TEST(log_levels__change),
		TEST(options__that_cannot_change_are_refused),
		TEST(connection_manager__cannot_be_added),
		TEST(configuration__that_is_wrong_changes_nothing),
		TEST(command_line__takes_precedence),
		TEST(signal__without_a_configuration_changes_nothing),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
