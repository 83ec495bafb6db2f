/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_ENTRY_H
#define UCMA_ENTRY_H

/**
 * @file
 * The calls by which the preloaded library passes system calls on /dev/infiniband/rdma_cm to the
 * engine, by way of libibverbs.so.1. Any thread may make them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Open the file. @param flags  of open() @return a descriptor, or -1 with errno */
int uroce_engine_cm_open(int flags);

/**
 * Execute the command that a program writes.
 * @param[out] written  the result of write(), -1 with errno; written on true
 * @return false: the descriptor is not one of the file
 */
bool uroce_engine_cm_write(int fd, const void *buf, size_t len, ssize_t *written);

/**
 * Hold the open file of a descriptor, for example while the descriptor is closed.
 * @return what uroce_engine_cm_release() gets; NULL: the descriptor is not one of the file
 */
void *uroce_engine_cm_hold(int fd);

/** Release an open file. If no descriptor is left, its ids are destroyed. errno stays as it is. */
void uroce_engine_cm_release(void *file);

/** After a range of descriptors was closed: destroy the ids of files without descriptor. */
void uroce_engine_cm_sweep(void);

#endif /* UCMA_ENTRY_H */
