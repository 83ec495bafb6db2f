/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of connection management, and the ends of ids: an end is what an id has at the connection
 * manager of one device. Each device is opened twice. One context is for the program, its objects
 * and their events. The other context is for the library itself.
 */

#include "verbs/cm/cm_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "datapath/net/gid.h"
#include "verbs/cm/agent.h"
#include "verbs/cm/wakeup.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

bool uroce_vcm_drive_is_none;

static struct uroce_vcm_device *open_devices;

/* Open the context of a device that the library itself uses (struct uroce_vcm_device, `own`). */
static int
open_own(struct uroce_vcm_device *device, struct ibv_device *ibv)
{
	int ret;

	device->own = uroce_open_device(ibv);
	if (device->own == NULL)
		return -errno;
	ret = fcntl(device->own->async_fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
	if (ret == 0)
		ret = uroce_vcm_wakeup_watch(device->own->async_fd);
	if (ret != 0)
		(void)uroce_close_device(device->own);
	return ret;
}

static int
open_cm_device(struct ibv_device *ibv, struct uroce_vcm_device **out)
{
	struct uroce_vcm_device *const device = calloc(1, sizeof(*device));
	int ret = device != NULL ? 0 : -ENOMEM;

	if (ret != 0)
		return ret;
	ret = open_own(device, ibv);
	if (ret == 0) {
		device->context = uroce_open_device(ibv);
		if (device->context != NULL) {
			*out = device;
			return 0;
		}
		ret = -errno;
		(void)uroce_close_device(device->own);
	}
	free(device);
	return ret;
}

/*
 * Find the entry of the device `ibv` in the list of open devices.
 * @return address of the pointer to the entry; if the device is not open, address of the NULL
 *         pointer at the end of the list
 */
static struct uroce_vcm_device **
place_of(const struct ibv_device *ibv)
{
	struct uroce_vcm_device **link = &open_devices;

	while (*link != NULL && (*link)->context->device != ibv)
		link = &(*link)->next;
	return link;
}

int
uroce_vcm_device_open_all(struct uroce_vcm_device **first)
{
	struct ibv_device **const list = uroce_get_device_list(NULL);
	int ret = list != NULL ? uroce_vcm_wakeup_open() : -ENOMEM;

	for (unsigned i = 0; ret == 0 && list[i] != NULL; i++) {
		struct uroce_vcm_device **const link = place_of(list[i]);

		if (*link == NULL)
			ret = open_cm_device(list[i], link);
	}
	uroce_free_device_list(list);
	*first = open_devices;
	return ret;
}

struct uroce_vcm_device *
uroce_vcm_device_first(void)
{
	return open_devices;
}

static void
close_manager(struct uroce_vcm_device *device)
{
	if (device->manager != NULL)
		device->manager->ops->close(device->manager);
	device->manager = NULL;
}

/* Close both contexts of a device. @return 0; -EBUSY: the program has objects in its context */
static int
close_contexts(struct uroce_vcm_device *device)
{
	if (device->xrcd != NULL && uroce_close_xrcd(device->xrcd) != 0)
		return -EBUSY;
	device->xrcd = NULL;
	if (device->pd != NULL && uroce_dealloc_pd(device->pd) != 0)
		return -EBUSY;
	device->pd = NULL;
	if (uroce_close_device(device->context) != 0)
		return -EBUSY;
	close_manager(device);
	(void)uroce_close_device(device->own);
	return 0;
}

void
uroce_vcm_device_release(const struct ibv_device *ibv)
{
	struct uroce_vcm_device **link, *device;

	pthread_mutex_lock(&uroce_vcm_lock);
	link = place_of(ibv);
	device = *link;
	if (device != NULL && device->ends == NULL && device->nb_resolutions == 0 &&
	    close_contexts(device) == 0) {
		*link = device->next;
		free(device);
	}
	pthread_mutex_unlock(&uroce_vcm_lock);
}

struct ibv_xrcd *
uroce_vcm_device_xrcd(struct uroce_vcm_device *device)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;

	pthread_mutex_lock(&uroce_vcm_lock);
	if (device->xrcd == NULL)
		device->xrcd = uroce_open_xrcd(device->context, &attr);
	xrcd = device->xrcd;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return xrcd;
}

void
uroce_vcm_device_drive_agents(void)
{
	for (struct uroce_vcm_device *at = open_devices; at != NULL; at = at->next)
		if (at->drives_agent &&
		    uroce_cm_agent_process(uroce_vcontext(at->own)->device->agent))
			uroce_vcm_wakeup_notify(NULL);
}

void
uroce_vcm_device_gids(const struct uroce_vcm_device *device, struct uroce_gid_table *gids)
{
	uroce_gid_copy(uroce_vcontext_dev(device->own), gids);
}

