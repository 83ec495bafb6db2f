/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_ENTRY_H
#define UCMA_ENTRY_H

/**
 * @file
 * The calls by which the preloaded library passes system calls on /dev/infiniband/rdma_cm to the
 * engine (liburoce and DPDK), by way of libibverbs.so.1. Any thread may make them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * Open /dev/infiniband/rdma_cm.
 * @param flags  flags of open()
 * @return a descriptor, or -1 with errno
 */
int uroce_engine_cm_open(int flags);

/**
 * Execute the command that a program writes to a descriptor of /dev/infiniband/rdma_cm.
 * @param[out] written  the result of write(), -1 with errno; set only if the function returns true
 * @return false: the descriptor is not one of /dev/infiniband/rdma_cm
 */
bool uroce_engine_cm_write(int fd, const void *buf, size_t len, ssize_t *written);

/**
 * Take a reference to the open file of /dev/infiniband/rdma_cm to which a descriptor refers, for
 * example while the descriptor is closed.
 * @return the argument of uroce_engine_cm_release(); NULL: the descriptor does not refer to
 *         /dev/infiniband/rdma_cm
 */
void *uroce_engine_cm_hold(int fd);

/**
 * Drop a reference that uroce_engine_cm_hold() took to an open file of /dev/infiniband/rdma_cm. If
 * the file has no descriptor any more, its ids are destroyed. The function does not change errno.
 */
void uroce_engine_cm_release(void *file);

/**
 * Destroy the ids of open files of /dev/infiniband/rdma_cm that have no descriptor any more. The
 * function must be called after a range of descriptors was closed.
 */
void uroce_engine_cm_sweep(void);

#endif /* UCMA_ENTRY_H */
