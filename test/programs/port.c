/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program is told of its port: by a context without objects as by one that has some. Run under uroce-run.
 */

#include <errno.h>
#include <infiniband/verbs.h>

#include "tap.h"

static enum ibv_port_state
state_of(struct ibv_context *context)
{
	struct ibv_port_attr attr;
	const int err = ibv_query_port(context, 1, &attr);

	errno = err;
	tap_need(err == 0, "ibv_query_port");
	return attr.state;
}

int
main(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	struct ibv_context *const context = ibv_open_device(list[0]);

	tap_need(context != NULL, "ibv_open_device");
	tap_test(state_of(context) == IBV_PORT_ACTIVE, "without objects the port is active");
	struct ibv_pd *const pd = ibv_alloc_pd(context);

	tap_need(pd != NULL, "ibv_alloc_pd");
	tap_test(state_of(context) == IBV_PORT_ACTIVE, "with a PD the port is active");
	tap_test(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0, "all of it goes again");
	ibv_free_device_list(list);
	return tap_end();
}
