/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_ARGS_H
#define APPS_EAL_ARGS_H

/**
 * @file
 * The arguments with which EAL is started: first the defaults of this project, then the user's,
 * which take precedence. Strings are not copied: EAL keeps pointers to them, so they must stay
 * valid.
 */

#include <stdbool.h>

#define ARGS_MAX 64

struct args {
	char *argv[ARGS_MAX + 1];
	int argc;
};

/** Begin a list of arguments with the program's name and log levels that keep EAL quiet. */
void args_begin(struct args *args, const char *program);

/** Append one argument. Arguments beyond ARGS_MAX are ignored. */
void args_add(struct args *args, const char *text);

/**
 * Whether the user gave an option, by its long name or its letter. `letter` is 0 if the option has
 * no letter.
 */
bool args_has(int argc, char **argv, const char *name, char letter);

/**
 * Add the options for memory: anonymous hugepages if enough of them are free, else ordinary pages.
 * @param mib       MiB of ordinary memory to use without hugepages
 * @param huge_mib  MiB of hugepages that must be free
 */
void args_add_memory(struct args *args, int argc, char **argv, unsigned mib, unsigned huge_mib);

/**
 * Add the option that enables or disables telemetry, unless the user gave one. Telemetry is
 * disabled if its sockets cannot be created, because EAL with telemetry would then not start.
 * @param folder  folder of the sockets, which eal/runtime.h describes; NULL disables telemetry
 */
void args_add_telemetry(struct args *args, int argc, char **argv, const char *folder);

/**
 * Add the option for `nb` lcores, at most 2. Each lcore has a CPU of its own if this process may
 * run on two CPUs.
 */
void args_add_lcores(struct args *args, int argc, char **argv, unsigned nb);

#endif /* APPS_EAL_ARGS_H */
