/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_SESSION_H
#define PERF_SESSION_H

/**
 * @file
 * One side of a run: its options, its verbs objects, its connection to the other side. Both sides
 * go through the same steps; the client decides what differs (how many messages come next).
 *
 * Whoever waits for the other side drives its own transport meanwhile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"
#include "exchange.h"
#include "failures.h"
#include "layout.h"
#include "options.h"
#include "report.h"
#include "stages.h"
#include "verify.h"

#define SYNC_VALUES 4

struct session {
	const struct options *opt;
	bool is_client;
	bool is_requester; /* the client, and with --bidirectional both */
	bool is_responder; /* the other one, and with --bidirectional both */
	bool is_peer_gone; /* it failed, or closed the connection */
	struct endpoint endpoint;
	struct exchange exchange;
	struct failures failures;
	struct verify verify; /* of the present size, by this side */
	struct stages stages; /* of the present size, by this process */
	struct report report;
	uint64_t wrong;      /* bytes in all, by both sides */
	uint64_t looked_tsc; /* when session_poll() last looked at the socket */
};

/** What a side tells with a step; the meaning is the step's. */
struct sync {
	uint64_t value[SYNC_VALUES];
};

/** Make the device of a specification. @return 0, or -1 after a line on stderr */
int session_open(struct session *session, const char *spec);

/**
 * Go through the whole run, and close the session. The exchange is made when it is closed, as
 * options and role say.
 * @return PERF_EXIT_...
 */
int session_run(struct session *session);

/** Messages of `size` for each QP when nobody said how many. */
uint64_t session_iters(const struct session *session, uint64_t size);

/** Tell the other side that this one has reached a step. @return 0, or -1 after a line on stderr */
int session_tell(struct session *session, const char *step, const struct sync *mine);

/**
 * See whether the other side has reached a step; looks at the socket every now and then only, so
 * that it may be called from a polling loop.
 * @return 1: `theirs` is filled; 0: not so far; -1 after a line on stderr: it never will
 */
int session_poll(struct session *session, const char *step, struct sync *theirs);

/** Tell, and wait for the other side to do the same. @return 0, or -1 after a line on stderr */
int session_sync(struct session *session, const char *step, const struct sync *mine,
		 struct sync *theirs);

#endif /* PERF_SESSION_H */
