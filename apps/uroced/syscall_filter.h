/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SYSCALL_FILTER_H
#define UROCED_SYSCALL_FILTER_H

/**
 * @file
 * The filter of system calls (seccomp, mode 2) that uroced has after its start. A call that is not
 * allowed fails with EPERM and is written to the audit log; it does not end uroced. The filter
 * forbids, among others, to create a process, to execute a program, to trace or to signal another
 * process, to get privileges, and to make executable memory.
 */

#include <stdbool.h>

/**
 * Restrict all threads of the process to the allowed system calls; this cannot be undone. The
 * caller has set PR_SET_NO_NEW_PRIVS.
 * @param with_xdp  also allow bpf(2) and sockets of AF_XDP, which the driver net_af_xdp needs when
 *         its port is stopped
 * @return 0; -EBUSY if a thread has another filter; another -errno
 */
int syscall_filter_install(bool with_xdp);

#endif /* UROCED_SYSCALL_FILTER_H */
