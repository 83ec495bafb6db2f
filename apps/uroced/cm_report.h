/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_REPORT_H
#define UROCED_CM_REPORT_H

/**
 * @file
 * The requests that uroced's telemetry sends to the connection manager, which is another process in
 * a sandbox. A request asks for the counters of the connection manager's messages, or for its ids.
 * A socket (SOCK_SEQPACKET) for this purpose alone carries a request and its reply, each in one
 * message without descriptors. Both processes run the same program, so the messages are C
 * structures.
 *
 * The telemetry thread waits for the reply, for a limited time. The control thread and the data
 * path do not take part. The connection manager never waits: a reply for which the socket has no
 * room is dropped. uroced does not trust a reply: it checks the reply before it shows the numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "verbs/cm/agent_report.h"
#include "verbs/cm/cm_reply.h"

/** Maximum time in ms for which cm_report_ask() waits for the reply of the connection manager. */
#define CM_REPORT_TIMEOUT_MS 1000

enum cm_report_kind { CM_REPORT_STATS, CM_REPORT_IDS, CM_REPORT_NB };

struct cm_report_request {
	/* number of the request, which the reply of the connection manager repeats */
	uint32_t number;
	uint32_t kind;  /* what uroced's telemetry requests, an enum cm_report_kind */
	uint32_t first; /* if `kind` is CM_REPORT_IDS: first id of the requested list */
};

struct cm_report_ids {
	/*
	 * value of cm_report_request.first that requests the next part of the list of ids;
	 * UROCE_CM_NO_ID if there is no further part
	 */
	uint32_t next;
	uint32_t nb; /* number of rows of the list of ids in this report */
	struct uroce_cm_row row[UROCE_CM_REPLY_ROWS];
	/* for each row of the list: the process that owns the id */
	struct uroce_cm_row_owner owner[UROCE_CM_REPLY_ROWS];
};

struct cm_report {
	uint32_t number;
	uint32_t kind;
	union {
		struct uroce_cm_agent_stats stats;
		struct cm_report_ids ids;
	};
};

/**
 * Send a request of telemetry to the connection manager, and wait for its reply. Only one thread at
 * a time may use the socket.
 * @param request  the function sets the number of the request
 * @return 0; -ETIMEDOUT if there was no reply in time; -EPROTO if the reply is not well-formed;
 *         -EPIPE if the connection manager has ended; another -errno
 */
int cm_report_ask(int socket, struct cm_report_request *request, struct cm_report *report,
		  int timeout_ms);

#endif /* UROCED_CM_REPORT_H */
