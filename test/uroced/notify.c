/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uroced as a service: what it reports to its service manager from its sandbox. To let a thread
 * make no progress, the test traces this thread and stops it.
 */

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "manager.h"
#include "peer.h"

#define WATCHDOG_US 2000000u

static struct daemon daemon_;

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	manager_open(daemon_.folder);
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

/* Start uroced, and wait until it listens. */
static void
start(void)
{
	daemon_start(&daemon_);
}

/* READY=1 comes from the main process, and a client that connects afterwards is served. */
static void
ready__means_that_clients_can_attach(void **state)
{
	static struct peer peer;

	(void)state;
	start();
	assert_non_null(strstr(manager_await("READY=1"), "STATUS=net_memif0: 0 clients"));
	assert_int_equal(manager_sender(), daemon_.pid);
	peer_open(&peer, daemon_.socket, 1, 64);
	manager_await("STATUS=net_memif0: 1 client");
	peer_close(&peer);
	manager_await("STATUS=net_memif0: 0 clients");
	daemon_end(&daemon_);
	manager_await("STOPPING=1");
	assert_null(manager_poll());
}

static void
ready__is_not_reported_by_a_start_that_fails(void **state)
{
	char socket[128], said[4096];
	char *const argv[] = { "uroced", "--no-huge", "--no-pci",
			       "-m",     "256",       "--no-telemetry",
			       "--",     socket,      "net_null7,addr=192.0.2.1/24",
			       NULL };

	(void)state;
	(void)snprintf(socket, sizeof(socket), "--socket=%s", daemon_.socket);
	assert_int_equal(daemon_run(argv, said, sizeof(said)), 1);
	assert_null(manager_poll());
}

/* Find a thread by its name. */
static pid_t
thread_of(const char *name)
{
	char path[64 + 256], its[32];
	struct dirent *task;
	pid_t found = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", daemon_.pid);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((task = readdir(tasks)) && found == 0) {
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", daemon_.pid,
			       task->d_name);
		file = task->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (file && fscanf(file, "%31s", its) == 1 && strcmp(its, name) == 0)
			found = (pid_t)strtol(task->d_name, NULL, 10);
		if (file)
			(void)fclose(file);
	}
	(void)closedir(tasks);
	assert_true(found > 0);
	return found;
}

static void
stop_thread(pid_t thread)
{
	int status;

	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0) {
		print_message("# no tracing here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
	assert_int_equal(waitpid(thread, &status, __WALL), thread);
	assert_true(WIFSTOPPED(status));
}

/*
 * Stop a thread for longer than the watchdog allows. One message may still arrive, for progress
 * between the last message and the stop. Without the stop there would be six.
 */
static void
expect_no_message_without(const char *thread_name)
{
	const pid_t thread = thread_of(thread_name);

	manager_await("WATCHDOG=1");
	stop_thread(thread);
	(void)manager_drain("");
	(void)usleep(3 * WATCHDOG_US);
	assert_in_range(manager_drain("WATCHDOG=1"), 0, 1);
	assert_int_equal(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
	manager_await("WATCHDOG=1");
}

static void
watchdog__needs_both_threads(void **state)
{
	(void)state;
	manager_set_watchdog(WATCHDOG_US, 0);
	start();
	manager_await("READY=1");
	for (unsigned i = 0; i < 3; i++)
		manager_await("WATCHDOG=1");
	/* the main thread, whose name is uroced, runs the data path */
	expect_no_message_without("uroced");
	expect_no_message_without("uroced-control");
	daemon_end(&daemon_);
}

static void
daemon__without_a_manager_stays_idle(void **state)
{
	(void)state;
	manager_close();
	start();
	daemon_expect_idle(&daemon_);
	daemon_end(&daemon_);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(ready__means_that_clients_can_attach),
		TEST(ready__is_not_reported_by_a_start_that_fails),
		TEST(watchdog__needs_both_threads),
		TEST(daemon__without_a_manager_stays_idle),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
