/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_FORK_H
#define UROCE_IBVERBS_FORK_H

/**
 * @file
 * Contexts of a dead engine: a child of fork() inherited them, or the program has closed the
 * engine's descriptors.
 */

#include <infiniband/verbs.h>

/**
 * Make the inline calls on a context fail with EIO or EOPNOTSUPP, without access to the dead
 * engine's memory. Device memory can still be allocated: it is plain memory of this process.
 */
void fork_kill_context(struct ibv_context *context);

#endif /* UROCE_IBVERBS_FORK_H */
