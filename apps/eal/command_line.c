/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the parts that the command lines of all programs have in common, and prints the versions
 * for --version.
 */

#include "eal/command_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_version.h>
#include <uroce_version.h>

enum command_line_question
command_line_question(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
			return COMMAND_LINE_HELP;
		if (strcmp(argv[i], "--version") == 0)
			return COMMAND_LINE_VERSION;
	}
	return COMMAND_LINE_NONE;
}

int
command_line_split(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return 0;
}

void
command_line_print_versions(void)
{
	/* rte_version() returns the version of the loaded library, as "DPDK 22.11.1" */
	printf("%s: uroce %s, %s, rdma-core %s\n", program_invocation_short_name,
	       UROCE_VERSION_STRING, rte_version(), UROCE_RDMA_CORE_VERSION);
}
