/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsockets.h"

#include <errno.h>
#include <stdio.h>

_Atomic(unsigned long) rsockets_set[RSOCKETS_FDS_MAX / RSOCKETS_WORD];

bool
rsockets_add(int fd)
{
	const unsigned at = (unsigned)fd;

	if (at >= RSOCKETS_FDS_MAX)
		return false;
	atomic_fetch_or(&rsockets_set[at / RSOCKETS_WORD], 1ul << at % RSOCKETS_WORD);
	return true;
}

void
rsockets_remove(int fd)
{
	const unsigned at = (unsigned)fd;

	if (rsockets_has(fd))
		atomic_fetch_and(&rsockets_set[at / RSOCKETS_WORD], ~(1ul << at % RSOCKETS_WORD));
}

void
rsockets_warn(const char *what, const char *allowed)
{
	static atomic_flag is_printed = ATOMIC_FLAG_INIT;
	const int err = errno;

	if (!atomic_flag_test_and_set(&is_printed))
		fprintf(stderr, "uroce: %s %s: allowed is %s\n", program_invocation_short_name,
			what, allowed);
	errno = err;
}
