/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_READY_PIPE_H
#define UCMA_READY_PIPE_H

/**
 * @file
 * A pipe whose read end belongs to a program, and which is readable when something is ready. The
 * pipe has one byte while it is ready, and is empty otherwise. So the program's descriptor works
 * with poll(), select() and epoll. A thread waits by reading the byte, so the kernel applies
 * O_NONBLOCK of the program's descriptor, and restarts or ends the wait when a signal arrives.
 *
 * The library keeps only the write end. When all copies of the read end are closed, in this process
 * and in its children, poll() on the write end reports POLLERR.
 *
 * The caller's lock protects the struct, except where a function says otherwise.
 */

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct ready_pipe {
	int write_fd;
	/*
	 * device and inode numbers of the pipe, by which each descriptor of its read end is
	 * recognised
	 */
	dev_t dev;
	ino_t ino;
	/* the pipe contains its byte, or a thread that waits has just read the byte */
	bool has_byte;
	/* number of threads that wait in ready_pipe_wait() */
	unsigned nb_waiting;
};

/**
 * Create a pipe whose read end is not readable yet (not ready).
 *
 * @param flags  flags of open(): O_NONBLOCK and O_CLOEXEC apply to the read end
 * @return the smallest free descriptor, of the read end, which belongs to the program; or -errno
 */
int ready_pipe_open(struct ready_pipe *pipe, int flags);

/** Close the write end of a ready_pipe; the program owns the read end. */
void ready_pipe_close(struct ready_pipe *pipe);

/** Check whether all descriptors of the read end of a ready_pipe are closed. */
bool ready_pipe_is_abandoned(const struct ready_pipe *pipe);

/**
 * Make the read end of a pipe readable (ready), or not readable.
 * @param fd  a descriptor of the read end; only used to make a pipe not ready
 */
void ready_pipe_set(struct ready_pipe *pipe, int fd, bool is_ready);

/**
 * Wait until the pipe is ready, and make it not ready: the wait reads the byte in the pipe. The
 * caller holds `lock`, which is released during the wait. After a return of 0 the caller checks
 * whether something is ready, because another thread may have taken it first, and calls
 * ready_pipe_set().
 * @param fd            the descriptor of the read end by which the program makes the call
 * @param cancel_state  state for pthread_setcancelstate() during the wait; before and after the
 *	wait cancellation is disabled. A thread that is cancelled does not have the lock.
 * @return 0, or -errno: EAGAIN, because `fd` is non-blocking; EINTR
 */
int ready_pipe_wait(struct ready_pipe *pipe, int fd, pthread_mutex_t *lock, int cancel_state);

#endif /* UCMA_READY_PIPE_H */
