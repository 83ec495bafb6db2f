/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_FORK_H
#define UROCE_VERBS_FORK_H

/**
 * @file
 * Whether this process is a child that inherited devices. Its parent goes on with them, in memory that both may have:
 * so the calls that objects carry with them touch nothing of it there.
 */

#include <stdbool.h>

extern bool uroce_fork_child;

/** This process is such a child. */
static inline bool
uroce_is_fork_child(void)
{
	return __builtin_expect(uroce_fork_child, false);
}

/** From now on there are devices to inherit. @mt Safe. */
void uroce_fork_watch(void);

#endif /* UROCE_VERBS_FORK_H */
