/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that wait for sockets. If there is an rsocket among the
 * descriptors, a replacement calls poll() of librspreload repeatedly with timeout 0, so that poll()
 * never waits.
 *
 * The reason is that rpoll(), the poll() for rsockets that librspreload calls, must not wait in
 * rdma-core 44. If the timeout of rpoll() expires just before rpoll() sleeps, rpoll() returns, but
 * its thread still counts as a sleeping thread. After the next event rpoll() waits for this thread
 * for ever. In addition rpoll() may sleep for five seconds after librdmacm's own thread has taken
 * an event of a connection.
 *
 * librspreload of rdma-core 44 to 56 replaces poll() and select(). The select() of librspreload
 * uses the number of an accepted rsocket as that of another descriptor. librspreload does not
 * replace pselect(), ppoll() and epoll_wait().
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

#include "next.h"
#include "rsockets.h"

void __chk_fail(void) __attribute__((noreturn));

/*
 * The pauses between two calls of rpoll() (poll() on rsockets) while nothing is ready: no pause
 * follows the first NB_WITHOUT_PAUSE calls, and later pauses grow from 20 us to 1 ms.
 */
#define NB_WITHOUT_PAUSE 100u
#define PAUSE_MIN_NS     20000
#define PAUSE_MAX_NS     1000000

/* --- poll ------------------------------------------------------------------------------------------ */

static bool
has_rsocket(const struct pollfd *fds, nfds_t nb)
{
	for (nfds_t i = 0; i < nb; i++)
		if (rsockets_has(fds[i].fd))
			return true;
	return false;
}

static int64_t
now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * Pause before the next call of rpoll() (poll() on rsockets).
 * @param nb  number of calls of rpoll() so far
 * @return 0, or -1 with errno EINTR if a signal was handled
 */
static int
pause_after(unsigned nb)
{
	struct timespec time = { .tv_nsec = PAUSE_MIN_NS };

	if (nb < NB_WITHOUT_PAUSE) {
		(void)sched_yield();
		return 0;
	}
	for (unsigned i = NB_WITHOUT_PAUSE; i < nb && time.tv_nsec < PAUSE_MAX_NS; i++)
		time.tv_nsec += time.tv_nsec / 8;
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	return errno != 0 ? -1 : 0;
}

DECLARE(int, poll, (struct pollfd * fds, nfds_t nb, int timeout))
{
	static _Atomic(void *) found;
	const int64_t end_us = timeout > 0 ? now_us() + timeout * INT64_C(1000) : 0;
	int ret;

	if (!has_rsocket(fds, nb))
		return NEXT(poll)(fds, nb, timeout);
	for (unsigned nb_calls = 1;; nb_calls++) {
		ret = NEXT(poll)(fds, nb, 0);
		if (ret != 0 || (timeout >= 0 && (timeout == 0 || now_us() >= end_us)))
			return ret;
		if (pause_after(nb_calls) < 0)
			return -1;
	}
}

/* Convert a time to milliseconds for poll(), rounded up. @return -1 if `time` is NULL: no limit */
static int
to_poll_timeout(const struct timespec *time)
{
	if (time == NULL)
		return -1;
	if (time->tv_sec > INT_MAX / 1000 - 1)
		return INT_MAX;
	return (int)(time->tv_sec * 1000 + (time->tv_nsec + 999999) / 1000000);
}

/*
 * Do the work of ppoll() for rsockets: set the signal mask, call poll(), and set the previous mask
 * again. The three steps are not atomic: a signal may be handled just before poll() waits.
 */
