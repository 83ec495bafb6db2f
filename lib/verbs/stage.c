/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call by which a program reads the stage clock of the library: how many CPU cycles each stage
 * takes.
 */

#include "datapath/stage.h"

#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"

#if UROCE_STAGE_IS_ON

unsigned
uroce_query_stages(struct uroce_dv_stage *stage, unsigned max)
{
	for (unsigned i = 0; i < UROCE_STAGE_NB && i < max; i++) {
		const struct uroce_stage_sum sum = uroce_stage_read(i, &stage[i].name);

		stage[i].cycles = sum.cycles;
		stage[i].laps = sum.laps;
		stage[i].items = sum.items;
	}
	return UROCE_STAGE_NB;
}

#else

unsigned
uroce_query_stages(struct uroce_dv_stage *stage, unsigned max)
{
	(void)stage;
	(void)max;
	return 0;
}

#endif
