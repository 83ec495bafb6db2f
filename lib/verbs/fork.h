/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_FORK_H
#define UROCE_VERBS_FORK_H

/**
 * @file
 * Whether this process is a child that inherited devices which are up. Its parent goes on with them, in memory that both may have:
 * so the calls that objects carry with them touch nothing of it there.
 */

#include <stdbool.h>

extern bool uroce_fork_child; /* set in the child, see device.c */

/** This process is such a child. */
static inline bool
uroce_is_fork_child(void)
{
	return __builtin_expect(uroce_fork_child, false);
}

#endif /* UROCE_VERBS_FORK_H */
