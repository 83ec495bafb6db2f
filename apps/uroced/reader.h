/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READER_H
#define UROCED_READER_H

/**
 * @file
 * A reader: a process that handles descriptors which clients have sent. Each user has its own
 * reader. close() and other system calls for such a descriptor may take as long as the sender wants
 * (a TCP socket with SO_LINGER, a file of FUSE). To seal a file takes long while a process writes
 * to the file. If a reader makes these calls, they delay only clients of the same user.
 *
 * A closer is a process that closes sockets of clients in which descriptors wait. The children of
 * the closer receive the sockets and end: a process that ends does not wait for bytes that linger.
 * The closer waits for the end of each child, and so reports a socket only when it is closed.
 *
 * Readers and closers are forked from a process that was forked before uroced had threads, a port
 * or a listener. So a reader or closer that hangs keeps neither the port nor the listener open.
 * Jobs and replies pass through a socket pair between uroced and the process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mux/message.h"

enum reader_kind {
	/* receive the next message, and its descriptors, from a client's socket */
	READER_TAKE,
	/* seal the file of mapped shared memory, and check that all of its pages are allocated */
	READER_SEAL,
};

/** A job of a reader process. A descriptor is sent with the job. */
struct reader_job {
	uint32_t kind;
	uint32_t slot;   /* client.slot of the client to which the job belongs */
	uint64_t number; /* number of the job, which the reply of the reader repeats */
	/* the layout of the client's shared memory, for READER_SEAL */
	struct uroce_shm_layout plan;
};

/**
 * The reply of a reader process to a job. If a message that was received for READER_TAKE brings the
 * file of shared memory, this file is sent with the reply. The reader has checked the file, so a
 * close() of it does not wait.
 */
struct reader_answer {
	uint32_t kind;
	uint32_t slot;
	uint64_t number;
	/*
	 * if `kind` is READER_TAKE: the result of uroce_mux_receive(), or -EINVAL for the reason in
	 * `why`
	 */
	int32_t ret;
	/*
	 * reason why the client's shared memory is refused, as the end of a sentence; empty if it
	 * is accepted
	 */
	char why[96];
	/*
	 * the message that was received from the client; valid if `kind` is READER_TAKE and `ret`
	 * is 1
	 */
	union uroce_mux_message message;
};

/**
 * Fork the process that forks reader processes. The calling process must have only one thread. The
 * new process and all readers end when the calling thread ends.
 * @return a socket for reader_make(), or -errno
 */
int reader_start(void);

/**
 * Let the process that reader_start() forked fork a reader or a closer.
 * @param start  the socket that reader_start() returned
 * @return the socket for the jobs and replies of the process, or -errno
 */
int reader_make(int start, bool is_closer);

/**
 * Give a job to a reader process. This call does not wait.
 * @return 0; -EAGAIN if the reader has too many jobs; another -errno
 */
int reader_ask(int reader, const struct reader_job *job, int fd);

/**
 * Do a job in a reader process. The call may take as long as the sender of the descriptor wants.
 * @param fd  the descriptor that came with the job
 * @return the file that came with the message that was received; -1 if there is none
 */
int reader_do(const struct reader_job *job, int fd, struct reader_answer *answer);

/**
 * Receive a reply of a reader process. This call does not wait.
 * @param[out] fd  the descriptor that came with the reply, which the caller has to close; -1 if
 *         there is none
 * @return 1 if a reply was received, 0 if the reader has ended, -EAGAIN if there is no reply yet,
 *         or another -errno
 */
int reader_answered(int reader, struct reader_answer *answer, int *fd);

/**
 * Give a client's socket to a closer process. This call does not wait. The caller closes its own
 * descriptor afterwards, and then calls reader_notify(). The closer keeps the socket open until
 * then.
 * @return 0; -EAGAIN if the closer has too many sockets; another -errno
 */
int reader_pass(int closer, int socket);

/**
 * Notify a closer process that the caller has closed its own descriptor of a socket that it passed
 * to the closer. This call does not wait.
 * @return 0; -EAGAIN if the closer cannot take the notice now, so the call has to be repeated
 *         later; another -errno
 */
int reader_notify(int closer);

/**
 * Receive a report of a closer process. This call does not wait.
 * @return number of sockets that were closed since the last report; 0 if the closer has ended,
 *         -EAGAIN if there is no report yet, or another -errno
 */
int reader_closed(int closer);

#endif /* UROCED_READER_H */
