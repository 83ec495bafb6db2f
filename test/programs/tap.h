/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_PROGRAMS_TAP_H
#define UROCE_TEST_PROGRAMS_TAP_H

/**
 * @file
 * What a program prints of its tests, in the Test Anything Protocol: a line for each, and their number at the end.
 * The programs of this folder are built for libibverbs, and use nothing of uroce.
 */

#include <stdbool.h>

/** One test, and its line: `ok 1 - NAME`. @return is_ok */
bool tap_test(bool is_ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** What is needed for tests, and is none itself: the program ends when it is not so. */
void tap_need(bool is_so, const char *what);

/** The number of tests. @return what main() returns: 0 when none failed */
int tap_end(void);

#endif /* UROCE_TEST_PROGRAMS_TAP_H */
