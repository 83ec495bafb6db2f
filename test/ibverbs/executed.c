/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that executes another one while its device is in use: the new program must inherit no
 * descriptor of the library or of EAL. Run under uroce-run.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

/*
 * Print all descriptors except the standard ones.
 * @return number of printed descriptors
 */
static int
list_descriptors(void)
{
	DIR *const fds = opendir("/proc/self/fd");
	const struct dirent *entry;
	int nb = 0;

	check(fds != NULL, "/proc/self/fd");
	while ((entry = readdir(fds)) != NULL) {
		const int fd = (int)strtol(entry->d_name, NULL, 10);
		char path[300], what[256] = "";

		if (fd <= STDERR_FILENO || fd == dirfd(fds))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, what, sizeof(what) - 1) > 0)
			printf("%d inherited: %s\n", fd, what);
		nb++;
	}
	closedir(fds);
	fflush(stdout);
	return nb;
}

static int
execute(char *program)
{
	char list[] = "list", *const argv[] = { program, list, NULL };
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
main(int argc, char **argv)
{
	struct pair pair;

	if (argc > 1 && strcmp(argv[1], "list") == 0)
		return list_descriptors() > 0;
	closefrom(STDERR_FILENO + 1);
	pair_open(&pair);
	pair_exchange(&pair, 1);
	check(execute(argv[0]) == 0, "a program that was executed");
	pair_close(&pair);
	return 0;
}
