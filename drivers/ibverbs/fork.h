/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_FORK_H
#define UROCE_IBVERBS_FORK_H

/**
 * @file
 * Handles the device contexts of liburoce after liburoce has stopped working in a process. This
 * happens in a child of fork(), because the child has inherited the contexts but no threads. It
 * also happens if the program has closed the file descriptors of liburoce.
 */

#include <infiniband/verbs.h>

/**
 * Make the inline calls on a context fail with EIO or EOPNOTSUPP, without access to the memory of
 * liburoce, which has stopped working. Device memory can still be allocated, because it is then
 * plain memory of this process.
 */
void fork_kill_context(struct ibv_context *context);

#endif /* UROCE_IBVERBS_FORK_H */
