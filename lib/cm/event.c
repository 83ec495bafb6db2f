/* SPDX-License-Identifier: BSD-3-Clause */

/* Events of CM ids that the user of the CM engine has not received yet. */

#include "cm/event.h"

#include <string.h>

#include "cm/admission.h"
#include "cm/queue.h"

/*
 * The set of the events that carry private data of the peer; bit i stands for value i of enum
 * uroce_cm_event_kind.
 */
#define WITH_PRIVATE                                                                               \
	(1u << UROCE_CM_EVENT_CONNECT_REQUEST | 1u << UROCE_CM_EVENT_CONNECT_RESPONSE |            \
	 1u << UROCE_CM_EVENT_REJECTED)

/*
 * The set of the events that carry a status; bit i stands for value i of enum uroce_cm_event_kind.
 */
#define WITH_STATUS                                                                                \
	(1u << UROCE_CM_EVENT_UNREACHABLE | 1u << UROCE_CM_EVENT_REJECTED |                        \
	 1u << UROCE_CM_EVENT_DISCONNECTED)

void
uroce_cm_event_report(struct uroce_cm *cm, struct uroce_cm_conn *conn,
		      enum uroce_cm_event_kind kind, int status)
{
	if (kind == UROCE_CM_EVENT_REJECTED)
		conn->events &= ~(1u << UROCE_CM_EVENT_CONNECT_RESPONSE);
	if (WITH_STATUS & 1u << kind)
		conn->status = status;
	conn->events |= 1u << kind;
	if (!conn->link[UROCE_CM_LINK_EVENT].is_in)
		uroce_cm_queue_push(cm, &cm->owners[conn->owner].events, UROCE_CM_LINK_EVENT,
				    uroce_cm_id_of(cm, conn));
}

void
uroce_cm_event_clear(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (uroce_cm_event_is_pending(conn, UROCE_CM_EVENT_CONNECT_REQUEST))
		uroce_cm_admission_end_waiting(cm, conn);
	conn->events = 0;
	if (conn->link[UROCE_CM_LINK_EVENT].is_in)
		uroce_cm_queue_remove(cm, &cm->owners[conn->owner].events, UROCE_CM_LINK_EVENT,
				      uroce_cm_id_of(cm, conn));
}

void
uroce_cm_event_set_private(struct uroce_cm_conn *conn, const uint8_t *data, uint8_t len)
{
	memcpy(conn->rx, data, len);
	conn->rx_len = len;
}

static enum uroce_cm_event_kind
first_pending(const struct uroce_cm_conn *conn)
{
	unsigned kind = 0;

	while (!(conn->events & 1u << kind))
		kind++;
	return (enum uroce_cm_event_kind)kind;
}

bool
uroce_cme_next_owner_event(struct uroce_cm *cm, uint16_t owner, struct uroce_cm_event *event)
{
	struct uroce_cm_conn *conn =
		uroce_cm_queue_pop(cm, &cm->owners[owner].events, UROCE_CM_LINK_EVENT);

	if (!conn)
		return false;
	*event = (struct uroce_cm_event){
		.kind = first_pending(conn),
		.id = uroce_cm_id_of(cm, conn),
		.listener = UROCE_CM_NO_ID,
		.user = conn->user,
	};
	if (WITH_STATUS & 1u << event->kind)
		event->status = conn->status;
	/* the event ESTABLISHED of a datagram service has the private data of the SIDR_REP */
	if (WITH_PRIVATE & 1u << event->kind || conn->is_datagram) {
		event->private_len = conn->rx_len;
		memcpy(event->private_data, conn->rx, conn->rx_len);
	}
	if (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST) {
		event->listener = conn->listener;
		uroce_cm_admission_end_waiting(cm, conn);
	}
	conn->events &= ~(1u << event->kind);
	/* a CM id with further events goes to the end of the queue, so that ids take turns */
	if (conn->events)
		uroce_cm_queue_push(cm, &cm->owners[owner].events, UROCE_CM_LINK_EVENT, event->id);
	return true;
}

bool
uroce_cme_next_event(struct uroce_cm *cm, struct uroce_cm_event *event)
{
	return uroce_cme_next_owner_event(cm, 0, event);
}

bool
uroce_cme_has_owner_event(const struct uroce_cm *cm, uint16_t owner)
{
	return cm->owners[owner].events.nb > 0;
}
