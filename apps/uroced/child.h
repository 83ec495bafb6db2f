/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CHILD_H
#define UROCED_CHILD_H

/**
 * @file
 * Child processes of uroced. A child process ends when its parent ends.
 */

#include <sys/types.h>

/**
 * Maximum number of descriptors that uroced may have inherited from the program that started it.
 */
#define CHILD_INHERITED_MAX 1024

/**
 * Fork a child process that is killed when its parent thread ends. Until the child executes a
 * program, other processes of its user can neither trace it nor access its memory.
 * @return as fork()
 */
pid_t child_fork(void);

/**
 * Ignore the signals that end uroced. They also arrive at its children if a terminal or a service
 * manager sends them to all processes. The function also ignores SIGCHLD: the kernel discards the
 * exit status of the children of the calling process, so that they do not become zombies.
 */
void child_outlive_signals(void);

#endif /* UROCED_CHILD_H */
