/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts EAL without its output. EAL and its drivers print on stdout, which the program needs for
 * its own output. After a wrong option EAL prints its whole usage text there. So EAL is started
 * with stdout and stderr redirected to temporary files. What is printed on stdout meanwhile is
 * discarded. If EAL starts, all that it printed on stderr is printed, because it holds warnings. If
 * EAL does not start, the first line that names the error is printed.
 */

#include "eal/eal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "eal/args.h"
#include "eal/command_line.h"
#include "eal/connect.h"
#include "eal/restart.h"
#include "eal/runtime.h"

#define MIB_SMALL 1024

static const char lacks_memory[] =
	"EAL lacks memory: allowed is -m MIB that the free hugepages hold, or --no-huge and -m MIB "
	"that the free memory holds";

static bool is_restart_allowed; /* eal_allow_restart() was called */

/*
 * Faults that keep EAL from starting: a part of a line that EAL prints, and the exit status and the
 * advice that belong to the fault. The first row that matches any line counts.
 */
static const struct fault {
	const char *text;
	int status;
	const char *advice;
} faults[] = {
	{ "Invalid 'command line' arguments", EXIT_USAGE,
	  "allowed before -- are DPDK's options (-l, -a, --vdev, ...)" },
	{ "nable to parse device", EXIT_USAGE,
	  "allowed are --vdev=DRIVER[,argument=value...] with a virtual driver of DPDK, as "
	  "net_af_packet0, and -a ADDRESS of a bus, as 0000:01:00.0" },
	{ "failed to parse device", EXIT_USAGE,
	  "allowed are --vdev=DRIVER[,argument=value...] with a virtual driver of DPDK, as "
	  "net_af_packet0, and -a ADDRESS of a bus, as 0000:01:00.0" },
	{ "Cannot init memory", EXIT_FAILURE, lacks_memory },
	{ "hugepage information", EXIT_FAILURE, lacks_memory },
	{ "error allocating", EXIT_FAILURE, lacks_memory },
	{ "Cannot allocate", EXIT_FAILURE, lacks_memory },
	{ "", EXIT_FAILURE, "allowed is what DPDK's guide says of the options of EAL" },
};

/* Find the row of `faults` that matches the output of EAL. The last row matches any output. */
static const struct fault *
find_fault(FILE *output)
{
	const struct fault *fault = faults;

	for (; fault->text[0] != '\0'; fault++) {
		rewind(output);
		for (char text[512]; fgets(text, sizeof(text), output) != NULL;)
			if (strstr(text, fault->text) != NULL)
				return fault;
	}
	return fault;
}

/*
 * Find the line in the output of EAL that names the error. Lines with which EAL only announces its
 * usage text are skipped.
 */
static void
first_line(FILE *output, char *line, size_t len)
{
	rewind(output);
	line[0] = '\0';
	for (char text[512]; fgets(text, sizeof(text), output) != NULL;) {
		text[strcspn(text, "\n")] = '\0';
		const char *begin = strncmp(text, "EAL: ", 5) == 0 ? text + 5 : text;

		if (*begin == '\0' || strncmp(begin, "FATAL", 5) == 0)
			continue;
		snprintf(line, len, "%s", begin);
		return;
	}
}

static void
copy(FILE *output, FILE *out)
{
	char block[512];
	size_t got;

	rewind(output);
	while ((got = fread(block, 1, sizeof(block), output)) > 0)
		fwrite(block, 1, got, out);
}

/*
 * Start EAL with the folder of its sockets. EAL reads this folder from an environment variable. The
 * variable is removed after the start, so that child processes inherit the environment unchanged.
 */
static int
start_in_folder(struct args *args)
{
	static const char name[] = "RUNTIME_DIRECTORY";
	const bool is_set = getenv(name) != NULL;
	const char *const folder = runtime_folder();
	int parsed;

	if (!is_set && folder != NULL)
		(void)setenv(name, folder, 1);
	parsed = eal_init(args->argc, args->argv);
	if (!is_set)
		(void)unsetenv(name);
	return parsed;
}

