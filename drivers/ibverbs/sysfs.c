/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of libibverbs that find and read sysfs. verbs.h does not declare them, but programs and
 * vendor libraries import them.
 */

#include "sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT "/sys"

/*
 * Get the path of sysfs. The environment variable SYSFS_PATH is ignored if the process has more
 * rights than its caller (set-uid).
 */
const char *
ibv_get_sysfs_path(void)
{
	static char path[PATH_MAX];
	const char *const given = secure_getenv("SYSFS_PATH");
	size_t len;

	if (path[0] != '\0')
		return path;
	snprintf(path, sizeof(path), "%s", given != NULL && given[0] != '\0' ? given : DEFAULT);
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	return path;
}

int
ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd, err;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size);
	err = errno;
	close(fd);
	errno = err;
	if (len > 0 && buf[len - 1] == '\n')
		buf[--len] = '\0';
	else if (len >= 0 && (size_t)len < size)
		buf[len] = '\0';
	return (int)len;
}
