/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READERS_H
#define UROCED_READERS_H

/**
 * @file
 * The table of reader processes, which handle descriptors that clients have sent: one reader for
 * each user whose clients have sent descriptors. A reader that does not reply in time is given up:
 * its jobs count as failed, and a new reader does the next job of the user. When READERS_STUCK_MAX
 * such readers of a user have not ended, further jobs of the user are refused.
 *
 * The table also has the closers, the processes that close sockets of clients. A closer that is
 * given up keeps its sockets, and these count until it has closed them. A user may have at most
 * half of the entries that other users leave.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"
#include "reader.h"

/** Maximum number of reader processes of a user that were given up and have not ended. */
#define READERS_STUCK_MAX 4u

/**
 * The time in nanoseconds in which a reader process has to reply. On a busy machine a process may
 * get no CPU for two seconds.
 */
#define READERS_TIMEOUT_NS UINT64_C(5000000000)

/** Maximum number of sockets that a closer process may have at a time. */
#define READERS_CLOSES_MAX 128u

/** The time in nanoseconds after which a closer process without sockets ends. */
#define READERS_IDLE_NS UINT64_C(1000000000)

#define READERS_MAX     CLIENTS_MAX

struct readers_one {
	/* socket for jobs and replies of the process; -1 if this entry is free */
	int socket;
	uid_t uid;
	/*
	 * for a reader: number of jobs that have no reply yet; for a closer: number of sockets to
	 * close
	 */
	unsigned nb_jobs;
	/* time of the last reply or, if it is later, time at which the idle process got a job */
	uint64_t since_ns;
	bool is_stuck; /* the process did not reply in time and was given up */
	bool is_closer;
	/* for a closer: number of calls of reader_notify() that are still to be made */
	unsigned nb_notices;
};

struct readers {
	int start; /* socket, from reader_start(), to the process that forks readers */
	uint64_t nb_numbers;
	unsigned nb_closers;
	struct readers_one of[READERS_MAX];
};

void readers_init(struct readers *readers, int start);

/**
 * Give a job to the reader process of a user; a reader is made if the user has none. This call does
 * not wait.
 * @param[in,out] job  the function sets its number
 * @return the index of the reader; -EAGAIN if the reader has too many jobs; -EBUSY if there is no
 *         free entry, or too many readers of the user were given up; another -errno
 */
int readers_ask(struct readers *readers, uid_t uid, struct reader_job *job, int fd,
		uint64_t now_ns);

/**
 * Give a socket to the closer process of a user, which closes it; a closer is made if the user has
 * none. This call does not wait. The function closes the caller's descriptor if it succeeds.
 * @param is_urgent  give up a closer that has READERS_CLOSES_MAX sockets, and make another even if
 *         READERS_STUCK_MAX closers of the user were given up
 * @return 0; -EAGAIN if the closer has too many sockets; -EBUSY if the user may have no further
 *         closer; another -errno
 */
int readers_close(struct readers *readers, uid_t uid, int socket, bool is_urgent, uint64_t now_ns);

/** Count the sockets of a user's clients that closer processes have not closed yet. */
unsigned readers_nb_closing(const struct readers *readers, uid_t uid);

/**
 * Receive the reports of closer processes. Give up the closers that hang, and end the closers
 * without sockets.
 */
void readers_look_at_closers(struct readers *readers, uint64_t now_ns);

/**
 * Receive a reply of a reader process. The parameters and the result are those of
 * reader_answered().
 */
int readers_answered(struct readers *readers, unsigned i, struct reader_answer *answer, int *fd,
		     uint64_t now_ns);

/**
 * Give up a reader process that has not replied in time.
 * @return whether the reader was given up
 */
bool readers_give_up(struct readers *readers, unsigned i, uint64_t now_ns);

/** Remove a reader process, which has ended or is to end, from the table, and close its socket. */
void readers_end(struct readers *readers, unsigned i);

/** End the reader and closer processes of a user that have no job. */
void readers_end_idle(struct readers *readers, uid_t uid);

/**
 * Check whether some reader process has a job or was given up, so that readers_give_up() has to be
 * called at intervals.
 */
bool readers_are_due(const struct readers *readers);

#endif /* UROCED_READERS_H */
