/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the connection manager of a device: an agent in this process (verbs/cm/agent.h), or
 * the connection manager of uroced.
 */

#include "verbs/cm/manager.h"

#include <errno.h>

#include "datapath/device/dev.h"
#include "datapath/uroced/mux_client.h"
#include "verbs/cm/consumer.h"
#include "verbs/cm/remote.h"
#include "verbs/fork.h"
#include "verbs/object.h"

/*
 * Whether the connection manager of a device is in another process, which serves all clients of
 * uroced. The process that serves all clients is itself attached to uroced over an inherited
 * connection. In that process the connection manager is an agent, so the result is false.
 */
static bool
is_of_uroced(const struct uroce_dev *dev)
{
	return dev->conf.is_attached && !uroce_mux_client_is_inherited(dev->conf.socket);
}

int
uroce_cm_manager_open(struct ibv_context *context, void (*notify)(void *arg), void *arg,
		      struct uroce_cm_manager **manager)
{
	if (context == NULL || notify == NULL || manager == NULL)
		return -EINVAL;
	if (uroce_is_fork_child())
		return -EIO;
	if (is_of_uroced(uroce_vcontext_dev(context)))
		return uroce_cm_remote_open(uroce_vcontext_dev(context), notify, arg, manager);
	return uroce_cm_consumer_open(context, notify, arg, manager);
}
