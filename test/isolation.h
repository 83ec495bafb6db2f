/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ISOLATION_H
#define TEST_ISOLATION_H

/**
 * @file
 * Isolation of tests: a failed test does not make later tests fail. An assertion leaves a test at
 * once, so the test may leave devices, threads and sockets behind. Later tests therefore run in a
 * new image of the program. A test program includes this header, directly or by its common header,
 * and calls cmocka_run_group_tests() and skip() as usual. If every test passes, all tests run in
 * one process, and the group setup runs once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/**
 * Run a group of tests with isolation. The arguments and the result are those of
 * _cmocka_run_group_tests().
 */
int isolation_run(const char *name, const struct CMUnitTest *tests, size_t nb,
		  CMFixtureFunction set_up, CMFixtureFunction tear_down);

/** Note that the running test is skipped, so that it does not count as failed. */
void isolation_note_skip(void);

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                           \
	isolation_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

#undef skip
#define skip() (isolation_note_skip(), _skip(__FILE__, __LINE__))

#endif /* TEST_ISOLATION_H */
