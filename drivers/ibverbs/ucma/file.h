/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_FILE_H
#define UCMA_FILE_H

/**
 * @file
 * The open files of /dev/infiniband/rdma_cm. A descriptor leads to its file by the inode of the
 * pipe that it belongs to. So all copies that dup() and fcntl() make lead to the same file, and a
 * number that was closed and used for something else does not.
 */

#include "ucma.h"

/**
 * Open a file.
 * @param flags  of open(); O_NONBLOCK and O_CLOEXEC apply
 * @mt Safe.
 * @return a descriptor, which belongs to the program, or -errno
 */
int ucma_file_open(int flags);

/**
 * Find the file of a descriptor, and use it.
 * @mt Safe; without ucma_lock.
 * @return NULL: the descriptor is not open, or is of something else
 */
struct ucma_file *ucma_file_get(int fd);

/**
 * End the use of a file. The last use of a file that is closed destroys the ids of the file.
 * @mt Safe; without ucma_lock.
 */
void ucma_file_put(struct ucma_file *file);

/**
 * Note whether descriptors of a file are left, after one was closed. The caller uses the file.
 * @mt Safe; without ucma_lock.
 */
void ucma_file_check(struct ucma_file *file);

/**
 * Make the descriptors of a file readable if an event waits, and not readable otherwise. To be
 * called after events may have been taken or dropped.
 * @param fd  a descriptor of the file
 * @mt With ucma_lock.
 */
void ucma_file_update(struct ucma_file *file, int fd);

/** Release all files that have no descriptors any more. @mt Safe; without ucma_lock. */
void ucma_file_sweep(void);

#endif /* UCMA_FILE_H */
