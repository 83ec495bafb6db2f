/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READERS_H
#define UROCED_READERS_H

/**
 * @file
 * All readers: one for each user whose clients have sent descriptors. A reader that does not reply
 * in time is given up: its jobs count as failed, and a new reader does the next job of the user.
 * When READERS_STUCK_MAX such readers of a user have not ended, further jobs of the user are
 * refused.
 *
 * The table also has the closers. A closer that is given up keeps its sockets, and these count
 * until it has closed them. A user may have at most half of the entries that other users leave.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"
#include "reader.h"

/** Maximum number of readers of a user that were given up and have not ended. */
#define READERS_STUCK_MAX 4u

/**
 * The time in which a reader has to reply. On a busy machine a process may get no CPU for two
 * seconds.
 */
#define READERS_TIMEOUT_NS UINT64_C(5000000000)

/** Maximum number of sockets that a closer has to close. */
#define READERS_CLOSES_MAX 128u

/** The time after which a closer without sockets ends. */
#define READERS_IDLE_NS UINT64_C(1000000000)

#define READERS_MAX     CLIENTS_MAX

struct readers_one {
	int socket; /* socket for jobs and replies; -1 if this entry of the table is free */
	uid_t uid;
	/*
	 * number of jobs that have no reply yet; if the process is a closer: number of sockets to
	 * close
	 */
	unsigned nb_jobs;
	/* time of the last reply; if the reader was idle since then: time at which it got a job */
	uint64_t since_ns;
	bool is_stuck; /* the reader did not reply in time and was given up */
	bool is_closer;
	/* if the process is a closer: number of notices that are still to be sent */
	unsigned nb_notices;
};

struct readers {
	int start; /* socket to the process that forks readers, from reader_start() */
	uint64_t nb_numbers;
	unsigned nb_closers;
	struct readers_one of[READERS_MAX];
};

void readers_init(struct readers *readers, int start);

/**
 * Give a job to the reader of a user; a reader is made if the user has none. This call does not
 * wait.
 * @param[in,out] job  the function sets its number
 * @return the index of the reader; -EAGAIN if the reader has too many jobs; -EBUSY if there is no
 *         free entry, or too many readers of the user were given up; another -errno
 */
int readers_ask(struct readers *readers, uid_t uid, struct reader_job *job, int fd,
		uint64_t now_ns);

/**
 * Give a socket to the closer of a user, which closes it; a closer is made if the user has none.
 * This call does not wait. The function closes the caller's descriptor if it succeeds.
 * @param is_urgent  give up a closer that has READERS_CLOSES_MAX sockets, and make another even if
 *         READERS_STUCK_MAX closers of the user were given up
 * @return 0; -EAGAIN if the closer has too many sockets; -EBUSY if the user may have no further
 *         closer; another -errno
 */
int readers_close(struct readers *readers, uid_t uid, int socket, bool is_urgent, uint64_t now_ns);

/** Count the sockets of a user that closers have not closed yet. */
unsigned readers_nb_closing(const struct readers *readers, uid_t uid);

/**
 * Receive the reports of closers. Give up the closers that hang, and end the closers without
 * sockets.
 */
void readers_look_at_closers(struct readers *readers, uint64_t now_ns);

/** Receive a reply of a reader. The parameters and the result are those of reader_answered(). */
int readers_answered(struct readers *readers, unsigned i, struct reader_answer *answer, int *fd,
		     uint64_t now_ns);

/** Give up a reader that has not replied in time. @return whether the reader was given up now */
bool readers_give_up(struct readers *readers, unsigned i, uint64_t now_ns);

/** Remove a reader, which has ended or is to end, from the table, and close its socket. */
void readers_end(struct readers *readers, unsigned i);

/** End the readers and closers of a user that have no job. */
void readers_end_idle(struct readers *readers, uid_t uid);

/**
 * Check whether some reader has a job or was given up, so that readers_give_up() has to be called
 * at intervals.
 */
bool readers_are_due(const struct readers *readers);

#endif /* UROCED_READERS_H */
