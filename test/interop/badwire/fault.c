/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of faults. The maximum amounts keep delays and blackouts shorter than the timeouts of
 * tests.
 */

#include "fault.h"

const struct fault_facts fault_table[FAULT_NB] = {
	[FAULT_NONE] = { .name = "pass" },
	[FAULT_DROP] = { .name = "drop" },
	[FAULT_DUPLICATE] = { .name = "duplicate" },
	[FAULT_CORRUPT] = { .name = "corrupt" },
	[FAULT_DELAY] = { .name = "delay", .unit = "microseconds", .max = 10 * 1000 * 1000 },
	[FAULT_REORDER] = { .name = "reorder", .unit = "frames", .max = 1000 },
	[FAULT_BLACKOUT] = { .name = "blackout", .unit = "milliseconds", .max = 60 * 1000 },
};
