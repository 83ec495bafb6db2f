/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_FILE_H
#define UCMA_FILE_H

/**
 * @file
 * The open files of /dev/infiniband/rdma_cm. Each open file has a pipe, and a descriptor leads to
 * the file by the inode of its pipe. So all copies of a descriptor that dup() and fcntl() make lead
 * to the same file. A descriptor number that was closed and used for something else does not lead
 * to the file.
 */

#include "ucma.h"

/**
 * Open the file /dev/infiniband/rdma_cm.
 * @param flags  flags of open(), of which only O_NONBLOCK and O_CLOEXEC have an effect
 * @mt Safe.
 * @return a descriptor, which belongs to the program, or -errno
 */
int ucma_file_open(int flags);

/**
 * Find the open file of /dev/infiniband/rdma_cm to which a descriptor refers, and begin a use of
 * the file, which ucma_file_put() ends.
 * @mt Safe; the caller does not hold ucma_lock.
 * @return NULL: the descriptor is not open, or is not one of /dev/infiniband/rdma_cm
 */
struct ucma_file *ucma_file_get(int fd);

/**
 * End the use of an open file of /dev/infiniband/rdma_cm. The last use of a file that is closed
 * destroys the ids of the file.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_file_put(struct ucma_file *file);

/**
 * Record that an open file of /dev/infiniband/rdma_cm is closed if it has no descriptor any more.
 * The function must be called after a descriptor of the file was closed, and before
 * ucma_file_put().
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_file_check(struct ucma_file *file);

/**
 * Make the descriptors of an open file of /dev/infiniband/rdma_cm readable if an event waits, and
 * not readable otherwise. The function must be called after events may have been taken or dropped.
 * @param fd  a descriptor of the file
 * @mt The caller holds ucma_lock.
 */
void ucma_file_update(struct ucma_file *file, int fd);

/**
 * Release all open files of /dev/infiniband/rdma_cm that have no descriptors any more.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_file_sweep(void);

#endif /* UCMA_FILE_H */
