/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ends connections of clients. A socket is closed at once if no message in it has descriptors.
 * Otherwise the socket is given to the closer process of the client's user. A socket that no closer
 * accepts waits, and is given to a closer later.
 */

#include "closing.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* maximum number of messages that are read from a socket and dropped when its connection ends */
#define DRAIN_MAX 64

static uint64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Check whether messages in a socket have descriptors, which close() of the socket would close,
 * too. The socket was shut down, so no messages are added.
 *
 * recvmsg() returns 0 both for a message without bytes and at the end of the queue. Only a message
 * has credentials (SCM_CREDENTIALS), so they tell the two cases apart. Messages with descriptors
 * may be behind a message without bytes. If the peer has closed its end without reading, recvmsg()
 * first fails once with ECONNRESET.
 */
static bool
has_descriptors(int socket)
{
	const int yes = 1;

	(void)setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
	for (unsigned i = 0; i < DRAIN_MAX; i++) {
		char credentials[CMSG_SPACE(sizeof(struct ucred))];
		struct msghdr msg = { .msg_control = credentials,
				      .msg_controllen = sizeof(credentials) };
		const ssize_t len = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_PEEK);

		/* MSG_CTRUNC: the message has descriptors, for which this recvmsg() gave no room */
		if (len >= 0 && (msg.msg_flags & MSG_CTRUNC))
			return true;
		if (len < 0 ? errno == EAGAIN : msg.msg_controllen == 0)
			return false;
		if (len >= 0)
			(void)!recv(socket, NULL, 0, MSG_DONTWAIT);
	}
	return true;
}

/* Give a client's socket to a closer process. @return false if no closer accepts the socket now */
static bool
pass_on(struct closing *closing, int socket, uid_t uid, bool is_urgent)
{
	return readers_close(closing->readers, uid, socket, is_urgent, now_ns()) == 0;
}

static unsigned
count_parked(const struct closing *closing, uid_t uid)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < closing->nb_parked; i++)
		nb += closing->parked_uid[i] == uid;
	return nb;
}

void
closing_end(struct closing *closing, int socket, uid_t uid)
{
	(void)shutdown(socket, SHUT_RDWR);
	if (closing->is_ending)
		return;
	if (!has_descriptors(socket)) {
		(void)close(socket);
		return;
	}
	if (pass_on(closing, socket, uid, count_parked(closing, uid) >= CLOSING_URGENT))
		return;
	assert(closing->nb_parked < CLOSING_PARKED_MAX);
	closing->parked[closing->nb_parked] = socket;
	closing->parked_uid[closing->nb_parked++] = uid;
}

unsigned
closing_nb_of(const struct closing *closing, uid_t uid)
{
	return count_parked(closing, uid) + readers_nb_closing(closing->readers, uid);
}

bool
closing_has_room(const struct closing *closing)
{
	return closing->nb_parked < CLOSING_FULL;
}

bool
closing_is_due(const struct closing *closing)
{
	return closing->nb_parked > 0 || closing->readers->nb_closers > 0;
}

void
closing_retry(struct closing *closing)
{
	unsigned nb_left = 0;
	bool has_refused = false;
	uid_t refused = 0;

	if (!closing_is_due(closing))
		return;
	readers_look_at_closers(closing->readers, now_ns());

	for (unsigned i = 0; i < closing->nb_parked; i++) {
		const int socket = closing->parked[i];
		const uid_t uid = closing->parked_uid[i];

		/*
		 * if the closers have just refused a socket of this user, they would refuse the
		 * next one, too, so it stays in `parked`
		 */
		if (!(has_refused && uid == refused) && pass_on(closing, socket, uid, false))
			continue;
		has_refused = true;
		refused = uid;
		closing->parked[nb_left] = socket;
		closing->parked_uid[nb_left++] = uid;
	}
	closing->nb_parked = nb_left;
}
