/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_H
#define APPS_EAL_H

/**
 * @file
 * Starts and ends DPDK's EAL, with defaults for a program that is run from a shell: EAL prints
 * little and leaves no file behind. Options of the user take precedence over the defaults.
 */

#include <stdbool.h>

/**
 * Allow eal_start() to execute the program again with ordinary memory. This happens if hugepages
 * were free, EAL cannot allocate them a moment later, and the user did not ask for hugepages.
 * eal_start() then prints a line on stderr. Before that, the program must not have done anything
 * that it cannot do twice.
 */
void eal_allow_restart(void);

/**
 * Call rte_eal_init() with `argv[1..argc-1]` as the user's EAL options.
 * @param is_loopback  use two lcores, and no device of the machine
 * @param mib  MiB of ordinary memory to use if there are no hugepages
 * @return 0, or the exit status of the program after one line on stderr: EXIT_USAGE if one of the
 *         options is wrong, EXIT_FAILURE if EAL lacks memory or another resource
 */
int eal_start(const char *program, int argc, char **argv, bool is_loopback, unsigned mib);

/**
 * Call rte_eal_cleanup(), when the process is about to end. EAL's interrupt thread is stopped
 * before that.
 */
void eal_cleanup(void);

#endif /* APPS_EAL_H */
