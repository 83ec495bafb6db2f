/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_READERS_H
#define UROCED_READERS_H

/**
 * @file
 * The readers, one for each user whose clients have sent descriptors. A reader that does not answer in time is given up:
 * its jobs have failed, and the user's next job is another reader's. A user has so many that were given up and have not
 * ended, and then no more.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"
#include "reader.h"

/** Readers that were given up and live on, of a user. */
#define READERS_STUCK_MAX 4u

/** That a job may take. */
#define READERS_TIMEOUT_NS UINT64_C(2000000000)

#define READERS_MAX        CLIENTS_MAX

struct readers_one {
	int socket; /* of jobs and answers; -1: there is none */
	uid_t uid;
	unsigned nb_jobs;  /* that are to be answered */
	uint64_t since_ns; /* when there was none, or the last answer came */
	bool is_stuck;     /* given up */
};

struct readers {
	int start; /* reader_start() */
	uint64_t nb_numbers;
	struct readers_one of[READERS_MAX];
};

void readers_init(struct readers *readers, int start);

/**
 * Give a job to the reader of a user, which is made if there is none; never waits.
 * @param[in,out] job  its number is set
 * @return the reader's index; -EAGAIN: it has too much to do; -EBUSY: too many of the user's are stuck; -errno
 */
int readers_ask(struct readers *readers, uid_t uid, struct reader_job *job, int fd,
		uint64_t now_ns);

/** Take an answer of a reader: as reader_answered(). */
int readers_answered(struct readers *readers, unsigned i, struct reader_answer *answer, int *fd,
		     uint64_t now_ns);

/** Whether a reader has kept a job for too long; it is given up then, and answers no more. */
bool readers_give_up(struct readers *readers, unsigned i, uint64_t now_ns);

/** A reader has ended, or is to. */
void readers_end(struct readers *readers, unsigned i);

/** End a user's readers, but those that have something to do. */
void readers_end_idle(struct readers *readers, uid_t uid);

/** Whether some reader is to answer, or stuck: it is to be looked at now and then. */
bool readers_are_due(const struct readers *readers);

#endif /* UROCED_READERS_H */
