/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LOOPBACK_H
#define PERF_LOOPBACK_H

/**
 * @file
 * Both ends in one process: two ring ports that are each other's wire, and an lcore for each end.
 * Needs no privilege, no hugepage and no NIC.
 */

#include "options.h"

#define LOOPBACK_SPEC_LEN 96

/**
 * Make a pair of ring ports that are each other's wire.
 * @param idx  which pair
 * @param[out] specs  devices on them
 * @return 0, or -1 after a line on stderr
 */
int loopback_make_ports(unsigned idx, char specs[2][LOOPBACK_SPEC_LEN]);

/** Run a test between two ring ports. EAL runs already, with two lcores. @return PERF_EXIT_... */
int loopback_run(const struct options *opt);

#endif /* PERF_LOOPBACK_H */
