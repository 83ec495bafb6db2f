/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Writes the log of uroced. A line is written by one call, so that lines of several threads do not
 * mix.
 */

#include "log_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 50u /* maximum number of log lines about clients in a second */

static void
put(const char *format, va_list args)
{
	char line[512] = "uroced: ";
	const size_t begin = strlen(line);
	int len = vsnprintf(line + begin, sizeof(line) - begin - 1, format, args);

	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - begin - 2)
		len = (int)(sizeof(line) - begin - 2);
	line[begin + (size_t)len] = '\n';
	(void)!write(STDERR_FILENO, line, begin + (size_t)len + 1);
}

void
log_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(format, args);
	va_end(args);
}

void
log_client_line(const char *format, ...)
{
	static unsigned nb, nb_left_out;
	static time_t second;
	struct timespec now;
	va_list args;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != second) {
		if (nb_left_out > 0)
			log_line("%u lines about clients were omitted", nb_left_out);
		second = now.tv_sec;
		nb = nb_left_out = 0;
	}
	if (++nb > LINES_MAX) {
		nb_left_out++;
		return;
	}
	va_start(args, format);
	put(format, args);
	va_end(args);
}
