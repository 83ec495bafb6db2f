/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_MEASURES_H
#define PERF_MEASURES_H

/**
 * @file
 * What is measured in addition to the messages of a size: the cycles of each stage of the library,
 * the CPU time of the machine, and the counters of the device.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "counters.h"
#include "cpu_use.h"
#include "options.h"
#include "stages.h"

struct measures {
	bool has_cpu_use; /* the CPU time is measured (--cpu_util) */
	struct stages stages;
	struct cpu_use cpu_use;
	struct counters counters;
};

/**
 * Prepare the measures that the options request. The device must be open.
 * @return 0, or -1 after a line on stderr
 */
int measures_open(struct measures *measures, const struct options *opt,
		  struct ibv_context *context);

/** Set the measures to zero for a new message size. */
void measures_reset(struct measures *measures);

/** Begin a measured interval; measures_end() ends it. A message size may have several intervals. */
void measures_begin(struct measures *measures);
void measures_end(struct measures *measures);

/** Check whether there are measures to print for a side that only responds. */
bool measures_has_rows(const struct measures *measures);

/** Print the counters and the stages of a message size, below the row of this size. */
void measures_print(const struct measures *measures, uint64_t messages);

/** Write the measures as members of a JSON object that has other members before them. */
void measures_print_json(const struct measures *measures, FILE *file);

#endif /* PERF_MEASURES_H */