static int
poll_with_mask(struct pollfd *fds, nfds_t nb, const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t saved;
	int ret, err;

	if (mask != NULL)
		(void)pthread_sigmask(SIG_SETMASK, mask, &saved);
	ret = replaced_poll(fds, nb, to_poll_timeout(timeout));
	err = errno;
	if (mask != NULL)
		(void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
	errno = err;
	return ret;
}

DECLARE(int, ppoll,
	(struct pollfd * fds, nfds_t nb, const struct timespec *timeout, const sigset_t *mask))
{
	static _Atomic(void *) found;

	return has_rsocket(fds, nb) ? poll_with_mask(fds, nb, timeout, mask)
				    : NEXT(ppoll)(fds, nb, timeout, mask);
}

/*
 * Replace the functions that programs call instead of poll() and ppoll() if they were built with
 * -D_FORTIFY_SOURCE.
 */

DECLARE(int, __poll_chk, (struct pollfd * fds, nfds_t nb, int timeout, size_t room))
{
	if (room / sizeof(*fds) < nb)
		__chk_fail();
	return replaced_poll(fds, nb, timeout);
}

DECLARE(int, __ppoll_chk,
	(struct pollfd * fds, nfds_t nb, const struct timespec *timeout, const sigset_t *mask,
	 size_t room))
{
	if (room / sizeof(*fds) < nb)
		__chk_fail();
	return replaced_ppoll(fds, nb, timeout, mask);
}

/* --- select ---------------------------------------------------------------------------------------- */

/* The three sets of select(), in the order of its arguments. */
#define SETS 3

/*
 * For each set of select() (read, write, exceptions): the events that poll() waits for, and those
 * events that make the set ready.
 */
static const struct {
	short events;
	short ready;
} waits[SETS] = {
	{ POLLIN, POLLIN | POLLHUP | POLLERR },
	{ POLLOUT, POLLOUT | POLLERR },
	{ POLLPRI, POLLPRI },
};

/*
 * Get the events of poll() that correspond to the sets of select() which have a descriptor.
 * @return 0: the descriptor is in no set
 */
static short
events_of(int fd, fd_set *const sets[SETS])
{
	short events = 0;

	for (int i = 0; i < SETS; i++)
		if (sets[i] != NULL && FD_ISSET(fd, sets[i]))
			events |= waits[i].events;
	return events;
}

static bool
have_rsocket(int nb, fd_set *const sets[SETS])
{
	for (int fd = 0; fd < nb; fd++)
		if (rsockets_has(fd) && events_of(fd, sets) != 0)
			return true;
	return false;
}

/* Make the array of struct pollfd from the sets of select(). @return the length of the array */
static nfds_t
to_poll(int nb, fd_set *const sets[SETS], struct pollfd *fds)
{
	nfds_t len = 0;
	short events;

	for (int fd = 0; fd < nb; fd++) {
		events = events_of(fd, sets);
		if (events != 0)
			fds[len++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return len;
}

/*
 * Remove a descriptor from those sets of select() for which it is not ready.
 * @return the number of sets in which the descriptor stays
 */
static int
keep_ready(const struct pollfd *fd, fd_set *const sets[SETS])
{
	int nb = 0;

	for (int i = 0; i < SETS; i++) {
		if (sets[i] == NULL || !FD_ISSET(fd->fd, sets[i]))
			continue;
		if ((fd->revents & waits[i].ready) != 0)
			nb++;
		else
			FD_CLR(fd->fd, sets[i]);
	}
	return nb;
}

static int
select_by_poll(int nb, fd_set *const sets[SETS], const struct timespec *timeout,
	       const sigset_t *mask)
{
	struct pollfd fds[FD_SETSIZE];
	nfds_t len;
	int ret, ready = 0;

	len = to_poll(nb, sets, fds);
	ret = poll_with_mask(fds, len, timeout, mask);
	if (ret < 0)
		return ret;
	for (nfds_t i = 0; i < len; i++) {
		if ((fds[i].revents & POLLNVAL) != 0) {
			errno = EBADF;
			return -1;
		}
		ready += keep_ready(&fds[i], sets);
	}
	return ready;
}

DECLARE(int, pselect,
	(int nb, fd_set *in, fd_set *out, fd_set *urgent, const struct timespec *timeout,
	 const sigset_t *mask))
{
	static _Atomic(void *) found;
	fd_set *const sets[SETS] = { in, out, urgent };

	if (nb > FD_SETSIZE || !have_rsocket(nb, sets))
		return NEXT(pselect)(nb, in, out, urgent, timeout, mask);
	return select_by_poll(nb, sets, timeout, mask);
}

DECLARE(int, select, (int nb, fd_set *in, fd_set *out, fd_set *urgent, struct timeval *timeout))
{
	struct timespec time = { 0 };

	if (timeout != NULL)
		time = (struct timespec){ .tv_sec = timeout->tv_sec,
					  .tv_nsec = timeout->tv_usec * 1000 };
	return replaced_pselect(nb, in, out, urgent, timeout != NULL ? &time : NULL, NULL);
}

/* --- epoll, which rsockets do not have ------------------------------------------------------------- */

DECLARE(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event))
{
	static _Atomic(void *) found;

	if (!rsockets_has(fd))
		return NEXT(epoll_ctl)(epoll, operation, fd, event);
	rsockets_warn("waits for a socket by epoll, which sockets over RDMA do not have",
		      "a program, or a setting of it, that waits by poll() or select()");
	errno = EPERM;
	return -1;
}
