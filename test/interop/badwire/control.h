/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_CONTROL_H
#define BADWIRE_CONTROL_H

/**
 * @file
 * The control socket: Unix, stream; for each line that a client writes one comes back.
 *
 *	rule DIRECTION OPCODES FAULT [AMOUNT] HOW    ok
 *	clear                                        ok: there are no rules any more
 *	pcap FILE                                    ok: a capture begins
 *	pcap off                                     ok: its files are whole
 *	stats                                        JSON
 *	quit                                         ok, and the program ends
 *
 * What is refused changes nothing and gets `error: ` and the reason.
 */

#include <poll.h>
#include <stdbool.h>

#include "reason.h"
#include "wire.h"

#define CONTROL_CLIENTS_MAX 8
#define CONTROL_LINE_MAX    8192
#define CONTROL_FD_NB       (1 + CONTROL_CLIENTS_MAX)

struct client {
	int fd; /* -1: nobody */
	unsigned len;
	char line[CONTROL_LINE_MAX]; /* the beginning of one */
};

struct control {
	int listener;     /* -1: there is no control socket */
	const char *path; /* lives longer */
	struct client client[CONTROL_CLIENTS_MAX];
	bool is_over; /* somebody said quit */
};

/** @param path  NULL: none. @return false: `why` says it, and nothing is open */
bool control_open(struct control *control, const char *path, struct reason *why);

void control_close(struct control *control);

/** What to poll for: CONTROL_FD_NB of them. */
void control_poll(const struct control *control, struct pollfd *fds);

/** Do what clients want, of those in `fds` that control_poll() filled. */
void control_serve(struct control *control, const struct pollfd *fds, struct wire *wire);

#endif /* BADWIRE_CONTROL_H */
