/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The implementation of isolation.h. Each test has an additional setup, which checks the previous
 * test. If the previous test did not reach the end of its body and of its teardown, the program
 * replaces itself by exec. Environment variables tell the new image with which test to begin, and
 * how many tests have failed. The new image counts the earlier tests without running them and
 * without output, so that the numbers of TAP continue.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TESTS_MAX  256
#define ENV_FIRST  "UROCE_TEST_FIRST"  /* index of the first test to run in this image */
#define ENV_FAILED "UROCE_TEST_FAILED" /* number of tests that failed in earlier images */

static const struct CMUnitTest *all;
static unsigned first, nb_failed; /* values of ENV_FIRST and ENV_FAILED */
/* one past the index of the running test; 0: before the first test */
static unsigned at;
static bool has_ended; /* the previous test reached its end, or was skipped */
/* a copy of stdout, while output is discarded; -1: output is not discarded */
static int output = -1;

static unsigned
number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* Kill the child processes that the failed test has left. */
static void
end_children(void)
{
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	file = fopen(path, "r");
	if (!file)
		return;
	while (fscanf(file, "%d", &pid) == 1) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	(void)fclose(file);
}

/*
 * Replace the program by a new image, which begins with test `next`. It has no threads, descriptors
 * or mappings of the old image.
 */
static void
restart_at(unsigned next)
{
	static char program[4096], arguments[65536];
	char *argv[256], text[16];
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, arguments, sizeof(arguments) - 1);
	ssize_t offset = 0;
	unsigned nb = 0;

	if (len <= 0 || readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return;
	for (; offset < len && nb < 255; nb++) {
		argv[nb] = arguments + offset;
		while (arguments[offset++] != '\0')
			;
	}
	argv[nb] = NULL;
	snprintf(text, sizeof(text), "%u", next);
	(void)setenv(ENV_FIRST, text, 1);
	snprintf(text, sizeof(text), "%u", nb_failed + 1);
	(void)setenv(ENV_FAILED, text, 1);
	end_children();
	(void)fflush(NULL);
	for (int i = 3; i < sysconf(_SC_OPEN_MAX) && i < 65536; i++)
		(void)fcntl(i, F_SETFD, FD_CLOEXEC);
	(void)execv(program, argv);
}

/* Discard output until unsilence(), while earlier tests are only counted. */
static void
silence(void)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)fflush(stdout);
	output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (null < 0 || output < 0)
		return;
	(void)dup2(null, STDOUT_FILENO);
	(void)close(null);
}

static void
unsilence(void)
{
	if (output < 0)
		return;
	(void)fflush(stdout);
	(void)dup2(output, STDOUT_FILENO);
	(void)close(output);
	output = -1;
}

static int
set_up_one(void **state)
{
	const unsigned now = at++;

	if (now < first) {
		has_ended = true;
		return 0;
	}
	if (now > 0 && !has_ended)
		restart_at(now);
	unsilence();
	has_ended = false;
	return all[now].setup_func ? all[now].setup_func(state) : 0;
}

static bool has_run; /* the body of the running test has ended */

static void
run_one(void **state)
{
	has_run = false;
	if (at > first)
		all[at - 1].test_func(state);
	has_run = true;
}

void
isolation_note_skip(void)
{
	has_run = true;
}

static int
tear_down_one(void **state)
{
	int ret = 0;

	if (at > first && all[at - 1].teardown_func)
		ret = all[at - 1].teardown_func(state);
	has_ended = has_run && ret == 0;
	return ret;
}

int
isolation_run(const char *name, const struct CMUnitTest *tests, size_t nb, CMFixtureFunction set_up,
	      CMFixtureFunction tear_down)
{
	struct CMUnitTest ours[TESTS_MAX];
	int failed;

	if (nb > TESTS_MAX)
		return 1;
	all = tests;
	first = number_of(ENV_FIRST);
	nb_failed = number_of(ENV_FAILED);
	for (size_t i = 0; i < nb; i++)
		ours[i] = (struct CMUnitTest){
			.name = tests[i].name,
			.test_func = run_one,
			.setup_func = set_up_one,
			.teardown_func = tear_down_one,
			.initial_state = tests[i].initial_state,
		};
	if (first > 0)
		silence();
	failed = _cmocka_run_group_tests(name, ours, nb, set_up, tear_down);
	unsilence();
	return failed < 0 ? failed : failed + (int)nb_failed;
}
