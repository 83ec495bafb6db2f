/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_WORKERS_H
#define PERF_WORKERS_H

/**
 * @file
 * What workers cost each other: so many of them in one process, each a thread on a CPU of its own that
 * loops its own QPs over its own pair of ports, and drives both ends of it. They share nothing but the
 * process; so with twice the workers there should be twice the messages.
 */

#include "options.h"

/** Go through the run of --loopback --workers=N. @return PERF_EXIT_... */
int workers_run(const struct options *opt);

#endif /* PERF_WORKERS_H */
