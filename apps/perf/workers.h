/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_WORKERS_H
#define PERF_WORKERS_H

/**
 * @file
 * Measures how the message rate of one process grows with the number of its workers. Each worker is
 * a thread on a CPU of its own. It drives both ends of its own QPs, over its own pair of ports.
 * Workers share nothing but the process, so twice as many workers should complete twice as many
 * messages.
 */

#include "options.h"

/**
 * Execute a run with the options --loopback --workers=N.
 * @return the exit status of the program, such as PERF_EXIT_FAILED (options.h)
 */
int workers_run(const struct options *opt);

#endif /* PERF_WORKERS_H */
