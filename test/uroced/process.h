/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_PROCESS_H
#define TEST_UROCED_PROCESS_H

/**
 * @file
 * Finds the processes that uroced starts, and waits for them. The test fails after a minute.
 */

#include <sys/types.h>

/**
 * List the children of a process. The readers are the children of the first process that uroced
 * forks.
 * @param room  the largest number of children to list
 * @return the number of children; 0 if the kernel does not list them
 */
unsigned process_list_children(pid_t pid, pid_t *children, unsigned room);

/** Wait until a process has a child of this name. */
pid_t process_await_child(pid_t parent, const char *name);

/** Wait until uroced has a connection manager. */
pid_t process_await_manager(pid_t uroced);

/** Wait until a process, which is no child of the test, has ended. */
void process_await_end(pid_t pid);

#endif /* TEST_UROCED_PROCESS_H */
