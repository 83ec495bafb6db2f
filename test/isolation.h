/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ISOLATION_H
#define TEST_ISOLATION_H

/**
 * @file
 * A test that fails does not make the tests behind it fail. It may leave devices, threads and sockets behind, because an
 * assertion leaves the test where it stands. The tests behind it therefore run in a new image of the program.
 *
 * A test program includes this header, directly or by what its tests share, and calls cmocka_run_group_tests() and skip()
 * as always. Where every test passes, all of them run in one process, and the group is set up once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/** As _cmocka_run_group_tests(). */
int isolation_run(const char *name, const struct CMUnitTest *tests, size_t nb,
		  CMFixtureFunction set_up, CMFixtureFunction tear_down);

/** The running test ends without having failed. */
void isolation_note_skip(void);

#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                           \
	isolation_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

#undef skip
#define skip() (isolation_note_skip(), _skip(__FILE__, __LINE__))

#endif /* TEST_ISOLATION_H */
