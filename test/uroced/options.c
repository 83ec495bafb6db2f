/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the arguments that uroced refuses, and who may connect to its socket. uroced prints what it
 * refuses, why, and what is allowed. The exit status is 2 if the command line is wrong, and 1 if
 * uroced cannot do what the command line says.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"

#define EAL     "uroced", "--no-huge", "--no-pci", "-m", "256", "--no-telemetry"
#define ON_NULL EAL, "--vdev=net_null0,no-rx=1", "--"
#define SPEC    "net_null0,addr=192.0.2.1/24"

static struct daemon daemon_;
static char socket_arg[128], leases_arg[128];

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	(void)snprintf(socket_arg, sizeof(socket_arg), "--socket=%s", daemon_.socket);
	(void)snprintf(leases_arg, sizeof(leases_arg), "--leases=%s/l", daemon_.folder);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_remove(&daemon_);
	return 0;
}

static void
expect(char *const argv[], int expected, const char *why)
{
	char said[4096];
	const int status = daemon_run(argv, said, sizeof(said));
	const char *line = strstr(said, why);

	if (status != expected || !line)
		fail_msg("exit %d instead of %d, or not '%s': %s", status, expected, why, said);
	if (!strstr(line, "allow"))
		fail_msg("nothing is allowed: %s", said);
	print_message("# %s", said);
}

static void
options__that_are_wrong_are_refused(void **state)
{
	static const struct {
		int status;
		const char *args[3];
		const char *why;
	} rows[] = {
		{ 2, { "--nonsense", SPEC }, "--nonsense: unknown option" },
		{ 2, { SPEC, "--mode" }, "--mode: needs a value" },
		{ 2, { "--mode=0999", SPEC }, "--mode=0999: not a mode" },
		{ 2, { "--mode=-1", SPEC }, "--mode=-1: not a mode" },
		{ 2, { "--mode=", SPEC }, "--mode=: not a mode" },
		{ 2, { "--mode=1777", SPEC }, "--mode=1777: not a mode" },
		{ 2, { "--group=nobodys-group", SPEC }, "--group=nobodys-group: no such group" },
		{ 2, { "--leases=", SPEC }, "--leases=: no path" },
		{ 1, { "--leases=/nowhere/l", SPEC }, "--leases=/nowhere/l: " },
		{ 2, { "--socket=", SPEC }, "--socket=: not a path of a socket" },
		{ 2,
		  { "--user-clients=0", SPEC },
		  "--user-clients=0: not a number in the allowed range" },
		{ 2,
		  { "--user-clients=1025", SPEC },
		  "--user-clients=1025: not a number in the allowed range" },
		{ 2,
		  { "--user-pairs=-1", SPEC },
		  "--user-pairs=-1: not a number in the allowed range" },
		{ 2,
		  { "--user-memory=1g", SPEC },
		  "--user-memory=1g: not a number in the allowed range" },
		{ 2,
		  { "--user-blocks=", SPEC },
		  "--user-blocks=: not a number in the allowed range" },
		{ 2, { NULL }, "no port" },
		{ 2, { SPEC, "net_null1" }, "more than one port" },
		{ 1, { "net_null7,addr=192.0.2.1/24" }, "no port 'net_null7'" },
		{ 1, { "net_null0,addr=192.0.2.1" }, "addr=192.0.2.1 is not understood" },
		{ 1, { "net_null0" }, "no address" },
		{ 1,
		  { "net_null0,addr=192.0.2.1/24,workers=2" },
		  "key 'workers' is no key of uroced" },
		{ 1, { "net_null0,addr=192.0.2.1/24,what=2" }, "key 'what' is no key of uroced" },
		{ 1, { "uroced" }, "belongs to another uroced" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[16] = { ON_NULL, socket_arg, leases_arg };
		unsigned argc = 0;

		while (argv[argc])
			argc++;
		for (unsigned j = 0; j < 3 && rows[i].args[j]; j++)
			argv[argc++] = (char *)(uintptr_t)rows[i].args[j];
		/*
		 * if an option is given twice, the last value counts, so the arguments of the row
		 * are last
		 */
		expect(argv, rows[i].status, rows[i].why);
	}
}

static void
frame_limit__that_no_path_mtu_fits_is_refused(void **state)
{
	char vdev[160];
	char *const argv[] = { EAL,        vdev,       "--",
			       socket_arg, leases_arg, "net_memif0,addr=192.0.2.1/24,mtu=4096",
			       NULL };

	(void)state;
	(void)snprintf(
		vdev, sizeof(vdev),
		"--vdev=net_memif0,role=server,bsize=1200,socket-abstract=no,socket=%s/memif",
		daemon_.folder);
	expect(argv, 1, "path MTU 4096 needs frames");
}

static void
socket__of_another_is_left_alone(void **state)
{
	char *const argv[] = { ON_NULL, socket_arg, leases_arg, SPEC, NULL };
	struct stat st;
	FILE *file;

	(void)state;
	daemon_start_on(&daemon_, "net_null0,no-rx=1", SPEC);
	expect(argv, 1, "Address already in use");
	daemon_kill(&daemon_);
	/* uroced that was killed leaves its socket, and the next uroced replaces this socket */
	assert_int_equal(access(daemon_.socket, F_OK), 0);
	daemon_start_on(&daemon_, "net_null0,no-rx=1", SPEC);
	daemon_end(&daemon_);
	file = fopen(daemon_.socket, "we");
	assert_non_null(file);
	(void)fclose(file);
	expect(argv, 1, "--socket=");
	assert_int_equal(stat(daemon_.socket, &st), 0);
	assert_int_equal(unlink(daemon_.socket), 0);
}

static void
socket__lets_in_whom_its_mode_says(void **state)
{
	struct stat st;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("# not root: nobody else can come\n");
		return;
	}
	assert_int_equal(chmod(daemon_.folder, 0755), 0);
	daemon_start_on(&daemon_, "net_null0,no-rx=1", SPEC);
	assert_int_equal(stat(daemon_.socket, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(1);
		_exit(uroce_mux_connect(daemon_.socket) == -EACCES ? 42 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	/* a client that may write to the socket needs no other permission */
	assert_int_equal(chown(daemon_.socket, 0, 65534), 0);
	pid = fork();
	if (pid == 0) {
		static struct peer peer;

		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(1);
		peer_open(&peer, daemon_.socket, 1, 64);
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
	daemon_end(&daemon_);
}

static void
help__is_given(void **state)
{
	char *const argv[] = { "uroced", "--", "--help", NULL };
	char said[4096];

	(void)state;
	assert_int_equal(daemon_run(argv, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "--socket=PATH"));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options__that_are_wrong_are_refused),
		cmocka_unit_test(frame_limit__that_no_path_mtu_fits_is_refused),
		cmocka_unit_test(socket__of_another_is_left_alone),
		cmocka_unit_test(socket__lets_in_whom_its_mode_says),
		cmocka_unit_test(help__is_given),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
