/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_STAGES_H
#define PERF_STAGES_H

/**
 * @file
 * The CPU cycles that each stage of the library took during the measured time. The library counts
 * these cycles only if it was built with the option `stages`.
 */

#include <stdint.h>
#include <stdio.h>
#include <uroce_dv.h>

#define STAGES_MAX 32

struct stages {
	unsigned nb; /* number of stages; 0 if the library does not count their cycles */
	struct uroce_dv_stage begin[STAGES_MAX];
	/* cycles of each stage, summed over the intervals from stages_begin() to stages_end() */
	struct uroce_dv_stage spent[STAGES_MAX];
};

/** Set the sums of the cycles of all stages to zero. */
void stages_reset(struct stages *stages);

/** Begin a measured interval; stages_end() ends it. A test may have several intervals. */
void stages_begin(struct stages *stages);
void stages_end(struct stages *stages);

/**
 * Print a table of the cycles of each stage per message. Nothing is printed if the library does not
 * count these cycles.
 */
void stages_print(const struct stages *stages, uint64_t messages);

/** Print the cycles of each stage as the value of a JSON key. */
void stages_print_json(const struct stages *stages, FILE *file);

#endif /* PERF_STAGES_H */
