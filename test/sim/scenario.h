/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SCENARIO_H
#define TEST_SIM_SCENARIO_H

/**
 * @file
 * Named scenarios. A scenario measures something in simulated networks and prints a report with
 * rows of values.
 */

#include <stdbool.h>
#include <stdint.h>

struct world;

bool scenario_exists(const char *name);

/** The names of all scenarios, with commas between them. */
const char *scenario_names(void);

/** The configuration of a run of a scenario. */
struct scenario_conf {
	const char *name;
	uint64_t seed;
	bool has_trace;
	bool is_json;
	/* name of the file for a time series, if the scenario has one; NULL: none is written */
	const char *series;
};

/**
 * Run a scenario and print its rows.
 * @return 0; 1: the oracle complained; 2: the file cannot be opened, after a line on stderr
 */
int scenario_run(struct world *world, const struct scenario_conf *conf);

#endif /* TEST_SIM_SCENARIO_H */
