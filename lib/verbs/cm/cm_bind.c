/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binding of ids to addresses. An id that is bound to the wildcard address is bound at the
 * connection manager of each device, to the same port at all of them. Devices that are attached to
 * one uroced have equal addresses, and share the connection manager of uroced. So the id is bound
 * at only one of these devices.
 */

#include "verbs/cm/cm_bind.h"

#include <errno.h>
#include <string.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/cm_route.h"
#include "verbs/cm/id_new.h"
#include "verbs/cm/sockaddr.h"

/*
 * Maximum number of ports that are tried when an id is bound to the wildcard address and the caller
 * leaves the choice of the port to the library. Several tries may be needed, because a port that
 * the first device chooses may be taken at another device.
 */
#define PORT_TRIES 16

/*
 * Bind the newest end of an id (the id that it has at the connection manager of one device) to
 * `addr`, and store the port to which the end was bound in `addr`.
 */
static int
bind_end(struct uroce_vcm_id *id, struct uroce_cm_addr *addr)
{
	const struct uroce_vcm_end *const end = id->ends;
	struct uroce_cm_manager *const manager = end->device->manager;
	struct uroce_cm_info info;
	int ret = manager->ops->bind(manager, end->number, addr, id->is_v6only, id->is_shared);

	if (ret == 0)
		ret = manager->ops->query(manager, end->number, &info);
	if (ret == 0)
		addr->port = info.local.port;
	return ret;
}

static int
bind_at(struct uroce_vcm_id *id, struct uroce_vcm_device *device, struct uroce_cm_addr *addr)
{
	int ret = uroce_vcm_end_open(id, device);

	return ret != 0 ? ret : bind_end(id, addr);
}

/*
 * Whether the id is bound at a device that has the same addresses as `device`. Such devices are
 * attached to one uroced, and share its connection manager.
 */
static bool
shares_manager(const struct uroce_vcm_id *id, const struct uroce_vcm_device *device)
{
	struct uroce_gid_table gids, others;

	uroce_vcm_device_gids(device, &gids);
	for (const struct uroce_vcm_end *end = id->ends; end != NULL; end = end->next) {
		uroce_vcm_device_gids(end->device, &others);
		if (gids.nb == others.nb &&
		    memcmp(gids.addr, others.addr, gids.nb * sizeof(gids.addr[0])) == 0)
			return true;
	}
	return false;
}

static int
bind_at_all(struct uroce_vcm_id *id, struct uroce_vcm_device *first, struct uroce_cm_addr *addr)
{
	int ret = 0;

	for (struct uroce_vcm_device *at = first; at != NULL && ret == 0; at = at->next)
		if (!shares_manager(id, at))
			ret = bind_at(id, at, addr);
	if (ret != 0)
		uroce_vcm_end_close_all(id, NULL);
	return ret;
}

static int
bind_wildcard(struct uroce_vcm_id *id, struct uroce_cm_addr *addr)
{
	const bool is_any_port = addr->port == 0;
	struct uroce_vcm_device *first;
	int ret = uroce_vcm_device_open_all(&first);

	if (ret == 0 && first == NULL)
		ret = -ENODEV;
	for (unsigned i = 0; ret == 0 && i < PORT_TRIES; i++) {
		if (is_any_port)
			addr->port = 0;
		ret = bind_at_all(id, first, addr);
		if (ret != -EADDRINUSE || !is_any_port)
			break;
		ret = i + 1 < PORT_TRIES ? 0 : -EADDRINUSE;
	}
	return ret;
}

static int
bind_address(struct uroce_vcm_id *id, struct uroce_vcm_device *device, struct uroce_cm_addr *addr)
{
	const int ret = bind_at(id, device, addr);

	if (ret != 0) {
		uroce_vcm_end_close_all(id, NULL);
		return ret;
	}
	uroce_vcm_id_set_device(id, device);
	return 0;
}

static void
set_bound(struct uroce_vcm_id *id, const struct uroce_cm_addr *addr)
{
	const unsigned scope = id->device != NULL ? uroce_vcm_device_if_index(id->device) : 0;

	uroce_vcm_sockaddr_put(&id->cm.route.addr.src_storage, addr, scope);
	if (id->device != NULL)
		uroce_vcm_path_fill_gids(id);
}

int
uroce_vcm_bind(struct uroce_vcm_id *id, const struct uroce_cm_addr *addr, uint32_t scope)
{
	struct uroce_cm_addr bound = *addr;
	struct uroce_vcm_device *device;
	int ret;

	if (uroce_vcm_addr_is_any(addr)) {
		ret = bind_wildcard(id, &bound);
	} else {
		ret = uroce_vcm_route_find_local(&bound, scope, &device);
		if (ret == 0)
			ret = bind_address(id, device, &bound);
	}
	if (ret != 0)
		return ret;
	set_bound(id, &bound);
	id->state = UROCE_VCM_BOUND;
	return 0;
}

int
uroce_vcm_bind_to_route(struct uroce_vcm_id *id, const struct uroce_vcm_route *route)
{
	struct uroce_cm_addr src = route->src;
	int ret;

	if (id->device != NULL)
		return 0;
	src.port = ntohs(uroce_vcm_sockaddr_port(&id->cm.route.addr.src_addr));
	uroce_vcm_end_close_all(id, NULL);
	ret = bind_address(id, route->device, &src);
	if (ret == 0)
		set_bound(id, &src);
	return ret;
}
