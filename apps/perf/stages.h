/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_STAGES_H
#define PERF_STAGES_H

/**
 * @file
 * The cycles of the measured time by stages of the library, if liburoce was built with its stage
 * clock.
 */

#include <stdint.h>
#include <stdio.h>
#include <uroce_dv.h>

#define STAGES_MAX 32

struct stages {
	unsigned nb; /* number of stages; 0: the library has no stage clock */
	struct uroce_dv_stage begin[STAGES_MAX];
	/* sum of the intervals from stages_begin() to stages_end() */
	struct uroce_dv_stage spent[STAGES_MAX];
};

/** Set the sums to zero. */
void stages_reset(struct stages *stages);

/** Begin and end a measured interval. A test may have several intervals. */
void stages_begin(struct stages *stages);
void stages_end(struct stages *stages);

/** Print a table of cycles per message; nothing if there is no stage clock. */
void stages_print(const struct stages *stages, uint64_t messages);

/** Print the rows as the value of a JSON key. */
void stages_print_json(const struct stages *stages, FILE *file);

#endif /* PERF_STAGES_H */
