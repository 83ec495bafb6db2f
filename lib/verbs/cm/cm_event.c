/* SPDX-License-Identifier: BSD-3-Clause */
/* Making events of connection management, and filling in their parameters. */

#include "verbs/cm/cm_event.h"

#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cm_log.h"
#include "verbs/cm/cm_path.h"

static unsigned nb_events;

struct uroce_vcm_event *
uroce_vcm_event_new(struct uroce_vcm_id *id, enum rdma_cm_event_type type, int status)
{
	struct uroce_vcm_event *const event = calloc(1, sizeof(*event));

	if (event == NULL)
		return NULL;
	event->cm.id = &id->cm;
	event->cm.event = type;
	event->cm.status = status;
	event->owner = id;
	return event;
}

void
uroce_vcm_event_add(struct uroce_vcm_event *event)
{
	nb_events++;
	uroce_vcm_log_event(event);
	uroce_vcm_event_push(event);
}

void
uroce_vcm_raise(struct uroce_vcm_id *id, enum rdma_cm_event_type type, int status)
{
	struct uroce_vcm_event *const event = uroce_vcm_event_new(id, type, status);

	if (event != NULL)
		uroce_vcm_event_add(event);
}

unsigned
uroce_vcm_event_count(void)
{
	return nb_events;
}

void
uroce_vcm_event_fill_data(struct uroce_vcm_event *event, const struct uroce_cm_event *from)
{
	const void *const data = from->private_len > 0 ? event->private_data : NULL;

	memcpy(event->private_data, from->private_data, from->private_len);
	if (uroce_vcm_is_datagram(uroce_vcm_id(event->cm.id))) {
		event->cm.param.ud.private_data = data;
		event->cm.param.ud.private_data_len = from->private_len;
	} else {
		event->cm.param.conn.private_data = data;
		event->cm.param.conn.private_data_len = from->private_len;
	}
}

void
uroce_vcm_event_fill_conn(struct uroce_vcm_event *event, const struct uroce_cm_info *info)
{
	struct rdma_conn_param *const conn = &event->cm.param.conn;

	conn->responder_resources = info->responder_resources;
	conn->initiator_depth = info->initiator_depth;
	conn->flow_control = info->has_flow_control;
	conn->retry_count = info->retry_count;
	conn->rnr_retry_count = info->rnr_retry_count;
	conn->srq = info->has_srq;
	conn->qp_num = info->remote_qpn;
}

void
uroce_vcm_event_fill_ud(struct uroce_vcm_event *event, const struct uroce_cm_info *info)
{
	struct rdma_ud_param *const ud = &event->cm.param.ud;

	/*
	 * The conversion of the address vector fails if the device has lost the local address. Then
	 * the program also gets ADDR_CHANGE, so the error is ignored.
	 */
	(void)uroce_vcm_path_to_ah(uroce_vcm_id(event->cm.id), &info->av, &ud->ah_attr);
	ud->qp_num = info->remote_qpn;
	ud->qkey = info->remote_qkey;
}
