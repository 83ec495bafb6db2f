/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_RESTART_H
#define APPS_EAL_RESTART_H

/**
 * @file
 * Starts the program again without hugepages.
 *
 * Hugepages that are free when a program decides to use them may be gone when EAL counts or maps
 * them. rte_eal_init() then fails, and a process can call it only once. So the process executes its
 * program again, with the same arguments, and an environment variable tells the program to use
 * ordinary memory.
 */

#include <stdbool.h>

/**
 * Whether restart_execute() has started this program. The first call removes the environment
 * variable, so that child processes do not inherit it.
 * @mt  Not safe: call it before the process has threads.
 */
bool restart_has_happened(void);

/**
 * Execute the program of this process again, with its arguments. All other threads end. Descriptors
 * without FD_CLOEXEC stay open.
 * @return only after an error: the program could not be executed
 */
void restart_execute(void);

#endif /* APPS_EAL_RESTART_H */
