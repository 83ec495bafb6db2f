/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LOOPBACK_H
#define PERF_LOOPBACK_H

/**
 * @file
 * Both sides of a test in one process: two ring ports that are connected to each other, and an
 * lcore for each side. Such a test needs no privilege, no hugepage and no NIC.
 */

#include "options.h"

#define LOOPBACK_SPEC_LEN 96

/**
 * Create two ring ports that are connected to each other.
 * @param idx  number of the pair of ports
 * @param[out] specs  specifications of devices on the two ports
 * @return 0, or -1 after a line on stderr
 */
int loopback_make_ports(unsigned idx, char specs[2][LOOPBACK_SPEC_LEN]);

/**
 * Run both sides of a test, between two ring ports. EAL must have been started with two lcores.
 * @return exit status of the program, such as PERF_EXIT_FAILED (options.h)
 */
int loopback_run(const struct options *opt);

#endif /* PERF_LOOPBACK_H */
