/* SPDX-License-Identifier: BSD-3-Clause */

/* Adds the default EAL options of uroced to the user's EAL options. */

#include "start_eal.h"

#include "eal/args.h"
#include "eal/eal.h"
#include "lcores.h"

#define MIB 256u /* size in MiB of the ordinary memory for mbufs, if there are no hugepages */

int
start_eal(int argc, char **argv, bool has_telemetry)
{
	struct args args = { .argc = 0 };

	for (int i = 0; i < argc && i < ARGS_MAX; i++)
		args_add(&args, argv[i]);
	if (!args_has(argc, argv, "telemetry", 0) && !args_has(argc, argv, "no-telemetry", 0))
		args_add(&args, has_telemetry ? "--telemetry" : "--no-telemetry");
	if (!args_has(argc, argv, "lcores", 0) && !args_has(argc, argv, "l", 'l') &&
	    !args_has(argc, argv, "c", 'c') && lcores_option())
		args_add(&args, lcores_option());
	return eal_start(argv[0], args.argc, args.argv, false, MIB);
}
