/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table, and the frame of the report.
 */

#include "scenario.h"

#include <string.h>

#include "oracle.h"
#include "world.h"

static const struct scenario {
	const char *name;
	void (*run)(struct world *world, uint64_t seed);
} scenarios[] = {
	{ NULL, NULL },
};

bool
scenario_exists(const char *name)
{
	for (const struct scenario *s = scenarios; s->name; s++) {
		if (!strcmp(s->name, name))
			return true;
	}
	return false;
}

const char *
scenario_names(void)
{
	return "none";
}

int
scenario_run(struct world *world, const char *name, uint64_t seed, bool has_trace, bool is_json)
{
	(void)world;
	(void)name;
	(void)seed;
	(void)has_trace;
	(void)is_json;
	return 1;
}
