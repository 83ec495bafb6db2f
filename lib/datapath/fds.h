/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_FDS_H
#define UROCE_DATAPATH_FDS_H

/**
 * @file
 * The file descriptors of this process. Drivers do not export their descriptors, but the kernel
 * reports the type of each one.
 */

#include <dirent.h>
#include <stdbool.h>

/**
 * An iteration over all file descriptors. A descriptor that is opened or closed during the
 * iteration may be found or not.
 */
struct uroce_fds {
	DIR *dir;
};

void uroce_fds_begin(struct uroce_fds *fds);

/**
 * Get the next file descriptor of the iteration.
 * @return the descriptor; -1: all descriptors have been returned, and the iteration has ended
 */
int uroce_fds_next(struct uroce_fds *fds);

/** End an iteration before it has reached its last descriptor. */
void uroce_fds_end(struct uroce_fds *fds);

/**
 * Whether the type of a file descriptor begins with `what`. The type is the target of the
 * descriptor's link in /proc, for example "anon_inode:[eventfd]".
 */
bool uroce_fds_is(int fd, const char *what);

/** Close a descriptor and set it to -1. If the descriptor is already -1, nothing happens. */
void uroce_fds_close(int *fd);

#endif /* UROCE_DATAPATH_FDS_H */