/*
 * Start the program again without hugepages. The function returns only if a restart is not allowed
 * or not possible.
 */
static void
start_again(void)
{
	if (!is_restart_allowed)
		return;
	fprintf(stderr,
		"%s: the hugepages that were free are not free any more: ordinary memory is used\n",
		program_invocation_short_name);
	restart_execute();
}

/*
 * Print why EAL did not start. `argv` holds the user's arguments.
 * @return the exit status
 */
static int
print_fault(FILE *output, const struct fault *fault, int argc, char **argv)
{
	char why[512];

	first_line(output, why, sizeof(why));
	fprintf(stderr, "%s: EAL did not start", program_invocation_short_name);
	for (int i = 1; i < argc; i++)
		fprintf(stderr, "%s %s", i == 1 ? ", with" : "", argv[i]);
	fprintf(stderr, ": %s; %s\n", why[0] ? why : rte_strerror(rte_errno), fault->advice);
	return fault->status;
}

/*
 * Start EAL with its output redirected. `argv` holds the user's arguments, for the error message.
 * `is_huge`: hugepages are used, and the user did not ask for them.
 * @return 0, or the exit status
 */
static int
start_quietly(struct args *args, bool is_huge, int argc, char **argv)
{
	FILE *output = tmpfile();
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);

	if (output == NULL || out < 0 || err < 0) {
		fprintf(stderr, "%s: no temporary file: allowed: a writable /tmp\n",
			program_invocation_short_name);
		return EXIT_FAILURE;
	}
	/*
	 * stdout goes to this file while EAL parses its arguments, so that EAL's usage text is
	 * discarded
	 */
	int usage_fd = memfd_create("usage", MFD_CLOEXEC);
	fflush(stdout);
	dup2(usage_fd, STDOUT_FILENO);
	dup2(fileno(output), STDERR_FILENO);
	rte_openlog_stream(stderr);

	int parsed = start_in_folder(args), status = 0;

	fflush(stdout);
	fflush(stderr);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(usage_fd);
	if (parsed < 0) {
		const struct fault *const fault = find_fault(output);

		if (is_huge && fault->advice == lacks_memory)
			start_again();
		status = print_fault(output, fault, argc, argv);
	} else {
		copy(output, stderr);
	}
	fclose(output);
	return status;
}

void
eal_allow_restart(void)
{
	is_restart_allowed = true;
}

/*
 * Add the options for memory. Hugepages are used only if enough of them are free, because a program
 * that gets too few of them fails later. A program that needs at most MIB_SMALL MiB uses hugepages
 * if one MiB of hugepages is free. Any other program uses hugepages if they have twice the memory
 * that the program needs: both sides of a test may run on this machine, and neither side knows
 * which hugepages the other side will allocate.
 * @return whether EAL will use hugepages although the user did not ask for them
 */
static bool
add_memory(struct args *args, int argc, char **argv, unsigned mib)
{
	const unsigned huge_mib = mib <= MIB_SMALL ? 1 : 2 * mib;

	args_add_memory(args, argc, argv, mib, restart_has_happened() ? UINT_MAX : huge_mib);
	return args_has(args->argc, args->argv, "in-memory", 0);
}

int
eal_start(const char *program, int argc, char **argv, bool is_loopback, unsigned mib)
{
	/* `args` is static, because EAL keeps pointers to its strings */
	static struct args args;

	args_begin(&args, program);
	args_add_telemetry(&args, argc, argv, NULL);
	if (is_loopback) {
		if (!args_has(argc, argv, "no-pci", 0))
			args_add(&args, "--no-pci");
		args_add_lcores(&args, argc, argv, 2);
	}
	const bool is_huge = add_memory(&args, argc, argv, mib);

	if (args.argc + argc - 1 > ARGS_MAX) {
		fprintf(stderr, "%s: too many EAL options: allowed: %d\n",
			program_invocation_short_name, ARGS_MAX - args.argc);
		return EXIT_USAGE;
	}
	for (int i = 1; i < argc; i++)
		args_add(&args, argv[i]);
	return start_quietly(&args, is_huge, argc, argv);
}
