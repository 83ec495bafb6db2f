/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cycles that a test spent in each stage of the library. The library counts cycles from its
 * start on, so the cycles of a test are the difference of two readings.
 */

#include "stages.h"

#include <inttypes.h>

void
stages_reset(struct stages *stages)
{
	stages->nb = uroce_query_stages(stages->spent, STAGES_MAX);
	if (stages->nb > STAGES_MAX)
		stages->nb = STAGES_MAX;
	for (unsigned i = 0; i < stages->nb; i++)
		stages->spent[i] = (struct uroce_dv_stage){ .name = stages->spent[i].name };
}

void
stages_begin(struct stages *stages)
{
	(void)uroce_query_stages(stages->begin, stages->nb);
}

void
stages_end(struct stages *stages)
{
	struct uroce_dv_stage now[STAGES_MAX];

	(void)uroce_query_stages(now, stages->nb);
	for (unsigned i = 0; i < stages->nb; i++) {
		stages->spent[i].cycles += now[i].cycles - stages->begin[i].cycles;
		stages->spent[i].laps += now[i].laps - stages->begin[i].laps;
		stages->spent[i].items += now[i].items - stages->begin[i].items;
	}
}

void
stages_print(const struct stages *stages, uint64_t messages)
{
	const double per = messages > 0 ? (double)messages : 1;

	if (stages->nb == 0)
		return;
	printf(" stage            cycles/message  cycles/item     items/lap           laps\n");
	for (unsigned i = 0; i < stages->nb; i++) {
		const struct uroce_dv_stage *row = &stages->spent[i];
		const double cycles = (double)row->cycles;

		printf(" %-16s %14.1f %12.1f  %12.2f  %13" PRIu64 "\n", row->name, cycles / per,
		       row->items > 0 ? cycles / (double)row->items : 0,
		       row->laps > 0 ? (double)row->items / (double)row->laps : 0, row->laps);
	}
}

void
stages_print_json(const struct stages *stages, FILE *file)
{
	fputs("[", file);
	for (unsigned i = 0; i < stages->nb; i++) {
		const struct uroce_dv_stage *row = &stages->spent[i];

		fprintf(file,
			"%s\n\t\t\t\t{ \"stage\": \"%s\", \"cycles\": %" PRIu64
			", \"laps\": %" PRIu64 ", \"items\": %" PRIu64 " }",
			i > 0 ? "," : "", row->name, row->cycles, row->laps, row->items);
	}
	fputs("\n\t\t\t]", file);
}
