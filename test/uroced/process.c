/* SPDX-License-Identifier: BSD-3-Clause */

/* Finds processes of uroced in /proc. */

#include "process.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "now_ms.h"

#define TIMEOUT_MS 300000

unsigned
process_list_children(pid_t pid, pid_t *children, unsigned room)
{
	char path[64];
	unsigned nb = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	while (file && nb < room && fscanf(file, "%d", &children[nb]) == 1)
		nb++;
	if (file)
		(void)fclose(file);
	return nb;
}

/* Read the name and the parent of a process. @return false if the process has ended */
static bool
read_stat(const char *pid, char name[32], int *parent)
{
	char path[64 + 256];
	FILE *file;
	int nb;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	nb = file ? fscanf(file, "%*d (%31[^)]) %*c %d", name, parent) : 0;
	if (file)
		(void)fclose(file);
	return nb == 2;
}

/* Find a child of a process by its name. @return 0 if there is no such child */
static pid_t
child_of(pid_t parent, const char *name)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir = opendir("/proc");

	assert_non_null(dir);
	while ((entry = readdir(dir)) && found == 0) {
		char its_name[32];
		int its_parent;

		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    read_stat(entry->d_name, its_name, &its_parent) && its_parent == parent &&
		    strcmp(its_name, name) == 0)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	(void)closedir(dir);
	return found;
}

pid_t
process_await_child(pid_t parent, const char *name)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	pid_t pid;

	while ((pid = child_of(parent, name)) == 0) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
	return pid;
}

void
process_await_end(pid_t pid)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (kill(pid, 0) == 0) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
}

pid_t
process_await_manager(pid_t uroced)
{
	return process_await_child(process_await_child(uroced, "uroced-starter"), "uroced-cm");
}
