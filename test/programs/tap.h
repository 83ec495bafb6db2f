/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_PROGRAMS_TAP_H
#define UROCE_TEST_PROGRAMS_TAP_H

/**
 * @file
 * Test results in the Test Anything Protocol: a line for each test, and their number at the end.
 * The programs of this folder are built for libibverbs and use nothing of uroce.
 */

#include <stdbool.h>

/**
 * Print the line of a test, such as `ok 1 - NAME`.
 * @return is_ok
 */
bool tap_test(bool is_ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Print `what` and end the program if `is_so` is false. This is for conditions that tests need, but
 * that are no tests.
 */
void tap_need(bool is_so, const char *what);

/**
 * Print the number of tests.
 * @return the result for main(): 0 if no test has failed
 */
int tap_end(void);

#endif /* UROCE_TEST_PROGRAMS_TAP_H */
