/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_FORK_H
#define UROCE_IBVERBS_FORK_H

/**
 * @file
 * Handles the contexts of a dead engine. A child of fork() has inherited these contexts, or the
 * program has closed the descriptors of the engine.
 */

#include <infiniband/verbs.h>

/**
 * Make the inline calls on a context fail with EIO or EOPNOTSUPP, without access to the memory of
 * the dead engine. Device memory can still be allocated, because it is then plain memory of this
 * process.
 */
void fork_kill_context(struct ibv_context *context);

#endif /* UROCE_IBVERBS_FORK_H */
