/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that EAL loads by its option -d: it prints the user with whose rights it runs.
 */

#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void
tell(void)
{
	printf("plugin: euid %u\n", (unsigned)geteuid());
	fflush(stdout);
}
