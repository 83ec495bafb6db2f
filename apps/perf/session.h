/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_SESSION_H
#define PERF_SESSION_H

/**
 * @file
 * One side of a run: its options, its verbs objects, and its connection to the other side. Both
 * sides execute the same steps. The client makes the decisions, such as how many messages follow.
 *
 * While a side waits for the other side, it drives its own workers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm.h"
#include "endpoint.h"
#include "exchange.h"
#include "failures.h"
#include "layout.h"
#include "measures.h"
#include "options.h"
#include "report.h"
#include "verify.h"

#define SYNC_VALUES 4

struct session {
	const struct options *opt;
	bool is_client;
	/*
	 * this side sends requests: true for the client, with --reversed for the server, and with
	 * --bidirectional for both sides
	 */
	bool is_requester;
	/*
	 * this side responds to requests of the other side: true for the server, with --reversed
	 * for the client, and with --bidirectional for both sides
	 */
	bool is_responder;
	bool is_peer_gone; /* the other side has failed, or has closed the connection */
	struct endpoint endpoint;
	struct exchange exchange;
	struct cm cm; /* connection management of this side, with --rdma_cm */
	struct failures failures;
	/* results of the checks of received data, for the current message size */
	struct verify verify;
	/* what is measured in addition to the messages, for the current message size */
	struct measures measures;
	struct report report;
	uint64_t wrong; /* number of wrong bytes of all message sizes, on both sides */
	/* TSC value at which session_poll() last checked for a line of the other side */
	uint64_t looked_tsc;
};

/**
 * Values that a side sends with a step of the test. Their meaning depends on the step; see
 * test_bw.c and test_lat.c.
 */
struct sync {
	uint64_t value[SYNC_VALUES];
};

/** Create the device that a specification describes. @return 0, or -1 after a line on stderr */
int session_open(struct session *session, const char *spec);

/**
 * Execute the whole run and close the session. If the connection to the other side does not exist
 * yet, it is made first.
 * @return exit status of the program, such as PERF_EXIT_FAILED (options.h)
 */
int session_run(struct session *session);

/**
 * Get the number of messages of `size` for each QP: the argument of --iters, or a default that is
 * smaller for large messages.
 */
uint64_t session_iters(const struct session *session, uint64_t size);

/**
 * Notify the other side that this side has reached a step of the test.
 * @return 0, or -1 after a line on stderr
 */
int session_send(struct session *session, const char *step, const struct sync *mine);

/**
 * Check whether the other side has reached a step of the test. A polling loop may call this
 * function often, because the function checks for a line of the other side only once in POLL_US
 * microseconds (session.c).
 * @return 1 if the other side has reached the step, and `theirs` is filled; 0 if it has not reached
 *         the step yet; -1 after a line on stderr if the other side has failed
 */
int session_poll(struct session *session, const char *step, struct sync *theirs);

/**
 * Notify the other side that this side has reached a step of the test, and wait until the other
 * side has reached this step, too.
 * @return 0, or -1 after a line on stderr
 */
int session_sync(struct session *session, const char *step, const struct sync *mine,
		 struct sync *theirs);

#endif /* PERF_SESSION_H */
