/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_COMMAND_LINE_H
#define APPS_COMMAND_LINE_H

/**
 * @file
 * What the command lines of all programs have in common: `PROGRAM [EAL options] -- [own options]`,
 * or `PROGRAM [own options]` if there are no EAL options. Each program answers --help and --version
 * before it starts EAL.
 */

#include <stdbool.h>

/** Exit status of a program whose command line is wrong. */
#define EXIT_USAGE 2

/**
 * What a command line requests instead of the work of the program: nothing, the help, or the
 * versions.
 */
enum command_line_question {
	COMMAND_LINE_NONE,
	COMMAND_LINE_HELP,
	COMMAND_LINE_VERSION,
};

/**
 * Find the first of the words -h, --help and --version. The word may be before or behind `--`, so
 * the program answers it instead of EAL.
 */
enum command_line_question command_line_question(int argc, char **argv);

/**
 * Find the argument `--`, behind which the own arguments of the program begin.
 * @return the index; 0 if there is none, and then all arguments are the program's own
 */
int command_line_split(int argc, char **argv);

/** Print the versions of uroce, DPDK and rdma-core in one line on stdout. */
void command_line_print_versions(void);

#endif /* APPS_COMMAND_LINE_H */
