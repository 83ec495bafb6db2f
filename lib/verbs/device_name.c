/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of a device: its name, its index and its GUID.
 */

#include <string.h>

#include "verbs/object.h"
#include "verbs/uroce.h"

const char *
uroce_get_device_name(struct ibv_device *device)
{
	return device != NULL ? device->name : NULL;
}

int
uroce_get_device_index(struct ibv_device *device)
{
	return device != NULL ? (int)uroce_vdevice(device)->idx : -1;
}

/* The GUID is the EUI-64 of the MAC address [IEEE 802, RFC 4291 appendix A]. */
__be64
uroce_get_device_guid(struct ibv_device *device)
{
	const uint8_t *mac;
	__be64 guid;

	if (device == NULL)
		return 0;
	mac = uroce_vdevice(device)->dev->mac;
	const uint8_t eui[8] = {
		mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
	};

	memcpy(&guid, eui, sizeof(guid));
	return guid;
}
