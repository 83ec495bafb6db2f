/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_FUSE_H
#define TEST_UROCED_FUSE_H

/**
 * @file
 * A file of a FUSE file system that answers no request after the file is open. close() of a
 * descriptor of the file sends the request FLUSH and waits in an uninterruptible sleep, until the
 * server answers or ends.
 */

/**
 * Mount a FUSE file system in a mount namespace of the calling process, and open its file, for
 * which no request is answered after that. The caller is root. A child of the caller serves the
 * file system, so this child has to end before the caller can end.
 * @param folder    an empty folder, to mount at
 * @param[out] why  what this machine lacks or forbids, if there is no file
 * @return a descriptor; -1 if there is no file
 */
int fuse_open_file(const char *folder, const char **why);

#endif /* TEST_UROCED_FUSE_H */
