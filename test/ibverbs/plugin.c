/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that EAL loads when its options say so (-d): it tells with whose rights it runs.
 */

#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void
tell(void)
{
	printf("plugin: euid %u\n", (unsigned)geteuid());
	fflush(stdout);
}
