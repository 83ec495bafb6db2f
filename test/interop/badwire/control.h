/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_CONTROL_H
#define BADWIRE_CONTROL_H

/**
 * @file
 * The control socket, a Unix stream socket. Each line of a client gets one line in response.
 *
 *	rule DIRECTION OPCODES FAULT [AMOUNT] HOW    ok
 *	clear                                        ok: all rules are removed
 *	pcap FILE                                    ok: a capture has begun
 *	pcap off                                     ok: the files of the capture are complete
 *	stats                                        JSON
 *	quit                                         ok, and the program ends
 *
 * A refused line changes nothing. Its response is `error: ` and the reason.
 */

#include <poll.h>
#include <stdbool.h>

#include "reason.h"
#include "wire.h"

#define CONTROL_CLIENTS_MAX 8
#define CONTROL_LINE_MAX    8192
#define CONTROL_FD_NB       (1 + CONTROL_CLIENTS_MAX)

struct client {
	int fd; /* socket of the client; -1: no client */
	unsigned len;
	char line[CONTROL_LINE_MAX]; /* start of a line whose end has not arrived */
};

struct control {
	int listener;     /* listening socket; -1: there is no control socket */
	const char *path; /* path of the socket, owned by the caller */
	struct client client[CONTROL_CLIENTS_MAX];
	bool is_over; /* a client has sent the command quit */
};

/**
 * Open the control socket.
 * @param path  path of the socket; NULL: there is none
 * @return false: `why` has the reason, and nothing is open
 */
bool control_open(struct control *control, const char *path, struct reason *why);

void control_close(struct control *control);

/** Fill the CONTROL_FD_NB entries of `fds`, which the caller then passes to ppoll(). */
void control_poll(const struct control *control, struct pollfd *fds);

/**
 * Read and execute the commands of the clients that are ready in `fds`. control_poll() has filled
 * `fds`.
 */
void control_serve(struct control *control, const struct pollfd *fds, struct wire *wire);

#endif /* BADWIRE_CONTROL_H */
