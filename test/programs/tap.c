/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints TAP lines. Each line is flushed at once, so that it is not lost if a later call does not
 * return.
 */

#include "tap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned nb_tests, nb_failed;

bool
tap_test(bool is_ok, const char *format, ...)
{
	va_list args;

	nb_tests++;
	nb_failed += !is_ok;
	printf("%s %u - ", is_ok ? "ok" : "not ok", nb_tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return is_ok;
}

void
tap_need(bool is_so, const char *what)
{
	if (is_so)
		return;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

int
tap_end(void)
{
	printf("1..%u\n", nb_tests);
	return nb_failed > 0;
}
