/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking events from channels. The QP of an id is moved to RTR and RTS in the thread that takes the
 * event: moving a QP may wait for the MAC of the peer, and the thread of connection management must
 * not wait.
 */

#include "verbs/cm/cm_take.h"

#include <stdlib.h>
#include <string.h>

#include "cm/reason.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_qp_state.h"
#include "verbs/cm/cm_service.h"
#include "verbs/uroce.h"

/* Reject a connection whose QP could not be moved, and change the event to CONNECT_ERROR. */
static void
fail_connection(struct uroce_vcm_id *id, struct uroce_vcm_event *event, int error)
{
	(void)uroce_vcm_qp_end(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	if (id->ends != NULL) {
		struct uroce_cm_manager *const manager = id->ends->device->manager;

		(void)manager->ops->reject(manager, id->ends->number,
					   UROCE_CM_REASON_CONSUMER_DEFINED, NULL, 0);
	}
	id->state = UROCE_VCM_ENDED;
	id->has_failed = true;
	pthread_mutex_unlock(&uroce_vcm_lock);
	event->cm.event = RDMA_CM_EVENT_CONNECT_ERROR;
	event->cm.status = error;
}

/*
 * Tell the peer by an RTU that the QP is ready.
 * @return 0; -EINVAL: another thread destroys the id; another -errno
 */
static int
establish_end(struct uroce_vcm_id *id)
{
	int ret = -EINVAL;

	pthread_mutex_lock(&uroce_vcm_lock);
	if (id->ends != NULL) {
		struct uroce_cm_manager *const manager = id->ends->device->manager;

		ret = manager->ops->establish(manager, id->ends->number, NULL, 0);
	}
	if (ret == 0)
		id->state = UROCE_VCM_CONNECTED;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return ret;
}

/*
 * Complete a connection that the peer has accepted: move the QP to RTS, then tell the peer. The
 * event becomes ESTABLISHED or CONNECT_ERROR.
 */
static void
finish_response(struct uroce_vcm_event *event)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(event->cm.id);
	int ret;

	if (id->cm.qp == NULL)
		return;
	ret = uroce_vcm_qp_connect(id, event->cm.param.conn.responder_resources,
				   event->cm.param.conn.initiator_depth);
	if (ret == 0)
		ret = establish_end(id);
	if (ret == 0)
		event->cm.event = RDMA_CM_EVENT_ESTABLISHED;
	else
		fail_connection(id, event, ret);
}

static void
finish_rejection(struct uroce_vcm_event *event)
{
	(void)uroce_vcm_qp_end(uroce_vcm_id(event->cm.id));
}

static void
finish_join(struct uroce_vcm_event *event)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(event->cm.id);
	struct uroce_vcm_group *const group = event->group;
	int ret;

	if (id->cm.qp == NULL || group->is_send_only || group->is_attached)
		return;
	ret = uroce_attach_mcast(id->cm.qp, &group->gid, 0);
	group->is_attached = ret == 0;
	if (ret == 0)
		return;
	event->cm.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	event->cm.status = -ret;
}

/*
 * Functions that move the QP of an id, or attach it to a group, when the program takes an event.
 * The index is the type of the event. NULL: this event does not change the QP.
 */
static void (*const finish[])(struct uroce_vcm_event *) = {
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = finish_response,
	[RDMA_CM_EVENT_REJECTED] = finish_rejection,
	[RDMA_CM_EVENT_MULTICAST_JOIN] = finish_join,
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = NULL,
};

/*
 * Whether an event reports the end of a connection for which the program got CONNECT_ERROR before.
 */
static bool
is_repeated_end(const struct uroce_vcm_event *event)
{
	const enum rdma_cm_event_type type = event->cm.event;

	return uroce_vcm_id(event->cm.id)->has_failed &&
	       (type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
		type == RDMA_CM_EVENT_DISCONNECTED);
}

static struct uroce_vcm_event *
pop_event(struct uroce_vcm_channel *channel)
{
	struct uroce_vcm_event *event;

	pthread_mutex_lock(&uroce_vcm_lock);
	while ((event = uroce_vcm_event_pop(channel)) != NULL && is_repeated_end(event)) {
		uroce_vcm_event_ack(event);
		free(event);
	}
	if (event != NULL && event->cm.event == RDMA_CM_EVENT_DISCONNECTED)
		uroce_vcm_id(event->cm.id)->is_end_taken = true;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return event;
}

struct uroce_vcm_event *
uroce_vcm_take(struct uroce_vcm_channel *channel)
{
	struct uroce_vcm_event *const event = pop_event(channel);

	if (event != NULL && finish[event->cm.event] != NULL)
		finish[event->cm.event](event);
	return event;
}

int
uroce_vcm_take_wait(struct uroce_vcm_channel *channel, struct uroce_vcm_event **event)
{
	int ret = 0;

	while ((*event = uroce_vcm_take(channel)) == NULL && ret == 0)
		ret = uroce_vcm_service_wait(channel->cm.fd);
	return *event != NULL ? 0 : ret;
}

void
uroce_vcm_take_ack(struct uroce_vcm_event *event)
{
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_event_ack(event);
	pthread_mutex_unlock(&uroce_vcm_lock);
	free(event);
}

void
uroce_vcm_take_forget(struct uroce_vcm_id *id)
{
	if (id->cm.event == NULL)
		return;
	uroce_vcm_take_ack((struct uroce_vcm_event *)id->cm.event);
	id->cm.event = NULL;
}

int
uroce_vcm_take_end(struct uroce_vcm_id *id)
{
	struct uroce_vcm_event *event;
	int ret;

	if (!id->is_sync)
		return 0;
	uroce_vcm_take_forget(id);
	do {
		ret = uroce_vcm_take_wait(uroce_vcm_channel(id->cm.channel), &event);
		if (ret != 0)
			return ret;
		id->cm.event = &event->cm;
		/* no call waits for TIMEWAIT_EXIT, so this event does not end the wait */
	} while (event->cm.event == RDMA_CM_EVENT_TIMEWAIT_EXIT &&
		 (uroce_vcm_take_forget(id), true));
	if (event->cm.status == 0)
		return 0;
	/* a positive status is the reason why the peer has rejected the request */
	return event->cm.status < 0 ? event->cm.status : -ECONNREFUSED;
}
