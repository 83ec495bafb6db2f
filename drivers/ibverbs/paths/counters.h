/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_COUNTERS_H
#define UROCE_PATHS_COUNTERS_H

/**
 * @file
 * The files of counters: ports/1/counters and ports/1/hw_counters of a device, which tell what is counted when they
 * are read. The tree has an empty file for each, to be listed; whoever opens one gets a file in memory with the number.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tree.h"

/** A counter's descriptor beyond these keeps the number that it was opened with. */
#define COUNTERS_FDS_MAX 4096
#define COUNTERS_WORD    (sizeof(unsigned long) * CHAR_BIT)

/** The names below counters (0) or hw_counters (1), one for each `idx` from 0 on; NULL: there are no more. */
const char *counters_name(bool is_hw, unsigned idx);

/**
 * Whether a path leads to the file of a counter.
 *
 * @param dir  from where a relative path counts, as for openat(2)
 * @param[out] where  the path by which programs know it
 */
bool counters_find(int dir, const char *path, char where[TREE_PATH_MAX]);

/**
 * Open it, for reading alone.
 * @return a descriptor, or -1 with errno
 */
int counters_open(const char *where, int flags);

/** Descriptors that counters_open() has returned, a bit for each: they may be others' by now. Others have no bit. */
extern _Atomic(unsigned long) counters_opened[COUNTERS_FDS_MAX / COUNTERS_WORD];

static inline bool
counters_may_be(int fd)
{
	return fd >= 0 && (unsigned)fd < COUNTERS_FDS_MAX &&
	       (atomic_load_explicit(&counters_opened[(unsigned)fd / COUNTERS_WORD],
				     memory_order_relaxed) >>
			(unsigned)fd % COUNTERS_WORD &
		1) != 0;
}

/**
 * Before a descriptor is read: if it is a counter's, and read from its beginning, the number becomes today's.
 * @param at  where it is read; -1: at its position
 */
void counters_renew(int fd, off_t at);

#endif /* UROCE_PATHS_COUNTERS_H */
