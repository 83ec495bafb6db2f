/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CLOSING_H
#define UROCED_CLOSING_H

/**
 * @file
 * Ends connections of clients without waiting. Messages that wait in a socket may have descriptors.
 * close() of such a socket closes these descriptors, too, and may take as long as their sender
 * wants. So a reader calls close() (reader.h).
 */

#include <stdbool.h>
#include <sys/types.h>

#include "readers.h"

/**
 * The largest number of sockets that wait for a reader to close them. A further socket stays open
 * until the process ends.
 */
#define CLOSING_PARKED_MAX 1024u

struct closing {
	struct readers *readers;
	/*
	 * the process ends, so sockets stay open: the kernel closes them after the end of the
	 * process, and nobody waits for the descriptors in them
	 */
	bool is_ending;
	/* sockets that a reader has to close, but that no reader has accepted yet */
	int parked[CLOSING_PARKED_MAX];
	uid_t parked_uid[CLOSING_PARKED_MAX];
	unsigned nb_parked;
};

/**
 * End a connection. The peer is notified at once.
 * @param uid  the user of the client, whose reader closes the socket
 */
void closing_end(struct closing *closing, int socket, uid_t uid);

/** Try again to close the sockets that no reader has accepted. */
void closing_retry(struct closing *closing);

#endif /* UROCED_CLOSING_H */
