/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Golden traces: each case of the given files is a test.
 *
 *	test-golden FILE...             execute the cases and compare
 *	test-golden --update FILE...    write the transcripts that the code produces; read each
 *	                                changed line before you commit it
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../world.h"
#include "ladder.h"

static struct world world;

static void
play(void **state)
{
	const struct ladder_case *c = *state;
	char *played = ladder_play(c, &world);

	if (strcmp(played, c->transcript)) {
		size_t at = 0;

		while (played[at] == c->transcript[at])
			at++;
		while (at > 0 && played[at - 1] != '\n')
			at--;
		print_error("%s: expected:\n%.300s\nbut it is:\n%.300s\n", c->name,
			    c->transcript + at, played + at);
		free(played);
		fail();
	}
	free(played);
}

static int
run(struct ladder *ladders, int nb_files)
{
	struct CMUnitTest *tests = NULL;
	size_t nb = 0;

	for (int i = 0; i < nb_files; i++) {
		tests = realloc(tests, (nb + ladders[i].nb) * sizeof(*tests));
		for (unsigned k = 0; k < ladders[i].nb; k++)
			tests[nb++] = (struct CMUnitTest){ ladders[i].cases[k].name, play, NULL,
							   NULL, &ladders[i].cases[k] };
	}
	const int failed = _cmocka_run_group_tests("golden", tests, nb, NULL, NULL);

	free(tests);
	return failed;
}

int
main(int argc, char **argv)
{
	const int is_update = argc > 1 && !strcmp(argv[1], "--update");
	const int first = 1 + is_update, nb = argc - first;
	struct ladder *ladders;
	int failed = 0;

	if (nb <= 0) {
		fprintf(stderr, "golden: which files?\n");
		return 2;
	}
	ladders = calloc((size_t)nb, sizeof(*ladders));
	world_create(&world);
	for (int i = 0; i < nb; i++)
		ladder_read(&ladders[i], argv[first + i]);
	if (!is_update)
		failed = run(ladders, nb);
	for (int i = 0; i < nb; i++) {
		if (is_update)
			ladder_write(&ladders[i], &world);
		ladder_free(&ladders[i]);
	}
	free(ladders);
	world_destroy(&world);
	return failed != 0;
}
