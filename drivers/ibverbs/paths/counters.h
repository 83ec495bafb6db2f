/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_COUNTERS_H
#define UROCE_PATHS_COUNTERS_H

/**
 * @file
 * The files of counters in the directories ports/1/counters and ports/1/hw_counters of an RDMA
 * device. A program that reads such a file gets the current value of the counter. The private tree
 * of files (tree.h) has an empty file for each counter, so that directories list it. A program that
 * opens the file of a counter gets a file in memory with the value.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tree.h"

/**
 * Limit of the descriptors for which the value of a counter is updated. A counter's file with a
 * smaller descriptor shows the current value at each read from its beginning. A file with this or a
 * larger descriptor keeps the value of the time when it was opened.
 */
#define COUNTERS_FDS_MAX 4096
#define COUNTERS_WORD    (sizeof(unsigned long) * CHAR_BIT)

/**
 * Get the name of the counter's file number `idx` in the directory "counters" of a port, or in
 * "hw_counters" if `is_hw` is set. The result is NULL if there are no more files.
 */
const char *counters_name(bool is_hw, unsigned idx);

/**
 * Check whether a path leads to the file of a counter of an RDMA device.
 *
 * @param dir  directory from which a relative path starts, as for openat(2)
 * @param[out] where  the absolute path that programs use for the counter
 */
bool counters_find(int dir, const char *path, char where[TREE_PATH_MAX]);

/**
 * Open the file of a counter of an RDMA device, for reading only.
 * @param where  the absolute path of the counter, from counters_find()
 * @return a descriptor, or -1 with errno
 */
int counters_open(const char *where, int flags);

/**
 * A bit for each descriptor that counters_open() has returned. Such a descriptor may have been
 * closed and used for another file. A descriptor whose bit is not set never belongs to a counter.
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
 * Update the value in the file of a counter before the file is read. The function does nothing
 * unless the descriptor belongs to a counter and the read starts at the beginning of the file.
 * @param at  offset of the read; -1 for the current file position
 */
void counters_renew(int fd, off_t at);

#endif /* UROCE_PATHS_COUNTERS_H */
