/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the modules that measure the stages of the library, the CPU time, and the counters of the
 * device.
 */

#include "measures.h"

int
measures_open(struct measures *measures, const struct options *opt, struct ibv_context *context)
{
	measures->has_cpu_use = opt->is_cpu_util;
	return counters_open(&measures->counters, context, opt->counters);
}

void
measures_reset(struct measures *measures)
{
	stages_reset(&measures->stages);
	measures->cpu_use = (struct cpu_use){ 0 };
	counters_begin(&measures->counters);
}

void
measures_begin(struct measures *measures)
{
	if (measures->has_cpu_use)
		cpu_use_begin(&measures->cpu_use);
	stages_begin(&measures->stages);
}

void
measures_end(struct measures *measures)
{
	stages_end(&measures->stages);
	if (measures->has_cpu_use)
		cpu_use_end(&measures->cpu_use);
}

bool
measures_has_rows(const struct measures *measures)
{
	return measures->stages.nb > 0 || measures->counters.nb > 0;
}

void
measures_print(const struct measures *measures, uint64_t messages)
{
	counters_print(&measures->counters);
	stages_print(&measures->stages, messages);
}

void
measures_print_json(const struct measures *measures, FILE *file)
{
	if (measures->has_cpu_use)
		fprintf(file, ",\n\t\t\t\"CPU_util\": %.2f", cpu_use_percent(&measures->cpu_use));
	if (measures->counters.nb > 0) {
		fprintf(file, ",\n\t\t\t\"counters\": ");
		counters_print_json(&measures->counters, file);
	}
	if (measures->stages.nb > 0) {
		fprintf(file, ",\n\t\t\t\"stages\": ");
		stages_print_json(&measures->stages, file);
	}
}
