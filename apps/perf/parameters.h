/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_PARAMETERS_H
#define PERF_PARAMETERS_H

/**
 * @file
 * The parameters of a test on which both sides must agree, in the first line of a side (hello).
 */

#include <stddef.h>

#include "options.h"

/** Write the parameters of this side, each as " key=value". */
void parameters_format(const struct options *opt, char *text, size_t len);

/**
 * Compare the parameters of this side with those in the first line of the other side (hello).
 * @return 0, or -1 after a line on stderr that names the first difference
 */
int parameters_compare(const struct options *opt, const char *hello);

/**
 * Get the smaller one of two numbers: `mine`, and the value of `key` in the first line of the other
 * side (hello).
 */
unsigned parameters_smaller(const char *hello, const char *key, unsigned mine);

#endif /* PERF_PARAMETERS_H */
