/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLOSING_H
#define UROCED_CLOSING_H

/**
 * @file
 * Ends connections of clients without waiting. Messages that wait in a socket may have descriptors.
 * close() of such a socket closes these descriptors, too, and may take as long as their sender
 * wants. So a process of its own, a closer, calls close() (reader.h).
 *
 * A connection counts for its user until it is closed, so a user at its limit of connections gets
 * no further one. Connections that a server has to end at once may nevertheless have descriptors.
 * Their sockets wait for a closer, too. While CLOSING_FULL sockets wait, no connection is accepted.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "readers.h"

/**
 * If this number of sockets waits for closer processes, no further connection is accepted. So many
 * sockets wait only if the closers of a user make no progress.
 */
#define CLOSING_FULL 1024u

/**
 * Maximum number of sockets that wait for closer processes: while CLOSING_FULL sockets wait, all
 * clients may leave, and connection managers may end.
 */
#define CLOSING_PARKED_MAX (CLOSING_FULL + CLIENTS_MAX + 64)

/**
 * If this number of sockets of a user waits for a closer process, the user gets a further closer.
 */
#define CLOSING_URGENT READERS_CLOSES_MAX

/** The timeout of epoll_wait() in ms, while closing_is_due() returns true. */
#define CLOSING_TICK_MS 10

struct closing {
	struct readers *readers;
	/*
	 * uroced ends, so sockets stay open: the kernel closes them after the end of the process,
	 * and nobody waits for the descriptors that are in them
	 */
	bool is_ending;
	/* sockets that a closer process has to close, but that no closer has accepted yet */
	int parked[CLOSING_PARKED_MAX];
	uid_t parked_uid[CLOSING_PARKED_MAX];
	unsigned nb_parked;
};

/**
 * End the connection of a client. The client is notified at once.
 * @param uid  the user of the client, whose closer process closes the socket if its messages have
 *         descriptors
 */
void closing_end(struct closing *closing, int socket, uid_t uid);

/** Count the connections of a user's clients that were ended, but are not closed yet. */
unsigned closing_nb_of(const struct closing *closing, uid_t uid);

/** Check whether a further connection of a client may be accepted. */
bool closing_has_room(const struct closing *closing);

/**
 * Check whether a socket waits for a closer process, or a closer exists, so that closing_retry()
 * has to be called soon.
 */
bool closing_is_due(const struct closing *closing);

/** Check the closer processes, and try again to close the sockets that no closer has accepted. */
void closing_retry(struct closing *closing);

#endif /* UROCED_CLOSING_H */
