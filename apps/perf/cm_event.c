/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for events of connection management, and prints for the user why a connection failed. */

#include "cm_event.h"
#include "stop.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

/* reasons of a REJ [IBA 12.6.7.2] for which the text for the user gives advice */
#define REASON_INVALID_SERVICE_ID 8
#define REASON_CONSUMER_DEFINED   28

static void
print_rejection(const struct cm *cm, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	fprintf(stderr, "uroce-perf: server %s, RDMA port %u: ", cm->opt->server,
		(unsigned)cm->opt->port);
	if (event->status == REASON_INVALID_SERVICE_ID)
		fprintf(stderr,
			"no listener (REJ reason %d, invalid service ID); start the same command "
			"there first, without SERVER\n",
			event->status);
	else if (event->status == REASON_CONSUMER_DEFINED && conn->private_data_len > 0)
		fprintf(stderr, "refused: %.*s\n", (int)conn->private_data_len,
			(const char *)conn->private_data);
	else
		fprintf(stderr, "rejected (REJ reason %d)\n", event->status);
}

static void
print_no_way(const struct cm *cm, const struct rdma_cm_event *event)
{
	fprintf(stderr,
		"uroce-perf: server %s: no way to it: %s; allowed: an address that the device of "
		"--uroce reaches\n",
		cm->opt->server, strerror(-event->status));
}

static void
print_no_answer(const struct cm *cm, const struct rdma_cm_event *event)
{
	(void)event;
	fprintf(stderr,
		"uroce-perf: server %s, RDMA port %u: no answer; start the same command there "
		"first, without SERVER\n",
		cm->opt->server, (unsigned)cm->opt->port);
}

static void
print_event(const struct cm *cm, const struct rdma_cm_event *event)
{
	(void)cm;
	fprintf(stderr, "uroce-perf: rdma_cm: %s, status %d\n", uroce_cm_event_str(event->event),
		event->status);
}

/*
 * The events that report a failed attempt to connect, and the function that prints the reason for
 * the user of a client.
 */
static const struct {
	enum rdma_cm_event_type type;
	void (*print)(const struct cm *cm, const struct rdma_cm_event *event);
} failures[] = {
	{ RDMA_CM_EVENT_ADDR_ERROR, print_no_way },     { RDMA_CM_EVENT_ROUTE_ERROR, print_no_way },
	{ RDMA_CM_EVENT_UNREACHABLE, print_no_answer }, { RDMA_CM_EVENT_REJECTED, print_rejection },
	{ RDMA_CM_EVENT_CONNECT_ERROR, print_event },
};

/*
 * Print a line if an event reports a failed attempt to connect.
 * @return whether the event reports this
 */
static bool
print_failure(const struct cm *cm, const struct rdma_cm_event *event)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (failures[i].type != event->event)
			continue;
		(cm->is_client ? failures[i].print : print_event)(cm, event);
		return true;
	}
	return false;
}

void
cm_event_refuse(struct rdma_cm_id *id, const char *why)
{
	(void)uroce_cm_reject(id, why, (uint8_t)(strlen(why) + 1));
	(void)uroce_cm_destroy_id(id);
}

/*
 * Get the next event of connection management, if there is one, and acknowledge it. If the event
 * reports a failed attempt to connect, print a line.
 * @return 1 if there is an event, 0 if there is none, -1 if the attempt to connect has failed
 */
static int
take(struct cm *cm, struct cm_event *seen)
{
	struct rdma_cm_event *event;
	bool is_failure;

	(void)uroce_cm_poll();
	if (uroce_cm_get_cm_event(cm->channel, &event) != 0)
		return 0;
	*seen = (struct cm_event){ .type = event->event, .id = event->id };
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		/*
		 * param.conn and param.ud of an event begin with the same fields, which describe
		 * the private data
		 */
		if (event->param.conn.private_data_len >= sizeof(seen->hello))
			memcpy(&seen->hello, event->param.conn.private_data, sizeof(seen->hello));
	} else {
		seen->ud = event->param.ud;
	}
	is_failure = print_failure(cm, event);
	(void)uroce_cm_ack_cm_event(event);
	return is_failure ? -1 : 1;
}

/*
 * Handle an event for which no caller waits: refuse a connection request, or note that the
 * connection over which the two sides exchange lines has ended.
 */
static void
dismiss(struct cm *cm, const struct cm_event *seen)
{
	if (seen->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		cm_event_refuse(seen->id, "it serves another client");
	if (seen->type == RDMA_CM_EVENT_DISCONNECTED && seen->id == cm->exchange)
		cm->is_peer_gone = true;
}

bool
cm_is_disconnected(struct cm *cm)
{
	struct cm_event seen;
	int got;

	while ((got = take(cm, &seen)) != 0)
		if (got > 0)
			dismiss(cm, &seen);
	return cm->is_peer_gone;
}

int
cm_event_await(struct cm *cm, enum rdma_cm_event_type type, unsigned limit_s,
	       struct cm_event *event)
{
	const uint64_t deadline = rte_rdtsc() + limit_s * rte_get_tsc_hz();

	while (!stop_is_asked()) {
		int got = take(cm, event);

		if (got < 0 || (got > 0 && event->type == type))
			return got > 0 ? 0 : -1;
		if (got > 0)
			dismiss(cm, event);
		if (cm->is_peer_gone)
			return -1;
		if (limit_s != CM_EVENT_NO_LIMIT && rte_rdtsc() > deadline) {
			fprintf(stderr, "uroce-perf: rdma_cm: no %s within %u s\n",
				uroce_cm_event_str(type), limit_s);
			return -1;
		}
		endpoint_drive(cm->endpoint);
	}
	return -1;
}
