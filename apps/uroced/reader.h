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
 * Readers are forked from a process that was forked before uroced had threads, a port or a
 * listener. So a reader that does not end has none of them open. Jobs and replies pass through a
 * socket pair between uroced and the reader.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mux/message.h"

enum reader_kind {
	/* receive the next message, and its descriptors, from a client's socket */
	READER_TAKE,
	/* seal the file of mapped shared memory, and check that all of its pages are allocated */
	READER_SEAL,
	/* close a client's socket, in which descriptors may wait; there is no reply */
	READER_CLOSE,
};

/** A job of a reader. A descriptor is sent with the job. */
struct reader_job {
	uint32_t kind;
	uint32_t slot;                /* slot of the client whose job this is */
	uint64_t number;              /* number of the job, which the reply repeats */
	struct uroce_shm_layout plan; /* the layout of the shared memory, for READER_SEAL */
};

/**
 * The reply of a reader. If a message that was received for READER_TAKE brings the file of shared
 * memory, this file is sent with the reply. The file has been checked, so its close() does not
 * wait.
 */
struct reader_answer {
	uint32_t kind;
	uint32_t slot;
	uint64_t number;
	/* for READER_TAKE: the result of uroce_mux_receive(), or -EINVAL for the reason in `why` */
	int32_t ret;
	/*
	 * the reason why shared memory is refused, as the end of a sentence; empty if it is not
	 * refused
	 */
	char why[96];
	/* the received message; valid if `kind` is READER_TAKE and `ret` is 1 */
	union uroce_mux_message message;
};

/**
 * Fork the process that forks readers. The calling process must have only one thread. The new
 * process and all readers end when the calling thread ends.
 * @return a socket for reader_make(), or -errno
 */
int reader_start(void);

/**
 * Let the process of reader_start() fork a reader.
 * @param start  the socket that reader_start() returned
 * @return the socket for the jobs and replies of the reader, or -errno
 */
int reader_make(int start);

/**
 * Give a reader a job. This call does not wait.
 * @return 0; -EAGAIN if the reader has too many jobs; another -errno
 */
int reader_ask(int reader, const struct reader_job *job, int fd);

/**
 * Do a job; readers call this. The call may take as long as the sender of the descriptor wants.
 * @param fd  the descriptor that came with the job
 * @return the file that came with the message that was received; -1 if there is none
 */
int reader_do(const struct reader_job *job, int fd, struct reader_answer *answer);

/**
 * Receive a reply of a reader. This call does not wait.
 * @param[out] fd  the descriptor that came with the reply, which the caller has to close; -1 if
 *         there is none
 * @return 1 if a reply was received, 0 if the reader has ended, -EAGAIN if there is no reply yet,
 *         or another -errno
 */
int reader_answered(int reader, struct reader_answer *answer, int *fd);

#endif /* UROCED_READER_H */
