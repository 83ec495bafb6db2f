/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that other programs observe: it sends itself some messages, prints a line, and waits
 * until its input ends. With SECONDS it first starts `sleep`, which outlives it. The line is the
 * PID of `sleep`, or 0. Run under uroce-run.
 *
 *	test-ibverbs-linger MESSAGES [SECONDS]
 */

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pair.h"

static pid_t
start_sleep(char *seconds)
{
	char *argv[] = { (char *)"sleep", seconds, NULL };
	pid_t pid;

	check(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0, "posix_spawnp");
	return pid;
}

int
main(int argc, char **argv)
{
	struct pair pair;
	char byte;

	check(argc > 1, "how many messages?");
	pair_open(&pair);
	for (long i = strtol(argv[1], NULL, 10); i > 0; i--)
		pair_exchange(&pair, (uint8_t)i);
	printf("%ld\n", argc > 2 ? (long)start_sleep(argv[2]) : 0);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	pair_close(&pair);
	return 0;
}
