/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL talks on stdout, where our table goes, and answers a wrong option with its whole usage. So it
 * is started with its output in a file that nobody else sees, which is shown afterwards: in whole
 * when EAL started (these are warnings), and by its first line when it did not.
 */

#include "eal/eal.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#define ARGS_MAX  64
#define MIB_SMALL 1024

struct args {
	char *argv[ARGS_MAX + 1];
	int argc;
};

static void
add(struct args *args, const char *text)
{
	if (args->argc < ARGS_MAX)
		args->argv[args->argc++] = (char *)(uintptr_t)text;
	args->argv[args->argc] = NULL;
}

/* Whether the user gave an option, by its long name or its letter. */
static bool
has(int argc, char **argv, const char *name, char letter)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, name, len) == 0 &&
		    (arg[2 + len] == '\0' || arg[2 + len] == '='))
			return true;
		if (letter != 0 && arg[0] == '-' && arg[1] == letter)
			return true;
	}
	return false;
}

/*
 * Whether there are enough: with fewer a run would end in the middle. A small one takes few; of a
 * large one both ends may be here, and each sees what the other has not taken yet.
 */
static bool
has_hugepages(unsigned mib)
{
	uint64_t free_kib = 0;
	glob_t found;

	if (geteuid() != 0 ||
	    glob("/sys/kernel/mm/hugepages/hugepages-*/free_hugepages", 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");
		uint64_t count = 0, kib = 0;

		if (file == NULL)
			continue;
		if (sscanf(strstr(found.gl_pathv[i], "hugepages-"), "hugepages-%" SCNu64 "kB",
			   &kib) == 1 &&
		    fscanf(file, "%" SCNu64, &count) == 1)
			free_kib += count * kib;
		fclose(file);
	}
	globfree(&found);
	return mib <= MIB_SMALL ? free_kib > 0 : free_kib >> 10 >= 2 * (uint64_t)mib;
}

/* No file outlives the process: hugepages are anonymous, and there is no runtime directory. */
static void
add_memory(struct args *args, int argc, char **argv, unsigned mib)
{
	static char text[16]; /* EAL keeps it */

	bool is_no_huge = has(argc, argv, "no-huge", 0);

	if (!is_no_huge && !has(argc, argv, "in-memory", 0) && !has(argc, argv, "huge-dir", 0) &&
	    !has(argc, argv, "file-prefix", 0) && !has(argc, argv, "huge-unlink", 0)) {
		is_no_huge = !has_hugepages(mib);
		add(args, is_no_huge ? "--no-huge" : "--in-memory");
	}
	if (!is_no_huge)
		return;
	if (!has(argc, argv, "no-shconf", 0))
		add(args, "--no-shconf");
	if (!has(argc, argv, "socket-mem", 0) && !has(argc, argv, "m", 'm')) {
		add(args, "-m");
		snprintf(text, sizeof(text), "%u", mib);
		add(args, text);
	}
}

/* Two lcores, on CPUs of their own where there are two. */
static void
add_lcores(struct args *args, int argc, char **argv, char *text, size_t len)
{
	cpu_set_t cpus;
	int first = -1, second = -1;

	if (has(argc, argv, "lcores", 0) || has(argc, argv, "l", 'l') || has(argc, argv, "c", 'c'))
		return;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && second < 0; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		if (first < 0)
			first = cpu;
		else
			second = cpu;
	}
	snprintf(text, len, "--lcores=0@%d,1@%d", first, second < 0 ? first : second);
	add(args, text);
}

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

	int parsed = rte_eal_init(args->argc, args->argv);

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
	static char lcores[64];

	add(&args, program);
	add(&args, "--log-level=*:error");
	add(&args, "--log-level=roce.*:warning");
	if (!has(argc, argv, "telemetry", 0) && !has(argc, argv, "no-telemetry", 0))
		add(&args, "--no-telemetry");
	add_memory(&args, argc, argv, mib);
	if (is_loopback) {
		if (!has(argc, argv, "no-pci", 0))
			add(&args, "--no-pci");
		add_lcores(&args, argc, argv, lcores, sizeof(lcores));
	}
	if (args.argc + argc - 1 > ARGS_MAX) {
		fprintf(stderr, "%s: too many EAL options: allowed: %d\n",
			program_invocation_short_name, ARGS_MAX - args.argc);
		return -1;
	}
	for (int i = 1; i < argc; i++)
		add(&args, argv[i]);
	return start_quietly(&args, argc, argv);
}
