/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests uroced --check, which prints what uroced would do, changes nothing, and does not disturb a
 * uroced that runs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "deaf_thread.h"
#include "peer.h"

#define VDEV     "net_null0,no-rx=1"
#define SPEC     "net_null0,addr=192.0.2.1/24"
#define NB_OWN   9u /* number of arguments that all checks have */
#define ARGS_MAX 6u

static struct daemon daemon_;
static char socket_arg[128], leases[112], leases_arg[128], config[96], config_arg[128];
static char said[8192];

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	(void)snprintf(socket_arg, sizeof(socket_arg), "--socket=%s", daemon_.socket);
	(void)snprintf(leases, sizeof(leases), "%s.leases", daemon_.socket);
	(void)snprintf(leases_arg, sizeof(leases_arg), "--leases=%s", leases);
	(void)snprintf(config, sizeof(config), "%s/conf", daemon_.folder);
	(void)snprintf(config_arg, sizeof(config_arg), "--config=%s", config);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_remove(&daemon_);
	return 0;
}

/* Run the check. @param args  the last arguments, up to a NULL @return the exit status */
static int
check(const char *vdev, const char *const args[ARGS_MAX])
{
	char device[256];
	char *argv[NB_OWN + ARGS_MAX + 2] = { "uroced", "--no-huge", "--no-pci", "-m",      "256",
					      device,   "--",        "--check",  socket_arg };
	unsigned argc = NB_OWN;

	(void)snprintf(device, sizeof(device), "--vdev=%s", vdev);
	/* the leak check of a sanitizer traces the process, which the sandbox forbids */
	(void)setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
	for (unsigned i = 0; i < ARGS_MAX && args[i]; i++)
		argv[argc++] = (char *)(uintptr_t)args[i];
	return daemon_run(argv, said, sizeof(said));
}

#define CHECK(...) check(VDEV, (const char *const[ARGS_MAX]){ __VA_ARGS__ })

static void
expect_said(const char *text)
{
	if (!strstr(said, text))
		fail_msg("not said: %s; said: %s", text, said);
}

/* A passed check prints what uroced would do, and leaves no file. */
static void
check__says_what_would_be_done(void **state)
{
	(void)state;
	skip_if_deaf();
	assert_int_equal(CHECK("--user-clients=7", "--mode=0600", "--log=debug", SPEC), 0);
	expect_said("port: net_null0, driver net_null, MAC ");
	expect_said("address: 192.0.2.1/24, uroced answers for it\n");
	expect_said("mode 0600, group of the process\n");
	expect_said(".leases, which would be created\n");
	expect_said(
		"limits of each user: 7 clients, 4096 pairs of rings, 16384 MiB, 32768 blocks\n");
	expect_said("connection manager: yes\nsandbox: yes\nlog: debug\n");
	/* the folder is empty but for what EAL may have made */
	assert_int_equal(access(daemon_.socket, F_OK), -1);
	assert_int_equal(access(leases, F_OK), -1);
}

