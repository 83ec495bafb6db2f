/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table of readers. The socket of a reader that was given up stays open: its hang-up shows that
 * the reader has ended.
 */

#include "readers.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

void
readers_init(struct readers *readers, int start)
{
	*readers = (struct readers){ .start = start };
	for (unsigned i = 0; i < READERS_MAX; i++)
		readers->of[i].socket = -1;
}

/* Find the reader of a user, or else a free entry. @return READERS_MAX if there is neither */
static unsigned
find(const struct readers *readers, uid_t uid, unsigned *nb_stuck)
{
	unsigned at = READERS_MAX;

	*nb_stuck = 0;
	for (unsigned i = 0; i < READERS_MAX; i++) {
		const struct readers_one *one = &readers->of[i];

		if (one->socket < 0)
			at = at == READERS_MAX ? i : at;
		else if (one->uid == uid && !one->is_stuck)
			return i;
		else
			*nb_stuck += one->uid == uid;
	}
	return at;
}

/*
 * Find the reader of a user, or make one.
 * @return the index of the reader; -EBUSY; another -errno
 */
static int
provide(struct readers *readers, uid_t uid)
{
	unsigned nb_stuck;
	const unsigned i = find(readers, uid, &nb_stuck);
	struct readers_one *one = &readers->of[i];
	int socket;

	if (i == READERS_MAX)
		return -EBUSY;
	if (one->socket >= 0)
		return (int)i;
	if (nb_stuck >= READERS_STUCK_MAX)
		return -EBUSY;
	socket = reader_make(readers->start);
	if (socket < 0)
		return socket;
	*one = (struct readers_one){ .socket = socket, .uid = uid };
	return (int)i;
}

int
readers_ask(struct readers *readers, uid_t uid, struct reader_job *job, int fd, uint64_t now_ns)
{
	struct readers_one *one;
	int i, ret;

	job->number = ++readers->nb_numbers;
	do {
		i = provide(readers, uid);
		if (i < 0)
			return i;
		one = &readers->of[i];
		ret = reader_ask(one->socket, job, fd);
		/*
		 * EPIPE says that the reader has ended, though its hang-up was not handled yet.
		 * Another reader is made.
		 */
		if (ret == -EPIPE && one->nb_jobs == 0)
			readers_end(readers, (unsigned)i);
	} while (ret == -EPIPE && one->nb_jobs == 0);
	if (ret < 0)
		return ret == -ETOOMANYREFS ? -EAGAIN : ret;
	if (one->nb_jobs == 0)
		one->since_ns = now_ns;
	one->nb_jobs += job->kind != READER_CLOSE;
	return i;
}

int
readers_answered(struct readers *readers, unsigned i, struct reader_answer *answer, int *fd,
		 uint64_t now_ns)
{
	struct readers_one *one = &readers->of[i];
	const int ret = reader_answered(one->socket, answer, fd);

	if (ret == 1) {
		one->nb_jobs--;
		one->since_ns = now_ns;
	}
	return ret;
}

static bool
has_ended(const struct readers_one *one)
{
	struct pollfd fd = { .fd = one->socket };

	return poll(&fd, 1, 0) == 1;
}

bool
readers_give_up(struct readers *readers, unsigned i, uint64_t now_ns)
{
	struct readers_one *one = &readers->of[i];

	if (one->socket < 0)
		return false;
	if (one->is_stuck) {
		if (has_ended(one))
			readers_end(readers, i);
		return false;
	}
	if (one->nb_jobs == 0 || now_ns - one->since_ns < READERS_TIMEOUT_NS)
		return false;
	one->is_stuck = true;
	one->nb_jobs = 0;
	(void)shutdown(one->socket, SHUT_WR);
	return true;
}

void
readers_end(struct readers *readers, unsigned i)
{
	(void)close(readers->of[i].socket);
	readers->of[i] = (struct readers_one){ .socket = -1 };
}

void
readers_end_idle(struct readers *readers, uid_t uid)
{
	for (unsigned i = 0; i < READERS_MAX; i++) {
		const struct readers_one *one = &readers->of[i];

		if (one->socket >= 0 && one->uid == uid && !one->is_stuck && one->nb_jobs == 0)
			readers_end(readers, i);
	}
}

bool
readers_are_due(const struct readers *readers)
{
	for (unsigned i = 0; i < READERS_MAX; i++) {
		if (readers->of[i].socket >= 0 &&
		    (readers->of[i].is_stuck || readers->of[i].nb_jobs > 0))
			return true;
	}
	return false;
}
