/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the CPU time from the first line of /proc/stat [proc(5)]. */

#include "cpu_use.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Read the ticks in user mode and the idle ticks since the start of the system. Both are 0 if they
 * cannot be read.
 */
static void
read_ticks(uint64_t *user, uint64_t *idle)
{
	FILE *file = fopen("/proc/stat", "r");

	if (file == NULL || fscanf(file, "cpu %" SCNu64 " %*u %*u %" SCNu64, user, idle) != 2)
		*user = *idle = 0;
	if (file != NULL)
		fclose(file);
}

void
cpu_use_begin(struct cpu_use *use)
{
	read_ticks(&use->begin_user, &use->begin_idle);
}

void
cpu_use_end(struct cpu_use *use)
{
	uint64_t user, idle;

	read_ticks(&user, &idle);
	use->user += user - use->begin_user;
	use->idle += idle - use->begin_idle;
}

double
cpu_use_percent(const struct cpu_use *use)
{
	const double all = (double)use->user + (double)use->idle;

	return all > 0 ? 100.0 * (double)use->user / all : 0;
}
