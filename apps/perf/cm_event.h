/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CM_EVENT_H
#define PERF_CM_EVENT_H

/**
 * @file
 * The events of connection management. One event channel has the events of all ids.
 */

#include "cm.h"

#define CM_EVENT_NO_LIMIT 0

/** The private data of a connection request. Numbers are in network byte order. */
struct hello {
	uint32_t magic;
	uint32_t number; /* index of the QP that is to be connected, or CM_EXCHANGE */
	uint32_t token;
	uint32_t mtu; /* path MTU of the client in bytes */
};

/**
 * A copy of those fields of an event of connection management that the program needs. The event
 * itself is acknowledged when the copy has been made.
 */
struct cm_event {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	struct rdma_ud_param ud; /* parameters of the event for a UD QP, without private data */
	/* private data of a CONNECT_REQUEST; zeros if the private data is too short */
	struct hello hello;
};

/**
 * Wait for an event of the given type. While the function waits, it does the work of connection
 * management that is due, and drives the workers.
 * @param limit_s  time limit in seconds, or CM_EVENT_NO_LIMIT
 * @param[out] event  the event
 * @return 0; -1 after a line on stderr: the attempt to connect has failed, or the time is over; -1
 *         without a line: the wait was interrupted, or the connection over which the two sides
 *         exchange lines has ended (cm->is_peer_gone)
 */
int cm_event_await(struct cm *cm, enum rdma_cm_event_type type, unsigned limit_s,
		   struct cm_event *event);

/**
 * Refuse a connection request, with a text for the user of the client, and destroy the id of the
 * request.
 */
void cm_event_refuse(struct rdma_cm_id *id, const char *why);

#endif /* PERF_CM_EVENT_H */
