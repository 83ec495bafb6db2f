/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_FD_LIMIT_H
#define UROCED_FD_LIMIT_H

/**
 * @file
 * The limit of file descriptors of a process of uroced. Each client needs some descriptors.
 */

/** Raise the soft limit of file descriptors of the process (RLIMIT_NOFILE) to the hard limit. */
void fd_limit_raise(void);

#endif /* UROCED_FD_LIMIT_H */
