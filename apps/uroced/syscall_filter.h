/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SYSCALL_FILTER_H
#define UROCED_SYSCALL_FILTER_H

/**
 * @file
 * The filter of system calls (seccomp, mode 2) that uroced has after its start. A system call that
 * is not allowed fails with EPERM and is written to the audit log; uroced goes on. For example, the
 * filter forbids to create a process, to execute a program, to trace or to signal another process,
 * to change its limits, to get privileges, and to make executable memory.
 */

/** The kinds of seccomp filters: which system calls are allowed. */
enum syscall_filter {
	SYSCALL_FILTER_UROCED,
	/*
	 * the system calls of SYSCALL_FILTER_UROCED, and also bpf(2) and sockets of AF_XDP, which
	 * the driver net_af_xdp needs when its port is stopped
	 */
	SYSCALL_FILTER_XDP,
	/*
	 * the system calls of the connection manager: it can open no file, and no socket except
	 * pairs of sockets, and cannot connect to a process or send to an address
	 */
	SYSCALL_FILTER_CM,
};

/**
 * Restrict all threads of the process to the system calls of a filter; this cannot be undone. The
 * caller has set PR_SET_NO_NEW_PRIVS.
 * @return 0; -EBUSY if a thread has another filter; another -errno
 */
int syscall_filter_install(enum syscall_filter filter);

#endif /* UROCED_SYSCALL_FILTER_H */
