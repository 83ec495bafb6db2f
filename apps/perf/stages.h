/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_STAGES_H
#define PERF_STAGES_H

/**
 * @file
 * Where the cycles of the measured time went, when liburoce was built with its stage clock.
 */

#include <stdint.h>
#include <stdio.h>
#include <uroce_dv.h>

#define STAGES_MAX 32

struct stages {
	unsigned nb; /* 0: there is no stage clock */
	struct uroce_dv_stage begin[STAGES_MAX];
	struct uroce_dv_stage spent[STAGES_MAX]; /* between begin and end, added up */
};

/** Forget what was spent. */
void stages_reset(struct stages *stages);

/** Measured time begins, and ends. A test may have several such times. */
void stages_begin(struct stages *stages);
void stages_end(struct stages *stages);

/** A table, for so many messages; nothing when there is no clock. */
void stages_print(const struct stages *stages, uint64_t messages);

/** The rows as the value of a JSON key. */
void stages_print_json(const struct stages *stages, FILE *file);

#endif /* PERF_STAGES_H */
