/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uroce-cm-sim [--from SEED] [--seeds N] [--trace]: runs N worlds of connection management, and
 * prints each violation of the rules with its seed.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static int
print_usage(void)
{
	fprintf(stderr, "usage: uroce-cm-sim [--from SEED] [--seeds N] [--trace]\n");
	return 2;
}

int
main(int argc, char **argv)
{
	static struct world world;
	uint64_t from = 1;
	uint64_t nb_seeds = 1000;
	uint64_t nb_bad = 0;
	uint64_t nb_connects = 0;
	uint64_t nb_established = 0;
	uint64_t nb_messages = 0;
	uint64_t nb_deaths = 0;
	uint64_t nb_foreign = 0;
	uint64_t nb_forged = 0;
	bool is_traced = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--trace"))
			is_traced = true;
		else if (!strcmp(argv[i], "--from") && i + 1 < argc)
			from = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--seeds") && i + 1 < argc)
			nb_seeds = strtoull(argv[++i], NULL, 0);
		else
			return print_usage();
	}
	for (uint64_t seed = from; seed < from + nb_seeds; seed++) {
		nb_bad += world_run(&world, seed, is_traced) != 0;
		nb_connects += world.nb_connects;
		nb_established += world.nb_established;
		nb_messages += world.nb_messages;
		nb_deaths += world.nb_deaths;
		nb_foreign += world.nb_foreign;
		nb_forged += world.nb_forged;
	}
	free(world.heap);
	free(world.ledger);
	printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " connects, %" PRIu64
	       " established, %" PRIu64 " of them with a foreign host, %" PRIu64 " messages, "
	       "%" PRIu64 " forged, %" PRIu64 " deaths; worlds with violations: %" PRIu64 "\n",
	       from, from + nb_seeds - 1, nb_connects, nb_established, nb_foreign, nb_messages,
	       nb_forged, nb_deaths, nb_bad);
	return nb_bad != 0;
}
