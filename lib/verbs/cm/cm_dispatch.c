/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of connection managers and of ports become events of ids. A connection manager names an id
 * by a cookie, which is the address of a struct uroce_vcm_end (id.h). The cookie is always valid: a
 * struct uroce_vcm_end is freed only after its id was destroyed at the connection manager, and both
 * happen under uroce_vcm_lock.
 */

#include "verbs/cm/cm_dispatch.h"

#include <stdlib.h>

#include "cm/reason.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/id_new.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce.h"

/* --- connection requests of peers ---------------------------------------------------------------- */

static void
refuse_request(struct uroce_vcm_device *device, uint32_t number, bool is_datagram)
{
	struct uroce_cm_manager *const manager = device->manager;
	const uint16_t reason = is_datagram ? UROCE_CM_SIDR_NO_QP : UROCE_CM_REASON_NO_RESOURCES;

	(void)manager->ops->reject(manager, number, reason, NULL, 0);
	(void)manager->ops->destroy(manager, number);
}

static enum ibv_qp_type
type_of_transport(const struct uroce_cm_info *info)
{
	if (info->is_datagram)
		return IBV_QPT_UD;
	switch (info->transport) {
	case UROCE_CM_TRANSPORT_UC:
		return IBV_QPT_UC;
	case UROCE_CM_TRANSPORT_EXTENDED:
		return IBV_QPT_XRC_RECV;
	default:
		return IBV_QPT_RC;
	}
}

/*
 * Set the addresses of an id that is made for a connection request. A request without an IP header
 * (RDMA IP CM) names the hosts only by their GIDs, which are converted to addresses.
 */
static void
fill_addresses(struct uroce_vcm_id *id, const struct uroce_cm_info *info)
{
	struct rdma_addr *const route = &id->cm.route.addr;
	const unsigned scope = uroce_vcm_device_if_index(id->device);
	struct uroce_cm_addr local = info->local, remote = info->remote;

	if (local.ip_version == 0 || uroce_vcm_addr_is_any(&local))
		uroce_vcm_addr_from_gid(info->av.local_gid, info->local.port, &local);
	if (remote.ip_version == 0)
		uroce_vcm_addr_from_gid(info->av.remote_gid, info->remote.port, &remote);
	uroce_vcm_sockaddr_put(&route->src_storage, &local, scope);
	uroce_vcm_sockaddr_put(&route->dst_storage, &remote, scope);
}

static struct uroce_vcm_id *
new_passive_id(struct uroce_vcm_id *listener, struct uroce_vcm_device *device,
	       const struct uroce_cm_info *info)
{
	struct uroce_vcm_id *const id =
		uroce_vcm_id_new(uroce_vcm_channel(listener->cm.channel), listener->cm.context,
				 listener->cm.ps, type_of_transport(info));

	if (id == NULL)
		return NULL;
	id->state = UROCE_VCM_REQUEST;
	id->is_passive = true;
	id->tos = info->av.traffic_class;
	id->responder_resources = info->responder_resources;
	id->initiator_depth = info->initiator_depth;
	uroce_vcm_id_set_device(id, device);
	fill_addresses(id, info);
	uroce_vcm_path_fill_gids(id);
	uroce_vcm_path_fill_from(id, &info->av);
	return id;
}

/*
 * Make an id for the request of a peer, and add a CONNECT_REQUEST to the channel of the listener.
 * @return 0, or -errno: the caller refuses the request
 */
