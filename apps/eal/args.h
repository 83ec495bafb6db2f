/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_ARGS_H
#define APPS_EAL_ARGS_H

/**
 * @file
 * The arguments that EAL is started with: defaults of ours, then what the user gives, which wins. Strings are not
 * copied: EAL keeps them, and so does whoever hands them over.
 */

#include <stdbool.h>

#define ARGS_MAX 64

struct args {
	char *argv[ARGS_MAX + 1];
	int argc;
};

/** Begin with what suits everybody: quiet. */
void args_begin(struct args *args, const char *program);

/** One more; too many are left out. */
void args_add(struct args *args, const char *text);

/** Whether the user gave an option, by its long name or its letter (0: it has none). */
bool args_has(int argc, char **argv, const char *name, char letter);

/**
 * Memory: hugepages that no file outlives the process with, if there are enough; else ordinary pages.
 * @param mib       wanted of the latter
 * @param huge_mib  that must be free of the former
 */
void args_add_memory(struct args *args, int argc, char **argv, unsigned mib, unsigned huge_mib);

/**
 * Telemetry or not, unless the user says which; not where its sockets cannot be, for then EAL would not start.
 * @param folder  of the sockets, see eal/runtime.h; NULL: it is not wanted
 */
void args_add_telemetry(struct args *args, int argc, char **argv, const char *folder);

/** `nb` lcores, at most 2, on CPUs of their own where there are as many. */
void args_add_lcores(struct args *args, int argc, char **argv, unsigned nb);

#endif /* APPS_EAL_ARGS_H */
