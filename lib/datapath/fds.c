/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An iteration over file descriptors reads /proc/self/fd. It skips the descriptor that the
 * iteration itself uses.
 */

#include "datapath/fds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
uroce_fds_begin(struct uroce_fds *fds)
{
	fds->dir = opendir("/proc/self/fd");
}

int
uroce_fds_next(struct uroce_fds *fds)
{
	const struct dirent *entry;

	while (fds->dir && (entry = readdir(fds->dir))) {
		char *end;
		const long fd = strtol(entry->d_name, &end, 10);

		if (end > entry->d_name && *end == '\0' && fd != dirfd(fds->dir))
			return (int)fd;
	}
	uroce_fds_end(fds);
	return -1;
}

void
uroce_fds_end(struct uroce_fds *fds)
{
	if (fds->dir)
		closedir(fds->dir);
	fds->dir = NULL;
}

bool
uroce_fds_is(int fd, const char *what)
{
	char path[32], name[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, name, sizeof(name));
	return len >= (ssize_t)strlen(what) && memcmp(name, what, strlen(what)) == 0;
}

void
uroce_fds_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}
