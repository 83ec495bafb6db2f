/* SPDX-License-Identifier: BSD-3-Clause */

/* Raises the soft limit of descriptors of a process (RLIMIT_NOFILE) to the hard limit. */

#include "fd_limit.h"

#include <sys/resource.h>

void
fd_limit_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}
