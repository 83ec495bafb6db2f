/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CHILD_H
#define UROCED_CHILD_H

/**
 * @file
 * Child processes of uroced. A child process ends when its parent ends.
 */

#include <sys/types.h>

/** Maximum number of descriptors that uroced may have inherited. */
#define CHILD_INHERITED_MAX 1024

/**
 * Fork a child that is killed when its parent thread ends. Other processes of its user can neither
 * trace it nor access its memory, until it executes a program.
 * @return as fork()
 */
pid_t child_fork(void);

/**
 * Ignore the signals that end uroced, which also arrive at its children if a terminal or a service
 * manager sends them to all processes. The calling process has no zombies: the kernel discards the
 * exit status of its children.
 */
void child_outlive_signals(void);

#endif /* UROCED_CHILD_H */
