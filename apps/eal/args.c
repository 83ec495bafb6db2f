/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds default EAL arguments, for programs whose users need not know the options of DPDK. */

#include "eal/args.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "eal/pages.h"

void
args_add(struct args *args, const char *text)
{
	if (args->argc < ARGS_MAX)
		args->argv[args->argc++] = (char *)(uintptr_t)text;
	args->argv[args->argc] = NULL;
}

bool
args_has(int argc, char **argv, const char *name, char letter)
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
 * Read the number in the file `name` of a folder.
 * @return the number; 0 if the file cannot be read
 */
static uint64_t
read_number(const char *folder, const char *name)
{
	char path[PATH_MAX];
	uint64_t number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%" SCNu64, &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/*
 * Check whether the process is root and at least `mib` MiB of hugepages are free. The kernel counts
 * as free also pages that it has promised to mappings of other processes.
 */
static bool
has_hugepages(unsigned mib)
{
	uint64_t free_kib = 0;
	glob_t found;

	if (geteuid() != 0 || glob("/sys/kernel/mm/hugepages/hugepages-*", 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *const folder = found.gl_pathv[i];
		const uint64_t count = read_number(folder, "free_hugepages");
		const uint64_t promised = read_number(folder, "resv_hugepages");
		uint64_t kib = 0;

		if (count > promised &&
		    sscanf(strrchr(folder, '/'), "/hugepages-%" SCNu64 "kB", &kib) == 1)
			free_kib += (count - promised) * kib;
	}
	globfree(&found);
	return free_kib >> 10 >= mib;
}

/*
 * The options that this function adds make EAL use anonymous hugepages and no runtime directory, so
 * no file remains after the process.
 */
void
args_add_memory(struct args *args, int argc, char **argv, unsigned mib, unsigned huge_mib)
{
	static char text[16]; /* `text` is static, because EAL keeps a pointer to the argument */

	bool is_no_huge = args_has(argc, argv, "no-huge", 0);

	if (!is_no_huge && !args_has(argc, argv, "in-memory", 0) &&
	    !args_has(argc, argv, "huge-dir", 0) && !args_has(argc, argv, "file-prefix", 0) &&
	    !args_has(argc, argv, "huge-unlink", 0)) {
		is_no_huge = !has_hugepages(huge_mib);
		args_add(args, is_no_huge ? "--no-huge" : "--in-memory");
		/*
		 * let EAL use virtual addresses as IOVAs: it has no physical addresses of ordinary
		 * memory, and without PCI devices no driver needs physical addresses
		 */
		if (!args_has(argc, argv, "iova-mode", 0) &&
		    (args_has(argc, argv, "no-pci", 0) ||
		     args_has(args->argc, args->argv, "no-pci", 0)))
			args_add(args, "--iova-mode=va");
		pages_allow(is_no_huge ? 0 : (size_t)mib << 20);
	}
	if (!is_no_huge)
		return;
	if (!args_has(argc, argv, "no-shconf", 0))
		args_add(args, "--no-shconf");
	if (!args_has(argc, argv, "socket-mem", 0) && !args_has(argc, argv, "m", 'm')) {
		args_add(args, "-m");
		snprintf(text, sizeof(text), "%u", mib);
		args_add(args, text);
	}
}

void
args_add_lcores(struct args *args, int argc, char **argv, unsigned nb)
{
	static char text[64]; /* `text` is static, because EAL keeps a pointer to the argument */
	int cpu_of[2] = { -1, -1 };
	cpu_set_t cpus;
	unsigned nb_cpus = 0;

	if (args_has(argc, argv, "lcores", 0) || args_has(argc, argv, "l", 'l') ||
	    args_has(argc, argv, "c", 'c'))
		return;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && nb_cpus < 2; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			cpu_of[nb_cpus++] = cpu;
	if (nb == 1)
		snprintf(text, sizeof(text), "--lcores=0@%d", cpu_of[0]);
	else
		snprintf(text, sizeof(text), "--lcores=0@%d,1@%d", cpu_of[0], cpu_of[nb_cpus == 2]);
	args_add(args, text);
}

void
args_begin(struct args *args, const char *program)
{
	*args = (struct args){ .argc = 0 };
	args_add(args, program);
	args_add(args, "--log-level=*:error");
	args_add(args, "--log-level=roce.*:warning");
}

/*
 * Get the value of an EAL option on the command line: the text behind '=', or the next argument.
 * The result is `none` if the option was not given.
 */
static const char *
value_of(int argc, char **argv, const char *name, const char *none)
{
	const size_t len = strlen(name);

	for (int i = argc - 1; i > 0; i--) {
		const char *arg = argv[i];

		if (strncmp(arg, "--", 2) != 0 || strncmp(arg + 2, name, len) != 0)
			continue;
		if (arg[2 + len] == '=')
			return arg + 2 + len + 1;
		if (arg[2 + len] == '\0' && i + 1 < argc)
			return argv[i + 1];
	}
	return none;
}

static bool
make_dir(const char *path)
{
	return (mkdir(path, 0700) == 0 || errno == EEXIST) && access(path, W_OK | X_OK) == 0;
}

/*
 * Check whether EAL can create the sockets of telemetry below a folder. If EAL cannot create them,
 * it does not start. This function creates the directory for the sockets, as EAL would, and checks
 * the length of the path.
 */
static bool
has_room_for_sockets(const char *folder, int argc, char **argv)
{
	static const char longest[] = "/dpdk_telemetry.v2:99999";
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof(longest)];

	if (folder == NULL ||
	    snprintf(path, sizeof(path), "%s/dpdk", folder) >= (int)sizeof(path) || !make_dir(path))
		return false;
	return snprintf(path, sizeof(path), "%s/dpdk/%s", folder,
			value_of(argc, argv, "file-prefix", "rte")) < (int)sizeof(path) &&
	       make_dir(path);
}

void
args_add_telemetry(struct args *args, int argc, char **argv, const char *folder)
{
	if (args_has(argc, argv, "telemetry", 0) || args_has(argc, argv, "no-telemetry", 0))
		return;
	args_add(args, has_room_for_sockets(folder, argc, argv) ? "--telemetry" : "--no-telemetry");
}
