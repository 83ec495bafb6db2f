/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A socket is closed at once if no message in it has descriptors. Otherwise the socket is given to
 * the reader of the client's user. A socket that no reader accepts stays open, and is given to a
 * reader later.
 */

#include "closing.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log_line.h"

/* the largest number of messages that are read and dropped when a connection ends */
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
 * has credentials, so they tell the two cases apart. Messages with descriptors may be behind a
 * message without bytes. If the peer has closed its end without reading, recvmsg() first fails once
 * with ECONNRESET.
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

		/* this message has descriptors, for which recvmsg() had no room */
		if (len >= 0 && (msg.msg_flags & MSG_CTRUNC))
			return true;
		if (len < 0 ? errno == EAGAIN : msg.msg_controllen == 0)
			return false;
		if (len >= 0)
			(void)!recv(socket, NULL, 0, MSG_DONTWAIT);
	}
	return true;
}

/*
 * Close a socket of a client, or give a reader the job to close it.
 * @return false if the socket stays open, because no reader accepts the job now
 */
static bool
try_close(struct closing *closing, int socket, uid_t uid)
{
	struct reader_job job = { .kind = READER_CLOSE };
	const bool is_ours = !has_descriptors(socket);
	int ret = 0;

	if (!is_ours)
		ret = readers_ask(closing->readers, uid, &job, socket, now_ns());
	if (ret < 0)
		return false;
	(void)close(socket);
	return true;
}

void
closing_end(struct closing *closing, int socket, uid_t uid)
{
	(void)shutdown(socket, SHUT_RDWR);
	if (closing->is_ending || try_close(closing, socket, uid))
		return;
	if (closing->nb_parked == CLOSING_PARKED_MAX) {
		log_client_line("a connection of user %u stays open: it contains descriptors", uid);
		return;
	}
	closing->parked[closing->nb_parked] = socket;
	closing->parked_uid[closing->nb_parked++] = uid;
}

void
closing_retry(struct closing *closing)
{
	unsigned nb_left = 0;

	for (unsigned i = 0; i < closing->nb_parked; i++) {
		const int socket = closing->parked[i];
		const uid_t uid = closing->parked_uid[i];

		if (try_close(closing, socket, uid))
			continue;
		closing->parked[nb_left] = socket;
		closing->parked_uid[nb_left++] = uid;
	}
	closing->nb_parked = nb_left;
}
