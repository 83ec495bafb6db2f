/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CHECK_H
#define PERF_CHECK_H

/**
 * @file
 * cmocka, with the headers that it needs before it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif /* PERF_CHECK_H */
