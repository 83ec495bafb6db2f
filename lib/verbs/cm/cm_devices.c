/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls that list the devices of connection management. */

#include <errno.h>
#include <stdlib.h>

#include "verbs/cm/cm_device.h"
#include "verbs/uroce_cm.h"

static struct ibv_context **
list_contexts(const struct uroce_vcm_device *first, int *num_devices)
{
	struct ibv_context **list;
	size_t nb = 0;

	for (const struct uroce_vcm_device *at = first; at != NULL; at = at->next)
		nb++;
	list = calloc(nb + 1, sizeof(*list));
	if (list == NULL)
		return NULL;
	nb = 0;
	for (const struct uroce_vcm_device *at = first; at != NULL; at = at->next)
		list[nb++] = at->context;
	if (num_devices != NULL)
		*num_devices = (int)nb;
	return list;
}

struct ibv_context **
uroce_cm_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	struct uroce_vcm_device *first;
	int ret;

	pthread_mutex_lock(&uroce_vcm_lock);
	ret = uroce_vcm_device_open_all(&first);
	if (ret == 0 && first == NULL)
		ret = -ENODEV;
	if (ret == 0) {
		list = list_contexts(first, num_devices);
		ret = list == NULL ? -ENOMEM : 0;
	}
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (ret != 0)
		errno = -ret;
	return list;
}

void
uroce_cm_free_devices(struct ibv_context **list)
{
	free(list);
}