static void
check__refuses_what_a_start_refuses(void **state)
{
	static const struct {
		int status;
		const char *args[ARGS_MAX];
		const char *why;
	} rows[] = {
		{ 2, { "--nonsense", SPEC }, "--nonsense: unknown option" },
		{ 2, { "--user-clients=0", SPEC }, "--user-clients=0: not a number" },
		{ 2, { "--log=loud", SPEC }, "--log=loud: not understood" },
		{ 2, { "--group=nobodys-group", SPEC }, "--group=nobodys-group: no such group" },
		{ 2, { "--config=/nowhere/conf", SPEC }, "--config=/nowhere/conf: No such file" },
		{ 2, { NULL }, "no port" },
		{ 1, { "--leases=/nowhere/l", SPEC }, "--leases=/nowhere/l: /nowhere: " },
		{ 1, { "--leases=/etc/passwd", SPEC }, "--leases=/etc/passwd: it belongs to" },
		{ 1,
		  { "--socket=/nowhere/s", "--leases=/tmp/none", SPEC },
		  "--socket=/nowhere/s: /nowhere: " },
		{ 1,
		  { "--socket=/etc/passwd", "--leases=/tmp/none", SPEC },
		  "--socket=/etc/passwd: it is no socket" },
		{ 1, { "net_null7,addr=192.0.2.1/24" }, "no port 'net_null7'" },
		{ 1, { "net_null0" }, "no address" },
		{ 1, { "net_null0,what=2" }, "key 'what' is no key of uroced" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int status = check(VDEV, rows[i].args);

		if (status != rows[i].status || !strstr(said, rows[i].why) ||
		    !strstr(said, "allow"))
			fail_msg("exit %d instead of %d, or not '%s': %s", status, rows[i].status,
				 rows[i].why, said);
		/* a check that refuses the options prints no limits */
		assert_null(strstr(said, "limits of each user"));
	}
	assert_int_equal(access("/tmp/none", F_OK), -1);
}

static void
write_config(const char *lines)
{
	FILE *file = fopen(config, "we");

	assert_non_null(file);
	(void)fprintf(file, "[uroced]\n%s", lines);
	assert_int_equal(fclose(file), 0);
}

static void
check__reads_the_configuration(void **state)
{
	(void)state;
	skip_if_deaf();
	write_config("user-memory = 77\ncm = no ; a comment\nno-sandbox = no\n");
	assert_int_equal(CHECK(config_arg, SPEC), 0);
	expect_said("77 MiB");
	expect_said("connection manager: no\n");
	write_config("user-memory = 77g\n");
	assert_int_equal(CHECK(config_arg, SPEC), 2);
	expect_said("conf: --user-memory=77g: not a number");
}

/*
 * The last of several options counts, and those of the command line come after the file. A uroced
 * runs, so a check does not start EAL.
 */
static void
check__knows_whether_there_is_a_connection_manager(void **state)
{
	static const struct {
		const char *lines, *args[3];
		bool has_cm;
	} rows[] = {
		{ "", { SPEC }, true },
		{ "", { "--cm", SPEC }, true },
		{ "", { "--no-cm", SPEC }, false },
		{ "", { "--no-cm", "--cm", SPEC }, true },
		{ "", { "--cm", "--no-cm", SPEC }, false },
		{ "cm = yes\n", { SPEC }, true },
		{ "cm = no\n", { SPEC }, false },
		{ "no-cm = yes\n", { SPEC }, false },
		{ "no-cm = no\n", { SPEC }, true },
		{ "cm = no\nno-cm = no\n", { SPEC }, true },
		{ "cm = no\n", { "--cm", SPEC }, true },
		{ "cm = yes\n", { "--no-cm", SPEC }, false },
	};

	(void)state;
	daemon_start_on(&daemon_, VDEV, SPEC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const *const args = rows[i].args;

		write_config(rows[i].lines);
		assert_int_equal(CHECK(config_arg, args[0], args[1], args[2]), 0);
		expect_said(rows[i].has_cm ? "connection manager: yes\n"
					   : "connection manager: no\n");
	}
	daemon_end(&daemon_);
}

/* The socket of the connection manager has a longer path than that of uroced. */
static void
check__bounds_the_path_of_the_socket(void **state)
{
	char longest[128], too_long[128];
	int pad;

	(void)state;
	skip_if_deaf();
	pad = 104 - (int)strlen(daemon_.folder) - 1;
	(void)snprintf(longest, sizeof(longest), "--socket=%s/%0*d", daemon_.folder, pad, 0);
	(void)snprintf(too_long, sizeof(too_long), "--socket=%s/%0*d", daemon_.folder, pad + 1, 0);
	assert_int_equal(CHECK(longest, SPEC), 0);
	assert_int_equal(CHECK(too_long, SPEC), 2);
	expect_said("too long for the path of the connection manager: allowed are 1 to 104 "
		    "characters, or --no-cm\n");
	assert_int_equal(CHECK(too_long, "--no-cm", SPEC), 0);
}

/* A uroced on memif, whose socket another process cannot open: the check does not try. */
static void
check__leaves_a_running_uroced_alone(void **state)
{
	static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];
	static struct peer peer;
	char vdev[256], pid[64];
	struct stat before, after;

	(void)state;
	(void)snprintf(vdev, sizeof(vdev),
		       "net_memif0,role=server,socket-abstract=no,socket=%s/memif", daemon_.folder);
	daemon_start(&daemon_);
	peer_open(&peer, daemon_.socket, 1, 64);
	peer_accept(&peer, &peer);
	assert_int_equal(stat(leases, &before), 0);
	assert_int_equal(check(vdev, (const char *const[ARGS_MAX]){ DAEMON_PORT }), 0);
	(void)snprintf(pid, sizeof(pid), "the uroced with PID %d runs\n", daemon_.pid);
	expect_said(pid);
	expect_said(".leases, which exists\n");
	assert_int_equal(check(vdev, (const char *const[ARGS_MAX]){ "net_memif0,what=1" }), 1);
	expect_said("key 'what' is no key of uroced");
	/* the file of leases of the running uroced is still locked, and its client is served */
	assert_int_equal(stat(leases, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	peer_send(&peer, 0, frame, peer_build(&peer, frame, NULL, peer_qpn(&peer, 0), 400));
	assert_int_equal(peer_receive(&peer, 0, got), 400);
	peer_close(&peer);
	peer_open(&peer, daemon_.socket, 1, 64);
	peer_close(&peer);
	daemon_end(&daemon_);
}

/* A uroced that runs with one of the two files prevents the start of another. */
static void
check__finds_half_of_a_running_uroced(void **state)
{
	char other[128];

	(void)state;
	skip_if_deaf();
	daemon_start_on(&daemon_, VDEV, SPEC);
	(void)snprintf(other, sizeof(other), "--leases=%s/other", daemon_.folder);
	assert_int_equal(CHECK(other, SPEC), 1);
	expect_said("another uroced listens there, with another file of leases: allowed");
	(void)snprintf(other, sizeof(other), "--socket=%s/other", daemon_.folder);
	assert_int_equal(CHECK(other, leases_arg, SPEC), 1);
	expect_said("uses it, with another socket: allowed");
	daemon_end(&daemon_);
	/* the files that a uroced has left are no obstacle */
	daemon_start_on(&daemon_, VDEV, SPEC);
	daemon_kill(&daemon_);
	assert_int_equal(CHECK(SPEC), 0);
	expect_said("which exists\n");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(check__says_what_would_be_done),
		TEST(check__refuses_what_a_start_refuses),
		TEST(check__reads_the_configuration),
		TEST(check__knows_whether_there_is_a_connection_manager),
		TEST(check__bounds_the_path_of_the_socket),
		TEST(check__leaves_a_running_uroced_alone),
		TEST(check__finds_half_of_a_running_uroced),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
