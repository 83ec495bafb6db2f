/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Destroying a device. Connection management may have opened contexts of the device. These contexts
 * are closed first, if no program uses them.
 */

#include <errno.h>
#include <stdlib.h>

#include "datapath/device/telemetry.h"
#include "verbs/cm/agent.h"
#include "verbs/cm/cm_device.h"
#include "verbs/device_list.h"
#include "verbs/errno_ret.h"
#include "verbs/uroce.h"

/* Remove a device from the list and destroy it. The caller holds `uroce_vdevice_list_lock`. */
static int
remove_device(struct ibv_device *ibv)
{
	struct uroce_vdevice **link = &uroce_vdevice_list;
	struct uroce_vdevice *device;
	int ret;

	while (*link != NULL && &(*link)->ibv != ibv)
		link = &(*link)->next;
	device = *link;
	if (device == NULL)
		return -EINVAL;
	pthread_mutex_lock(&device->lock);
	const bool is_open = device->contexts != NULL;

	pthread_mutex_unlock(&device->lock);
	if (is_open)
		return -EBUSY;
	uroce_cm_agent_end(device);
	uroce_telemetry_remove(device->dev);
	ret = uroce_dev_destroy(device->dev);
	if (ret != 0) {
		if (atomic_load(&device->is_up))
			uroce_telemetry_add(device->dev, device->ibv.name);
		return ret;
	}
	*link = device->next;
	pthread_mutex_destroy(&device->lock);
	pthread_mutex_destroy(&device->agent_lock);
	pthread_mutex_destroy(&device->start_lock);
	free(device);
	return 0;
}

int
uroce_destroy_device(struct ibv_device *device)
{
	if (device == NULL)
		return uroce_fail(EINVAL);
	uroce_vcm_device_release(device);
	pthread_mutex_lock(&uroce_vdevice_list_lock);
	const int ret = remove_device(device);

	pthread_mutex_unlock(&uroce_vdevice_list_lock);
	return uroce_errno_ret(ret);
}
