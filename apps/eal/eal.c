/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL talks on stdout, where our table goes, and answers a wrong option with its whole usage. So it
 * is started with its output in a file that nobody else sees, which is shown afterwards: in whole
 * when EAL started (these are warnings), and by its first line when it did not.
 */

#include "eal/eal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "eal/args.h"
#include "eal/runtime.h"

#define MIB_SMALL 1024

/* The line that says what was wrong: not EAL's own announcements, which carry its usage. */
static void
first_line(FILE *said, char *line, size_t len)
{
	rewind(said);
	line[0] = '\0';
	for (char text[512]; fgets(text, sizeof(text), said) != NULL;) {
		text[strcspn(text, "\n")] = '\0';
		const char *begin = strncmp(text, "EAL: ", 5) == 0 ? text + 5 : text;

		if (*begin == '\0' || strncmp(begin, "FATAL", 5) == 0)
			continue;
		snprintf(line, len, "%s", begin);
		return;
	}
}

static void
copy(FILE *said, FILE *out)
{
	char block[512];
	size_t got;

	rewind(said);
	while ((got = fread(block, 1, sizeof(block), said)) > 0)
		fwrite(block, 1, got, out);
}

/* EAL reads the folder of its sockets from the environment, which children are to have as it was. */
static int
start_in_folder(struct args *args)
{
	static const char name[] = "RUNTIME_DIRECTORY";
	const bool is_said = getenv(name) != NULL;
	const char *const folder = runtime_folder();
	int parsed;

	if (!is_said && folder != NULL)
		(void)setenv(name, folder, 1);
	parsed = rte_eal_init(args->argc, args->argv);
	if (!is_said)
		(void)unsetenv(name);
	return parsed;
}

/* `argv` is what the user gave, for the complaint. */
static int
start_quietly(struct args *args, int argc, char **argv)
{
	FILE *said = tmpfile();
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

	if (said == NULL || out < 0 || err < 0) {
		fprintf(stderr, "%s: no temporary file: allowed: a writable /tmp\n",
			program_invocation_short_name);
		return -1;
	}
	int silence = memfd_create("usage", MFD_CLOEXEC); /* where EAL's usage goes */
	fflush(stdout);
	dup2(silence, STDOUT_FILENO);
	dup2(fileno(said), STDERR_FILENO);
	rte_openlog_stream(stderr);

	int parsed = start_in_folder(args);

	fflush(stdout);
	fflush(stderr);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(silence);
	if (parsed < 0) {
		char why[512];

		first_line(said, why, sizeof(why));
		fprintf(stderr, "%s: EAL did not start, with", program_invocation_short_name);
		for (int i = 1; i < argc; i++)
			fprintf(stderr, " %s", argv[i]);
		fprintf(stderr,
			": %s; allowed before -- are DPDK's options (-l, -a, --vdev, ...)\n",
			why[0] ? why : rte_strerror(rte_errno));
	} else {
		copy(said, stderr);
	}
	fclose(said);
	return parsed < 0 ? -1 : 0;
}

int
eal_start(const char *program, int argc, char **argv, bool is_loopback, unsigned mib)
{
	/* EAL keeps the strings */
	static struct args args;

	args_begin(&args, program);
	args_add_telemetry(&args, argc, argv, NULL);
	if (is_loopback) {
		if (!args_has(argc, argv, "no-pci", 0))
			args_add(&args, "--no-pci");
		args_add_lcores(&args, argc, argv, 2);
	}
	/*
	 * With too few hugepages a run would end in the middle. A small one takes few; of a large one both ends may
	 * be here, and each sees what the other has not taken yet.
	 */
	args_add_memory(&args, argc, argv, mib, mib <= MIB_SMALL ? 1 : 2 * mib);
	if (args.argc + argc - 1 > ARGS_MAX) {
		fprintf(stderr, "%s: too many EAL options: allowed: %d\n",
			program_invocation_short_name, ARGS_MAX - args.argc);
		return -1;
	}
	for (int i = 1; i < argc; i++)
		args_add(&args, argv[i]);
	return start_quietly(&args, argc, argv);
}
