/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_REPORT_H
#define UROCED_CM_REPORT_H

/**
 * @file
 * What uroced's telemetry learns from the connection manager, which is another process in a sandbox:
 * the counters of its messages, and its ids. A socket (SOCK_SEQPACKET) of their own carries a
 * request and its reply, each in one message without descriptors. Both processes run the same
 * program, so the messages are structures of it.
 *
 * The telemetry thread waits for the reply, for a limited time. The control thread and the data path
 * do not take part. The connection manager never waits: a reply for which the socket has no room is
 * dropped. uroced believes nothing that it receives here but numbers that it shows.
 */

#include <stdbool.h>
#include <stdint.h>

#include "verbs/cm/agent_report.h"
#include "verbs/cm/cm_reply.h"

/** Longest time in ms for which cm_report_ask() waits. */
#define CM_REPORT_TIMEOUT_MS 1000

enum cm_report_kind { CM_REPORT_STATS, CM_REPORT_IDS, CM_REPORT_NB };

struct cm_report_request {
	uint32_t number; /* of the request; the reply has it, too */
	uint32_t kind;   /* enum cm_report_kind */
	uint32_t first;  /* CM_REPORT_IDS: first id of the list */
};

struct cm_report_ids {
	uint32_t next; /* see uroce_cme_list() */
	uint32_t nb;   /* number of rows */
	struct uroce_cm_row row[UROCE_CM_REPLY_ROWS];
	struct uroce_cm_row_owner owner[UROCE_CM_REPLY_ROWS]; /* the client of each row */
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
 * Ask the connection manager, and wait for its reply. One thread at a time uses the socket.
 * @param request  its number is set by the function
 * @return 0; -ETIMEDOUT: there was no reply in time; -EPROTO: the reply is not well-formed; -EPIPE:
 *	the connection manager has ended; another -errno
 */
int cm_report_ask(int socket, struct cm_report_request *request, struct cm_report *report,
		  int timeout_ms);

#endif /* UROCED_CM_REPORT_H */
