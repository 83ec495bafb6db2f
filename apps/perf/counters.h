/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_COUNTERS_H
#define PERF_COUNTERS_H

/**
 * @file
 * The counters of the device whose changes a test reports, for the option --report-counters. The
 * names are those of uroce-stat(1). The part of a name before a slash is skipped, because perftest
 * names the files of the kernel, such as counters/port_xmit_packets.
 */

#include <stdint.h>
#include <stdio.h>

struct ibv_context;

#define COUNTERS_MAX 64u

struct counters {
	struct ibv_context *context;
	unsigned nb;     /* number of counters that are reported */
	unsigned nb_all; /* number of all counters of the device */
	/* indexes of the reported counters among all counters of the device */
	unsigned idx[COUNTERS_MAX];
	uint64_t begin[COUNTERS_MAX];
};

/**
 * Find the counters of a list of names, which commas separate.
 * @param names  the names of the counters; NULL to report no counters
 * @return 0, or -1 after a line on stderr
 */
int counters_open(struct counters *counters, struct ibv_context *context, const char *names);

/** Remember the values of the counters at the start of a test. */
void counters_begin(struct counters *counters);

/** Print how much the counters have changed since counters_begin(), as perftest does. */
void counters_print(const struct counters *counters);

/** Write the changes that counters_print() prints as a JSON object. */
void counters_print_json(const struct counters *counters, FILE *file);

#endif /* PERF_COUNTERS_H */
