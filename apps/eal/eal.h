/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_H
#define APPS_EAL_H

/**
 * @file
 * Starting DPDK's environment with defaults that suit a program that is run from a shell: quiet, and
 * leaving no file behind. Whatever the user gives wins over a default.
 */

#include <stdbool.h>

/**
 * rte_eal_init() with `argv[1..argc-1]` as the user's EAL options.
 * @param is_loopback  no device of the machine is wanted, and two lcores are
 * @param mib  memory that is needed, where no hugepages are used
 * @return 0, or -1 after one line on stderr
 */
int eal_start(const char *program, int argc, char **argv, bool is_loopback, unsigned mib);

#endif /* APPS_EAL_H */
