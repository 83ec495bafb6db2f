/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_FDS_H
#define UROCE_DATAPATH_FDS_H

/**
 * @file
 * The descriptors of this process: drivers keep theirs to themselves, and the kernel tells what each is.
 */

#include <dirent.h>
#include <stdbool.h>

/** A walk over all of them; one that is opened or closed meanwhile is found or not. */
struct uroce_fds {
	DIR *dir;
};

void uroce_fds_begin(struct uroce_fds *fds);

/** @return the next one; -1: that was all, and the walk is over */
int uroce_fds_next(struct uroce_fds *fds);

/** End a walk before its end. */
void uroce_fds_end(struct uroce_fds *fds);

/** Whether what /proc says it is ("anon_inode:[eventfd]") begins so. */
bool uroce_fds_is(int fd, const char *what);

#endif /* UROCE_DATAPATH_FDS_H */
