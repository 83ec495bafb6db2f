/* SPDX-License-Identifier: BSD-3-Clause */

/* Writes EAL's option --lcores with the list of the CPUs of the process. */

#include "lcores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

const char *
lcores_option(void)
{
	static char option[4096] = "--lcores=0@(";
	size_t len = strlen("--lcores=0@(");
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return NULL;
	for (int cpu = 0; cpu < CPU_SETSIZE && len < sizeof(option) - 8; cpu++) {
		if (CPU_ISSET(cpu, &cpus))
			len += (size_t)snprintf(option + len, sizeof(option) - len, "%d,", cpu);
	}
	option[len - 1] = ')';
	return option;
}
