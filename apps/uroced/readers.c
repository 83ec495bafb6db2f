/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table of reader and closer processes. The socket of a reader that was given up stays open: its
 * hang-up shows that the reader has ended.
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

/*
 * Find the reader process of a user or, with is_closer, the closer process.
 * @return READERS_MAX if the user has none
 */
static unsigned
find(const struct readers *readers, uid_t uid, bool is_closer)
{
	unsigned i = 0;

	for (; i < READERS_MAX; i++) {
		const struct readers_one *one = &readers->of[i];

		if (one->socket >= 0 && one->uid == uid && one->is_closer == is_closer &&
		    !one->is_stuck)
			break;
	}
	return i;
}

/*
 * Find a free entry of the table for a reader process or, with is_closer, a closer process of a
 * user.
 * @param stuck_max  if this number of such processes of the user were given up, the user gets no
 *         entry
 * @return READERS_MAX if no entry is free, or the user may get no further one
 */
static unsigned
find_free(const struct readers *readers, uid_t uid, bool is_closer, unsigned stuck_max)
{
	unsigned at = READERS_MAX, nb_stuck = 0, nb_own = 0, nb_others = 0;

	for (unsigned i = READERS_MAX; i-- > 0;) {
		const struct readers_one *one = &readers->of[i];

		if (one->socket < 0) {
			at = i;
			continue;
		}
		nb_own += one->uid == uid;
		nb_others += one->uid != uid;
		nb_stuck += one->uid == uid && one->is_closer == is_closer && one->is_stuck;
	}
	return nb_stuck < stuck_max && nb_own < (READERS_MAX - nb_others) / 2 ? at : READERS_MAX;
}

/*
 * Find the reader process of a user or, with is_closer, the closer process. If there is none, make
 * one.
 * @return the index in the table; -EBUSY if the user may have no further reader or closer; another
 *         -errno if the new process cannot be requested
 */
static int
provide(struct readers *readers, uid_t uid, bool is_closer, unsigned stuck_max)
{
	unsigned i = find(readers, uid, is_closer);
	int socket;

	if (i < READERS_MAX)
		return (int)i;
	i = find_free(readers, uid, is_closer, stuck_max);
	if (i == READERS_MAX)
		return -EBUSY;
	socket = reader_make(readers->start, is_closer);
	if (socket < 0)
		return socket;
	readers->of[i] =
		(struct readers_one){ .socket = socket, .uid = uid, .is_closer = is_closer };
	readers->nb_closers += is_closer;
	return (int)i;
}

int
readers_ask(struct readers *readers, uid_t uid, struct reader_job *job, int fd, uint64_t now_ns)
{
	struct readers_one *one;
	int i, ret;

	job->number = ++readers->nb_numbers;
	do {
		i = provide(readers, uid, false, READERS_STUCK_MAX);
		if (i < 0)
			return i;
		one = &readers->of[i];
		ret = reader_ask(one->socket, job, fd);
		/*
		 * EPIPE means that the reader process has ended, and its hang-up was not handled
		 * yet. So another reader is made for the job.
		 */
		if (ret == -EPIPE && one->nb_jobs == 0)
			readers_end(readers, (unsigned)i);
	} while (ret == -EPIPE && one->nb_jobs == 0);
	if (ret < 0)
		return ret == -ETOOMANYREFS ? -EAGAIN : ret;
	if (one->nb_jobs == 0)
		one->since_ns = now_ns;
	one->nb_jobs++;
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

	if (one->socket < 0 || one->is_closer)
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
	readers->nb_closers -= readers->of[i].is_closer;
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
		if (readers->of[i].socket >= 0 && !readers->of[i].is_closer &&
		    (readers->of[i].is_stuck || readers->of[i].nb_jobs > 0))
			return true;
	}
	return false;
}

/* --- closers ------------------------------------------------------------------------------------- */

/*
 * Give up a closer process: it gets no further socket. Until it has closed its sockets, it keeps
 * its entry of the table, and its sockets count for the limits.
 */
static void
give_up_closer(struct readers_one *closer)
{
	closer->is_stuck = true;
}

/*
 * Send a closer process the notices, that uroced has closed its own descriptors of sockets, which
 * are not sent yet. The closer closes a socket only after the notice for this socket.
 */
static void
notify(struct readers_one *closer)
{
	while (closer->nb_notices > 0 && reader_notify(closer->socket) == 0)
		closer->nb_notices--;
}

int
readers_close(struct readers *readers, uid_t uid, int socket, bool is_urgent, uint64_t now_ns)
{
	const unsigned stuck_max = is_urgent ? READERS_MAX : READERS_STUCK_MAX;
	const unsigned at = find(readers, uid, true);
	struct readers_one *closer;
	int i, ret;

	if (is_urgent && at < READERS_MAX && readers->of[at].nb_jobs >= READERS_CLOSES_MAX)
		give_up_closer(&readers->of[at]);
	i = provide(readers, uid, true, stuck_max);
	if (i < 0)
		return i;
	closer = &readers->of[i];
	if (closer->nb_jobs >= READERS_CLOSES_MAX)
		return -EAGAIN;
	ret = reader_pass(closer->socket, socket);
	if (ret < 0)
		return ret;
	if (closer->nb_jobs == 0)
		closer->since_ns = now_ns;
	closer->nb_jobs++;
	(void)close(socket);
	closer->nb_notices++;
	notify(closer);
	return 0;
}

unsigned
readers_nb_closing(const struct readers *readers, uid_t uid)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < READERS_MAX && readers->nb_closers > 0; i++) {
		const struct readers_one *one = &readers->of[i];

		nb += one->socket >= 0 && one->is_closer && one->uid == uid ? one->nb_jobs : 0;
	}
	return nb;
}

/* Receive the reports of a closer process. @return false if the closer has ended */
static bool
collect(struct readers_one *closer, uint64_t now_ns)
{
	int nb;

	notify(closer);
	while ((nb = reader_closed(closer->socket)) > 0) {
		closer->nb_jobs -= (unsigned)nb < closer->nb_jobs ? (unsigned)nb : closer->nb_jobs;
		closer->since_ns = now_ns;
	}
	return nb == -EAGAIN || nb == -EINTR;
}

static void
look_at_closer(struct readers *readers, unsigned i, uint64_t now_ns)
{
	struct readers_one *closer = &readers->of[i];
	const bool has_ended = !collect(closer, now_ns);
	const uint64_t passed_ns = now_ns - closer->since_ns;

	if (has_ended || (closer->nb_jobs == 0 && passed_ns >= READERS_IDLE_NS))
		readers_end(readers, i);
	else if (!closer->is_stuck && closer->nb_jobs > 0 && passed_ns >= READERS_TIMEOUT_NS)
		give_up_closer(closer);
}

void
readers_look_at_closers(struct readers *readers, uint64_t now_ns)
{
	for (unsigned i = 0; i < READERS_MAX && readers->nb_closers > 0; i++) {
		if (readers->of[i].socket >= 0 && readers->of[i].is_closer)
			look_at_closer(readers, i, now_ns);
	}
}
