/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice between the connection managers of a device.
 */

#include "verbs/cm/manager.h"

#include <errno.h>

#include "verbs/cm/consumer.h"
#include "verbs/fork.h"

int
uroce_cm_manager_open(struct ibv_context *context, void (*notify)(void *arg), void *arg,
		      struct uroce_cm_manager **manager)
{
	if (context == NULL || notify == NULL || manager == NULL)
		return -EINVAL;
	if (uroce_is_fork_child())
		return -EIO;
	return uroce_cm_consumer_open(context, notify, arg, manager);
}