static int
add_request(struct uroce_vcm_id *listener, struct uroce_vcm_device *device,
	    const struct uroce_cm_event *from)
{
	struct uroce_cm_manager *const manager = device->manager;
	struct uroce_vcm_event *event;
	struct uroce_cm_info info;
	struct uroce_vcm_id *id;
	int ret = manager->ops->query(manager, from->id, &info);

	if (ret != 0)
		return ret;
	id = new_passive_id(listener, device, &info);
	if (id == NULL)
		return -ENOMEM;
	event = uroce_vcm_event_new(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	ret = event != NULL ? uroce_vcm_end_adopt(id, device, from->id) : -ENOMEM;
	if (ret != 0) {
		free(event);
		uroce_vcm_id_free(id);
		return ret;
	}
	event->cm.listen_id = &listener->cm;
	event->owner = listener;
	if (!info.is_datagram)
		uroce_vcm_event_fill_conn(event, &info);
	uroce_vcm_event_fill_data(event, from);
	uroce_vcm_event_add(event);
	return 0;
}

static void
take_request(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	struct uroce_vcm_id *const listener = end->id;

	if (listener->nb_waiting >= listener->backlog ||
	    add_request(listener, end->device, from) != 0)
		refuse_request(end->device, from->id, uroce_vcm_is_datagram(listener));
}

/* --- other events of connection managers --------------------------------------------------------- */

static void
take_response(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	struct uroce_vcm_id *const id = end->id;
	struct uroce_vcm_event *const event =
		uroce_vcm_event_new(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	struct uroce_cm_info info;

	id->state = UROCE_VCM_RESPONSE;
	if (event == NULL)
		return;
	if (uroce_vcm_end_query(id, &info) == 0)
		uroce_vcm_event_fill_conn(event, &info);
	uroce_vcm_event_fill_data(event, from);
	uroce_vcm_event_add(event);
}

static void
take_established(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	struct uroce_vcm_id *const id = end->id;
	struct uroce_vcm_event *const event = uroce_vcm_event_new(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	struct uroce_cm_info info;

	id->state = UROCE_VCM_CONNECTED;
	if (event == NULL)
		return;
	if (uroce_vcm_is_datagram(id) && uroce_vcm_end_query(id, &info) == 0) {
		uroce_vcm_event_fill_ud(event, &info);
		uroce_vcm_event_fill_data(event, from);
	}
	uroce_vcm_event_add(event);
}

static void
take_unreachable(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	end->id->state = UROCE_VCM_ENDED;
	uroce_vcm_raise(end->id, RDMA_CM_EVENT_UNREACHABLE, from->status);
}

static void
take_rejected(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	struct uroce_vcm_event *const event =
		uroce_vcm_event_new(end->id, RDMA_CM_EVENT_REJECTED, from->status);

	end->id->state = UROCE_VCM_ENDED;
	if (event == NULL)
		return;
	uroce_vcm_event_fill_data(event, from);
	uroce_vcm_event_add(event);
}

static void
take_disconnected(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	end->id->state = UROCE_VCM_ENDED;
	end->id->has_end = true;
	uroce_vcm_raise(end->id, RDMA_CM_EVENT_DISCONNECTED, from->status);
}

static void
take_timewait_exit(struct uroce_vcm_end *end, const struct uroce_cm_event *from)
{
	(void)from;
	uroce_vcm_raise(end->id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

static void
take_manager_event(const struct uroce_cm_event *from)
{
	static void (*const handlers[UROCE_CM_EVENT_NB])(struct uroce_vcm_end *,
							 const struct uroce_cm_event *) = {
		[UROCE_CM_EVENT_CONNECT_REQUEST] = take_request,
		[UROCE_CM_EVENT_CONNECT_RESPONSE] = take_response,
		[UROCE_CM_EVENT_UNREACHABLE] = take_unreachable,
		[UROCE_CM_EVENT_REJECTED] = take_rejected,
		[UROCE_CM_EVENT_ESTABLISHED] = take_established,
		[UROCE_CM_EVENT_DISCONNECTED] = take_disconnected,
		[UROCE_CM_EVENT_TIMEWAIT_EXIT] = take_timewait_exit,
	};

	handlers[from->kind]((struct uroce_vcm_end *)(uintptr_t)from->user, from);
}

/* --- events of the port -------------------------------------------------------------------------- */

static void
lose_device(struct uroce_vcm_device *device)
{
	if (device->is_gone)
		return;
	device->is_gone = true;
	for (struct uroce_vcm_end *end = device->ends; end != NULL; end = end->next_of_device)
		if (end->id->device == device)
			uroce_vcm_raise(end->id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

/*
 * Raise ADDR_CHANGE for each id of a device whose local address the device has lost. The event is
 * raised only once for each id.
 */
static void
check_addresses(struct uroce_vcm_device *device)
{
	struct uroce_gid_table gids;

	uroce_vcm_device_gids(device, &gids);
	for (struct uroce_vcm_end *end = device->ends; end != NULL; end = end->next_of_device) {
		struct uroce_vcm_id *const id = end->id;

		if (id->device != device || id->is_addr_lost ||
		    uroce_gid_find(&gids, id->cm.route.addr.addr.ibaddr.sgid.raw) >= 0)
			continue;
		id->is_addr_lost = true;
		uroce_vcm_raise(id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	}
}

static void
take_port_events(struct uroce_vcm_device *device)
{
	struct ibv_async_event event;

	while (uroce_get_async_event(device->own, &event) == 0) {
		if (event.event_type == IBV_EVENT_GID_CHANGE)
			check_addresses(device);
		else if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			lose_device(device);
		uroce_ack_async_event(&event);
	}
}

void
uroce_vcm_dispatch(void)
{
	struct uroce_cm_event event;

	for (struct uroce_vcm_device *at = uroce_vcm_device_first(); at != NULL; at = at->next) {
		int ret = 0;

		take_port_events(at);
		if (at->manager == NULL || at->is_gone)
			continue;
		while ((ret = at->manager->ops->next_event(at->manager, &event)) > 0)
			take_manager_event(&event);
		if (ret < 0)
			lose_device(at);
	}
}
