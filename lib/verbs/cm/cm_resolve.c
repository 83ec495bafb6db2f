/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolutions of addresses. A resolution does not store the MAC that it finds: when the QP is
 * connected, the MAC is in the neighbour cache of the device or of the kernel.
 */

#include "verbs/cm/cm_resolve.h"

#include <errno.h>
#include <time.h>

#include "verbs/cm/cm_bind.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/object.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"

#define NS_PER_MS UINT64_C(1000000)

/* Time between two look-ups of the MAC of a destination. */
#define STEP_NS NS_PER_MS

static struct uroce_vcm_id *resolving; /* list of the ids that resolve an address */

static uint64_t
monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * NS_PER_MS + (uint64_t)now.tv_nsec;
}

void
uroce_vcm_resolve_begin(struct uroce_vcm_id *id, const struct uroce_vcm_route *route,
			uint32_t scope, int timeout_ms)
{
	id->resolution = (struct uroce_vcm_resolution){
		.next = resolving,
		.route = *route,
		.scope = scope,
		.timeout_ns = (uint64_t)timeout_ms * NS_PER_MS,
	};
	resolving = id;
	route->device->nb_resolutions++;
	id->state = UROCE_VCM_ADDR_QUERY;
}

static void
remove_resolution(struct uroce_vcm_id *id)
{
	struct uroce_vcm_id **link = &resolving;

	while (*link != id)
		link = &(*link)->resolution.next;
	*link = id->resolution.next;
	id->resolution.route.device->nb_resolutions--;
}

void
uroce_vcm_resolve_cancel(struct uroce_vcm_id *id)
{
	if (id->state == UROCE_VCM_ADDR_QUERY)
		remove_resolution(id);
}

/*
 * End a resolution that failed. The id returns to its former state, so that the program may try
 * again.
 */
static void
fail_resolution(struct uroce_vcm_id *id, int error)
{
	id->state = id->ends != NULL ? UROCE_VCM_BOUND : UROCE_VCM_IDLE;
	uroce_vcm_raise(id, RDMA_CM_EVENT_ADDR_ERROR, error);
}

static void
end_resolution(struct uroce_vcm_id *id)
{
	const struct uroce_vcm_route *const route = &id->resolution.route;
	const int ret = uroce_vcm_bind_to_route(id, route);

	if (ret != 0) {
		fail_resolution(id, ret);
		return;
	}
	uroce_vcm_sockaddr_put(&id->cm.route.addr.dst_storage, &route->dst, id->resolution.scope);
	uroce_vcm_path_fill_gids(id);
	id->state = UROCE_VCM_ADDR_RESOLVED;
	uroce_vcm_raise(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static bool
is_port_active(const struct uroce_vcm_device *device)
{
	struct ibv_port_attr port;

	return uroce_query_port(device->own, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE;
}

/*
 * Look up the MAC of the destination once. The MAC of a multicast group follows from its address.
 * But the resolution of a group also waits until the link is up, because datagrams that the program
 * sends earlier are lost, and nothing repeats them.
 * @return 0; -EAGAIN: the MAC is not known yet, or the link is down; another -errno
 */
static int
look_for_mac(struct uroce_vcm_id *id)
{
	struct uroce_vcm_resolution *const of = &id->resolution;
	struct uroce_vcm_device *const device = of->route.device;
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1 };
	struct uroce_path path;
	union ibv_gid src;
	int idx, ret;

	uroce_vcm_addr_to_gid(&of->route.src, &src);
	idx = uroce_vcm_device_find_gid(device, &src);
	if (idx < 0)
		return -EADDRNOTAVAIL;
	if (uroce_vcontext_start(device->own) != 0)
		return -ENODEV;
	/*
	 * The time limit of a resolution begins with the first request for the MAC. The start of a
	 * device, which may take seconds on a busy machine, does not reduce the time in which the
	 * peer may reply.
	 */
	if (of->deadline_ns == 0)
		of->deadline_ns = monotonic_ns() + of->timeout_ns;
	av.grh.sgid_index = (uint8_t)idx;
	av.grh.hop_limit = UROCE_VCM_HOP_LIMIT;
	uroce_vcm_addr_to_gid(&of->route.dst, &av.grh.dgid);
	ret = uroce_dev_try_resolve(uroce_vcontext_dev(device->own), &av, uroce_sport(&av, 0, 0),
				    &of->request_ns, &path);
	if (ret == 0 && uroce_vcm_addr_is_group(&of->route.dst) && !is_port_active(device))
		return -EAGAIN;
	return ret;
}

static void
step_resolution(struct uroce_vcm_id *id, uint64_t now_ns)
{
	int ret = look_for_mac(id);

	if (ret == -EAGAIN) {
		if (now_ns < id->resolution.deadline_ns)
			return;
		ret = -ETIMEDOUT;
	}
	remove_resolution(id);
	if (ret == 0)
		end_resolution(id);
	else
		fail_resolution(id, ret);
}

uint64_t
uroce_vcm_resolve_step(void)
{
	const uint64_t now_ns = monotonic_ns();
	struct uroce_vcm_id *next;

	for (struct uroce_vcm_id *id = resolving; id != NULL; id = next) {
		next = id->resolution.next;
		step_resolution(id, now_ns);
	}
	return resolving != NULL ? STEP_NS : UROCE_CM_NEVER;
}
