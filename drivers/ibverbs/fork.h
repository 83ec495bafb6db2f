/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_FORK_H
#define UROCE_IBVERBS_FORK_H

/**
 * @file
 * Contexts that a child of fork() inherited.
 */

#include <infiniband/verbs.h>

/**
 * Make the inline calls on a context fail with EIO or EOPNOTSUPP, without access to the parent's
 * memory. Device memory can still be allocated: it is the child's own.
 */
void fork_kill_context(struct ibv_context *context);

#endif /* UROCE_IBVERBS_FORK_H */
