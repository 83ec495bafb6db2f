/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sandboxes of uroced and of its connection manager. The tests check which rights each thread
 * of these processes has given up, and that the processes serve clients without these rights.
 */

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "deaf_thread.h"
#include "mux/cm_message.h"
#include "peer.h"
#include "process.h"

static struct daemon daemon_;

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_remove(&daemon_);
	return 0;
}

/*
 * Read a file in /proc of a thread.
 * @return false if the file is not there, since the thread has ended
 */
static bool
read_file(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	const size_t len = file ? fread(text, 1, room - 1, file) : 0;

	text[len] = '\0';
	if (file)
		(void)fclose(file);
	return len > 0;
}

/* Find a field in a text of /proc. @return the number behind the name of the field */
static long long
number_of(const char *text, const char *field, int base)
{
	const char *at = strstr(text, field);

	if (!at)
		fail_msg("no %s", field);
	return at ? strtoll(at + strlen(field), NULL, base) : -1;
}

static void
expect_confined(const char *status)
{
	static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapAmb:" };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		assert_int_equal(number_of(status, sets[i], 16), 0);
	assert_int_equal(number_of(status, "NoNewPrivs:", 10), 1);
	assert_int_equal(number_of(status, "Seccomp:", 10), 2);
}

/* Check each thread of a process. @return the number of threads */
static unsigned
expect_all_confined(pid_t pid)
{
	char path[64 + 256], status[8192];
	struct dirent *task;
	unsigned nb = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		if (task->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, task->d_name);
		if (!read_file(path, status, sizeof(status)))
			continue;
		expect_confined(status);
		nb++;
	}
	(void)closedir(tasks);
	return nb;
}

static long long
core_limit(pid_t pid)
{
	char path[64], limits[8192];

	(void)snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	assert_true(read_file(path, limits, sizeof(limits)));
	return number_of(limits, "Max core file size", 10);
}

static void
serve_a_client(void)
{
	static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];
	static struct peer peer;

	peer_open(&peer, daemon_.socket, 1, 64);
	peer_send(&peer, 0, frame, peer_build(&peer, frame, NULL, peer_qpn(&peer, 0), 400));
	assert_int_equal(peer_receive(&peer, 0, got), 400);
	assert_int_equal(daemon_ask(&daemon_, "/uroced/host", "busy_ns") > 0, 1);
	peer_close(&peer);
}

/* Connect to the connection manager, and wait for its reply to HELLO. @return the socket */
static int
connect_to_manager(void)
{
	const struct uroce_mux_cm_request hello = {
		.type = UROCE_MUX_CM_HELLO,
		.hello = { .version = UROCE_MUX_CM_VERSION },
	};
	const size_t size = uroce_mux_cm_request_size(hello.type);
	struct uroce_mux_cm_reply reply;
	char path[128];
	int socket;

	(void)snprintf(path, sizeof(path), "%s" UROCE_MUX_CM_SUFFIX, daemon_.socket);
	socket = uroce_mux_connect(path);
	assert_true(socket >= 0);
	/* make the socket blocking, because the connection manager may not serve clients yet */
	assert_int_equal(fcntl(socket, F_SETFL, 0), 0);
	assert_int_equal(send(socket, &hello, size, 0), size);
	assert_true(recv(socket, &reply, sizeof(reply), 0) > 0);
	assert_int_equal(reply.type, UROCE_MUX_CM_HELLO);
	assert_int_equal(reply.ret, 0);
	return socket;
}

static void
daemon__has_no_privilege(void **state)
{
	(void)state;
	skip_if_deaf();
	daemon_start_confined(&daemon_);
	serve_a_client();
	/*
	 * uroced has at least four threads: the data path, the control thread, and EAL's threads
	 * for interrupts and telemetry
	 */
	assert_true(expect_all_confined(daemon_.pid) >= 4);
	assert_int_equal(core_limit(daemon_.pid), 0);
	daemon_end(&daemon_);
}

/*
 * The connection manager enters its sandbox before it receives the first message of uroced, and
 * serves its clients there.
 */
static void
manager__has_no_privilege(void **state)
{
	pid_t pid;
	int socket;

	(void)state;
	skip_if_deaf();
	daemon_.has_cm = true;
	daemon_start_confined(&daemon_);
	pid = process_await_manager(daemon_.pid);
	socket = connect_to_manager();
	/* the sandboxes of uroced and of the manager let uroced's telemetry query the manager */
	assert_int_equal(daemon_ask(&daemon_, "/uroced/cm", "req"), 0);
	/*
	 * the connection manager has at least three threads: those of EAL, of its device, and of
	 * its CM agent
	 */
	assert_true(expect_all_confined(pid) >= 3);
	assert_int_equal(core_limit(pid), 0);
	(void)close(socket);
	daemon_end(&daemon_);
	daemon_.has_cm = false;
}

/*
 * Check that user 65534 cannot access the memory of a process, although the process has this user.
 */
static void
expect_unreadable(pid_t process)
{
	char path[64];
	int status;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", process);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(1);
		_exit(access(path, R_OK) == 0 ? 2 : 42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
}

/*
 * No user but root can read the memory of uroced, not even the user of uroced. The processes that
 * fork others have no filter of system calls, so their memory must not be written by uroced,
 * either. The connection manager has no filter while it starts. It is protected before it sets the
 * name by which this test finds it.
 */
static void
daemon__is_not_traced_by_its_user(void **state)
{
	int status;

	(void)state;
	skip_if_deaf();
	if (geteuid() != 0)
		skip(); /* only root starts a daemon as another user */
	daemon_remove(&daemon_);
	daemon_make(&daemon_);
	assert_int_equal(chown(daemon_.folder, 65534, 65534), 0);
	daemon_.uid = 65534;
	daemon_.has_cm = true;
	daemon_start_confined(&daemon_);
	expect_unreadable(process_await_manager(daemon_.pid));
	/* wait until uroced serves, because its socket exists before uroced enters the sandbox */
	serve_a_client();
	expect_unreadable(daemon_.pid);
	expect_unreadable(process_await_child(daemon_.pid, "uroced-reader"));
	expect_unreadable(process_await_child(daemon_.pid, "uroced-starter"));
	assert_int_equal(kill(daemon_.pid, SIGTERM), 0);
	assert_int_equal(waitpid(daemon_.pid, &status, 0), daemon_.pid);
	daemon_.pid = 0;
	daemon_.has_cm = false;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(daemon__has_no_privilege),
		cmocka_unit_test(manager__has_no_privilege),
		cmocka_unit_test(daemon__is_not_traced_by_its_user),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
