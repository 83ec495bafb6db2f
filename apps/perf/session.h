/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_SESSION_H
#define PERF_SESSION_H

/**
 * @file
 * One side of a run: its options, its verbs objects, its connection to the other side. Both sides
 * execute the same steps. The client makes the decisions, such as how many messages follow.
 *
 * A side that waits for the other side drives its own workers meanwhile.
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
	bool is_requester; /* true for the client; with --bidirectional for both */
	bool is_responder; /* true for the server; with --bidirectional for both */
	bool is_peer_gone; /* the peer failed, or closed the connection */
	struct endpoint endpoint;
	struct exchange exchange;
	struct failures failures;
	struct verify verify; /* results of the checks of the current size */
	struct stages stages; /* cycles of this process in each stage, for the current size */
	struct report report;
	uint64_t wrong;      /* wrong bytes of all sizes, on both sides */
	uint64_t looked_tsc; /* when session_poll() last read the socket */
};

/**
 * Values that a side sends with a step. Their meaning depends on the step; see test_bw.c and
 * test_lat.c.
 */
struct sync {
	uint64_t value[SYNC_VALUES];
};

/**
 * Create the device of a specification.
 * @return 0, or -1 after a line on stderr
 */
int session_open(struct session *session, const char *spec);

/**
 * Execute the whole run and close the session. If the exchange is not connected, it is connected
 * according to options and role.
 * @return PERF_EXIT_...
 */
int session_run(struct session *session);

/**
 * Number of messages of `size` for each QP: that of --iters, or a default that large messages
 * reduce.
 */
uint64_t session_iters(const struct session *session, uint64_t size);

/**
 * Notify the other side that this side has reached a step.
 * @return 0, or -1 after a line on stderr
 */
int session_tell(struct session *session, const char *step, const struct sync *mine);

/**
 * Check whether the other side has reached a step. The socket is read only at intervals, so a
 * polling loop may call this function.
 * @return 1: `theirs` is filled; 0: not yet; -1 after a line on stderr: the other side has failed
 */
int session_poll(struct session *session, const char *step, struct sync *theirs);

/**
 * Notify the other side that this side has reached a step, and wait for its notification.
 * @return 0, or -1 after a line on stderr
 */
int session_sync(struct session *session, const char *step, const struct sync *mine,
		 struct sync *theirs);

#endif /* PERF_SESSION_H */
