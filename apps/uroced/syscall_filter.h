/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SYSCALL_FILTER_H
#define UROCED_SYSCALL_FILTER_H

/**
 * @file
 * Which system calls uroced may make once it has started (seccomp, mode 2). The others fail with EPERM and go to the audit
 * log: nothing that uroced does by an honest path ends it. To create a process, to execute a program, to trace or to signal
 * another process, to get privileges and to make executable memory are among the others.
 */

#include <stdbool.h>

/**
 * Let the process, in all of its threads and for ever, make these calls alone. It has PR_SET_NO_NEW_PRIVS already.
 * @param with_xdp  also bpf(2) and sockets of AF_XDP, which that driver needs at its end
 * @return 0; -errno; -EBUSY: a thread has a filter of its own
 */
int syscall_filter_install(bool with_xdp);

#endif /* UROCED_SYSCALL_FILTER_H */
