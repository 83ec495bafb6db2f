/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_FORK_H
#define UROCE_VERBS_FORK_H

/**
 * @file
 * Whether this process is a child of fork() that inherited devices which are up. The parent goes on
 * using these devices, and parent and child may share their memory. So in the child the calls that
 * inherited objects contain as function pointers must not write to this memory.
 */

#include <stdbool.h>

/*
 * This process is a child of fork() that inherited devices which are up. device.c sets this flag.
 */
extern bool uroce_fork_child;

/** Whether this process is a child of fork() that inherited devices which are up. */
static inline bool
uroce_is_fork_child(void)
{
	return __builtin_expect(uroce_fork_child, false);
}

#endif /* UROCE_VERBS_FORK_H */
