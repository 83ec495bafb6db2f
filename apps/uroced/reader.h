/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READER_H
#define UROCED_READER_H

/**
 * @file
 * A reader: a process that handles descriptors which clients have sent. Each user has its own
 * reader. close() of such a descriptor may take as long as the sender wants (a TCP socket with
 * SO_LINGER, a file of FUSE), and so may other system calls for it. A process that writes to a file
 * delays sealing the file. In a reader that delays only clients of the same user.
 *
 * Readers are forked from a process that was forked before uroced had threads, a port or a
 * listener. So a reader that does not end holds none of these. Jobs and replies pass through a
 * socket pair between uroced and the reader.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mux/message.h"

enum reader_kind {
	/* receive the next message from a client's socket; the message brings descriptors */
	READER_TAKE,
	READER_SEAL, /* seal the file of shared memory that is mapped, and look for holes */
	/* close a client's socket, in which descriptors may wait; there is no reply */
	READER_CLOSE,
};

/** A job of a reader. A descriptor is sent with it. */
struct reader_job {
	uint32_t kind;
	uint32_t slot;                /* the slot of the job's client */
	uint64_t number;              /* the job's number; the reply has the same number */
	struct uroce_shm_layout plan; /* READER_SEAL: the layout of the shared memory */
};

/**
 * The reply of a reader. With READER_TAKE, the file of checked shared memory is sent: close() of
 * this file waits for nothing.
 */
struct reader_answer {
	uint32_t kind;
	uint32_t slot;
	uint64_t number;
	int32_t ret;  /* READER_TAKE: the result of uroce_mux_receive(), or -EINVAL: see `why` */
	char why[96]; /* the end of a sentence: why shared memory is refused; empty: it is not */
	union uroce_mux_message message; /* valid if `kind` is READER_TAKE and `ret` is 1 */
};

/**
 * Fork the process that forks readers. The caller has one thread. The process and all readers end
 * when the calling thread ends.
 * @return a socket, for reader_make(); -errno
 */
int reader_start(void);

/**
 * Have a reader forked.
 * @param start  the socket that reader_start() returned
 * @return the socket for the reader's jobs and replies; -errno
 */
int reader_make(int start);

/**
 * Give a reader a job. Does not wait.
 * @return 0; -EAGAIN: the reader has too many jobs; -errno
 */
int reader_ask(int reader, const struct reader_job *job, int fd);

/**
 * Do a job, in a reader. May wait as long as the sender of the descriptor wants.
 * @param fd  the descriptor that came with the job
 * @return the file that came with the message that was received; -1: none
 */
int reader_do(const struct reader_job *job, int fd, struct reader_answer *answer);

/**
 * Receive a reply. Does not wait.
 * @param[out] fd  the descriptor that came with the reply, the caller's from now on; -1: none
 * @return 1: a reply; 0: the reader has ended; -EAGAIN: there is no reply; -errno
 */
int reader_answered(int reader, struct reader_answer *answer, int *fd);

#endif /* UROCED_READER_H */
