/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of scenarios. The report of a scenario is an object that contains the rows which the
 * scenario adds.
 */

#include "scenario.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "oracle.h"
#include "world.h"

static const struct scenario {
	const char *name;
	void (*run)(struct report *report, struct world *world, uint64_t seed);
} scenarios[] = {
	{ "goodput", scenario_goodput }, { "reorder", scenario_reorder },
	{ "reads", scenario_reads },     { "incast", scenario_incast },
	{ "reuse", scenario_reuse },     { "forged", scenario_forged },
};

#define NB_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

struct report {
	FILE *out;
	FILE *series; /* file for lines of a time series; NULL: no time series is written */
	char *text;
	size_t len;
	bool is_json;
	bool has_trace;
	unsigned nb_rows;
	uint64_t seeds; /* number of worlds that have run */
	uint64_t violations;
	uint64_t packets;
	uint64_t hash;
};

bool
scenario_exists(const char *name)
{
	for (unsigned i = 0; i < NB_SCENARIOS; i++) {
		if (!strcmp(scenarios[i].name, name))
			return true;
	}
	return false;
}

const char *
scenario_names(void)
{
	return "goodput, reorder, reads, incast, reuse, forged";
}

void
report_row(struct report *report, const char *format, ...)
{
	va_list args;

	fprintf(report->out, "%s", report->is_json ? (report->nb_rows ? ", {" : "{") : "");
	va_start(args, format);
	vfprintf(report->out, format, args);
	va_end(args);
	fprintf(report->out, "%s", report->is_json ? "}" : "\n");
	report->nb_rows++;
}

void
report_begin(struct report *report, struct world *world, uint64_t seed)
{
	world_reset(world, seed);
	world->max_events *= 50;
	world->trace.out = report->has_trace ? stdout : NULL;
}

void
report_end(struct report *report, struct world *world, bool is_at_rest)
{
	if (is_at_rest)
		oracle_end(world);
	report->seeds++;
	report->packets += world->tally.packets;
	report->hash += rng_mix(world->trace.hash);
	if (world_is_well(world))
		return;
	report->violations++;
	fprintf(stderr, "violation %s\n", world->violation);
}

FILE *
report_series(const struct report *report)
{
	return report->series;
}

static void
print(const struct report *report)
{
	if (report->is_json)
		printf("{\"seeds\": %llu, \"violations\": %llu, \"packets\": %llu, "
		       "\"trace_hash\": \"%016llx\", \"rows\": [%s]}\n",
		       (unsigned long long)report->seeds, (unsigned long long)report->violations,
		       (unsigned long long)report->packets, (unsigned long long)report->hash,
		       report->text);
	else
		printf("%s%llu packets, %llu violations\n", report->text,
		       (unsigned long long)report->packets, (unsigned long long)report->violations);
}

int
scenario_run(struct world *world, const struct scenario_conf *conf)
{
	struct report report = { .is_json = conf->is_json, .has_trace = conf->has_trace };

	if (conf->series) {
		report.series = fopen(conf->series, "w");
		if (!report.series) {
			perror(conf->series);
			return 2;
		}
	}
	report.out = open_memstream(&report.text, &report.len);
	assert(report.out);
	for (unsigned i = 0; i < NB_SCENARIOS; i++) {
		if (!strcmp(scenarios[i].name, conf->name))
			scenarios[i].run(&report, world, conf->seed);
	}
	fclose(report.out);
	if (report.series)
		fclose(report.series);
	print(&report);
	free(report.text);
	return report.violations != 0;
}
