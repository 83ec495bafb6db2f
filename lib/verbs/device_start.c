/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The start of an announced device, which the first object of a context causes.
 */

#include "datapath/device/telemetry.h"
#include "verbs/object.h"

/*
 * Start an announced device. The start is tried only once. If it fails, all later calls return
 * -EIO.
 */
static int
start_device(struct uroce_vdevice *device)
{
	int ret = 0;

	pthread_mutex_lock(&device->start_lock);
	if (device->start != NULL) {
		ret = -device->start(device->start_arg);
		if (ret == 0)
			ret = uroce_dev_start(device->dev);
		device->start = NULL;
		atomic_store(&device->is_up, ret == 0);
		if (ret == 0)
			uroce_telemetry_add(device->dev, device->ibv.name);
	} else if (!atomic_load(&device->is_up)) {
		ret = -EIO;
	}
	pthread_mutex_unlock(&device->start_lock);
	return ret;
}

int
uroce_vcontext_start(struct ibv_context *ibv)
{
	struct uroce_vdevice *const device = uroce_vcontext(ibv)->device;

	return atomic_load(&device->is_up) ? 0 : start_device(device);
}