int
uroce_vcm_device_find_gid(const struct uroce_vcm_device *device, const union ibv_gid *gid)
{
	struct uroce_gid_table gids;

	uroce_vcm_device_gids(device, &gids);
	return uroce_gid_find(&gids, gid->raw);
}

unsigned
uroce_vcm_device_if_index(const struct uroce_vcm_device *device)
{
	return uroce_gid_if_index(uroce_vcontext_dev(device->own));
}

/*
 * If the program does all work of connection management (UROCE_CM_DRIVE_NONE), end the agent's
 * thread, and let the program do the agent's work.
 */
static int
take_over_agent(struct uroce_vcm_device *device)
{
	struct uroce_cm_agent *const agent = uroce_vcontext(device->own)->device->agent;

	if (!uroce_vcm_drive_is_none || agent == NULL || device->drives_agent)
		return 0;
	device->drives_agent = true;
	return uroce_vcm_wakeup_watch(uroce_cm_agent_take_over(agent));
}

/*
 * Open the connection manager of a device, if it is not open. A connection manager that was lost is
 * closed and opened again, but only when no id has an end at the device.
 */
static int
open_manager(struct uroce_vcm_device *device)
{
	int ret = 0;

	if (device->is_gone && device->ends == NULL) {
		close_manager(device);
		device->is_gone = false;
	}
	if (device->is_gone)
		return -EIO;
	if (device->pd == NULL) {
		device->pd = uroce_alloc_pd(device->context);
		if (device->pd == NULL)
			return -errno;
	}
	if (device->manager == NULL)
		ret = uroce_cm_manager_open(device->own, uroce_vcm_wakeup_notify, NULL,
					    &device->manager);
	return ret != 0 ? ret : take_over_agent(device);
}

static void
link_end(struct uroce_vcm_end *end)
{
	struct uroce_vcm_device *const device = end->device;

	end->next = end->id->ends;
	end->id->ends = end;
	end->next_of_device = device->ends;
	end->link = &device->ends;
	if (device->ends != NULL)
		device->ends->link = &end->next_of_device;
	device->ends = end;
}

static void
unlink_end(struct uroce_vcm_end *end)
{
	*end->link = end->next_of_device;
	if (end->next_of_device != NULL)
		end->next_of_device->link = end->link;
}

static struct uroce_vcm_end *
new_end(struct uroce_vcm_id *id, struct uroce_vcm_device *device)
{
	struct uroce_vcm_end *const end = calloc(1, sizeof(*end));

	if (end != NULL) {
		end->id = id;
		end->device = device;
	}
	return end;
}

int
uroce_vcm_end_open(struct uroce_vcm_id *id, struct uroce_vcm_device *device)
{
	int ret = open_manager(device);
	struct uroce_vcm_end *end;

	if (ret != 0)
		return ret;
	end = new_end(id, device);
	if (end == NULL)
		return -ENOMEM;
	ret = device->manager->ops->create(device->manager, (uint16_t)id->cm.ps,
					   uroce_vcm_is_datagram(id), (uintptr_t)end, &end->number);
	if (ret != 0) {
		free(end);
		return ret;
	}
	link_end(end);
	return 0;
}

int
uroce_vcm_end_adopt(struct uroce_vcm_id *id, struct uroce_vcm_device *device, uint32_t number)
{
	struct uroce_vcm_end *const end = new_end(id, device);
	int ret = end != NULL ? 0 : -ENOMEM;

	if (ret == 0)
		ret = device->manager->ops->set_user(device->manager, number, (uintptr_t)end);
	if (ret != 0) {
		free(end);
		return ret;
	}
	end->number = number;
	link_end(end);
	return 0;
}

void
uroce_vcm_end_close_all(struct uroce_vcm_id *id, const struct uroce_vcm_end *kept)
{
	struct uroce_vcm_end **link = &id->ends;

	while (*link != NULL) {
		struct uroce_vcm_end *const end = *link;
		struct uroce_cm_manager *const manager = end->device->manager;

		if (end == kept) {
			link = &end->next;
			continue;
		}
		*link = end->next;
		unlink_end(end);
		/*
		 * If the connection manager is lost, destroy() fails with -EIO. The error is
		 * ignored, because the loss has also ended the id.
		 */
		(void)manager->ops->destroy(manager, end->number);
		free(end);
	}
}

int
uroce_vcm_end_query(const struct uroce_vcm_id *id, struct uroce_cm_info *info)
{
	struct uroce_cm_manager *manager;

	if (id->device == NULL || id->ends == NULL)
		return -EINVAL;
	manager = id->ends->device->manager;
	return manager->ops->query(manager, id->ends->number, info);
}
