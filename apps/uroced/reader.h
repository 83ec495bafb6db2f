/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READER_H
#define UROCED_READER_H

/**
 * @file
 * A process that handles descriptors which clients have sent, one process for each user. To close such a descriptor may take as
 * long as its sender likes (a TCP socket with SO_LINGER, a file of FUSE), and so may a question about it; who
 * writes to a file keeps others from sealing it. Here that stops nobody but clients of the same user.
 *
 * Readers are forked from a process that was forked before there were threads, a port or a listener, so a reader
 * that does not end holds none of them. uroced and a reader share a socket pair, by which jobs and answers go.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mux/message.h"

enum reader_kind {
	READER_TAKE,  /* of a client's socket: receive the next message, which brings descriptors */
	READER_SEAL,  /* of an area's file, which is mapped: seal it, and look for holes */
	READER_CLOSE, /* of a client's socket, in which descriptors may wait: there is no answer */
};

/** What a reader is to do, with a descriptor. */
struct reader_job {
	uint32_t kind;
	uint32_t slot;                /* of the client, and */
	uint64_t number;              /* of the job: returned with the answer */
	struct uroce_shm_layout plan; /* READER_SEAL: of the area */
};

/** What it answers. A good READER_TAKE comes with the file of an area, which can be closed at any time. */
struct reader_answer {
	uint32_t kind;
	uint32_t slot;
	uint64_t number;
	int32_t ret;  /* READER_TAKE: as uroce_mux_receive(), or -EINVAL: see `why` */
	char why[96]; /* the area cannot be used: a sentence's end; empty: it can */
	union uroce_mux_message message; /* READER_TAKE with ret 1 */
};

/**
 * Fork the process that forks readers; there is one thread yet. It ends, and so do all readers, when the calling thread ends.
 * @return a socket, for reader_make(); -errno
 */
int reader_start(void);

/** Have a reader made. @param start  of reader_start() @return its end of jobs and answers, or -errno */
int reader_make(int start);

/** Give a reader a job; never waits. @return 0, or -errno: -EAGAIN: it has too many */
int reader_ask(int reader, const struct reader_job *job, int fd);

/**
 * What a reader does with a job: wait, if need be.
 * @param fd  that came with the job
 * @return the file that came with the message which it received; -1: none
 */
int reader_do(const struct reader_job *job, int fd, struct reader_answer *answer);

/**
 * Take an answer; never waits.
 * @param[out] fd  that came with it, the caller's; -1: none
 * @return 1; 0: the reader has ended; -errno: -EAGAIN: there is none
 */
int reader_answered(int reader, struct reader_answer *answer, int *fd);

#endif /* UROCED_READER_H */
