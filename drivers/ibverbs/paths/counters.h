/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_COUNTERS_H
#define UROCE_PATHS_COUNTERS_H

/**
 * @file
 * Files of counters: ports/1/counters and ports/1/hw_counters of a device. Their contents are the
 * values at the time of reading. The tree has an empty file for each counter, so that it is
 * listed. A program that opens one gets a file in memory with the value.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tree.h"

/**
 * Limit of the descriptors of counters. A counter with a smaller descriptor shows its current
 * value at each read from the beginning. A counter with this or a larger descriptor keeps the value
 * of the time when it was opened.
 */
#define COUNTERS_FDS_MAX 4096
#define COUNTERS_WORD    (sizeof(unsigned long) * CHAR_BIT)

/**
 * Name number `idx` in the directory counters, or in hw_counters if `is_hw` is set; NULL: no more
 * names.
 */
const char *counters_name(bool is_hw, unsigned idx);

/**
 * Whether a path leads to the file of a counter.
 *
 * @param dir  directory from which a relative path starts, as for openat(2)
 * @param[out] where  the absolute path that programs use for the counter
 */
bool counters_find(int dir, const char *path, char where[TREE_PATH_MAX]);

/**
 * Open a counter, for reading only.
 * @return a descriptor, or -1 with errno
 */
int counters_open(const char *where, int flags);

/**
 * Descriptors that counters_open() has returned, a bit for each. Such a descriptor may have been
 * closed and reused. A descriptor without a bit is never a counter's.
 */
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
 * Update the value of a counter before its descriptor is read. Does nothing unless the descriptor
 * is a counter's and is read from the beginning.
 * @param at  offset of the read; -1: the current file position
 */
void counters_renew(int fd, off_t at);

#endif /* UROCE_PATHS_COUNTERS_H */
