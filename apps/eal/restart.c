/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes the program of this process again, with the arguments with which the process was
 * started. The arguments are read from /proc/self/cmdline, because getopt_long() may have reordered
 * those in argv.
 */

#include "eal/restart.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VARIABLE "UROCE_WITHOUT_HUGEPAGES"

bool
restart_has_happened(void)
{
	static bool has_happened;

	if (getenv(VARIABLE) != NULL) {
		has_happened = true;
		(void)unsetenv(VARIABLE);
	}
	return has_happened;
}

/*
 * Read the arguments of this process.
 * @return a list that ends with NULL. The strings and the list are never freed. The result is NULL
 *         if the arguments could not be read.
 */
static char **
read_arguments(void)
{
	FILE *const file = fopen("/proc/self/cmdline", "re");
	char **argv = calloc(1, sizeof(*argv));
	char *text = NULL;
	size_t nb = 0, room = 0;

	while (file != NULL && argv != NULL && getdelim(&text, &room, '\0', file) > 0) {
		char **const longer = realloc(argv, (nb + 2) * sizeof(*argv));

		if (longer == NULL)
			break;
		argv = longer;
		argv[nb++] = text;
		argv[nb] = NULL;
		text = NULL;
		room = 0;
	}
	if (file != NULL)
		fclose(file);
	return nb > 0 ? argv : NULL;
}

void
restart_execute(void)
{
	char **const argv = read_arguments();

	if (argv == NULL || setenv(VARIABLE, "1", 1) != 0)
		return;
	(void)execv("/proc/self/exe", argv);
	(void)unsetenv(VARIABLE);
}
