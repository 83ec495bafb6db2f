/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

/**
 * @file
 * Includes cmocka.h, after the headers that cmocka.h requires.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif /* PERF_CHECK_H */
