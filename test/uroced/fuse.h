/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_FUSE_H
#define TEST_UROCED_FUSE_H

#include <stdatomic.h>
#include <sys/types.h>

/**
 * @file
 * A file of a FUSE file system that answers no request after the file is open. close() of a
 * descriptor of the file sends the request FLUSH and waits in an uninterruptible sleep, until the
 * server answers or ends.
 */

#define FUSE_WAITING_MAX 64u

/** Processes that wait for a reply of the server. The server counts them; others only read. */
struct fuse_waiting {
	atomic_uint nb;
	pid_t pid[FUSE_WAITING_MAX]; /* the first nb are valid */
};

/**
 * Mount a FUSE file system in a mount namespace of the calling process, and open its file, for
 * which no request is answered after that. The caller is root. A child of the caller serves the
 * file system, so this child has to end before the caller can end.
 * @param folder    an empty folder, to mount at
 * @param waiting   in memory that the caller shares with those who read it
 * @param[out] why  what this machine lacks or forbids, if there is no file
 * @return a descriptor; -1 if there is no file
 */
int fuse_open_file(const char *folder, struct fuse_waiting *waiting, const char **why);

#endif /* TEST_UROCED_FUSE_H */
