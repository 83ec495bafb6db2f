/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that opens and uses each device that it finds, so that EAL starts, and prints the
 * number of devices.
 */

#include <stdio.h>
#include <infiniband/verbs.h>

int
main(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	unsigned nb = 0;

	for (; list != NULL && list[nb] != NULL; nb++) {
		struct ibv_context *const context = ibv_open_device(list[nb]);
		struct ibv_pd *const pd = context != NULL ? ibv_alloc_pd(context) : NULL;

		if (pd == NULL)
			return 1;
		ibv_dealloc_pd(pd);
		ibv_close_device(context);
	}
	ibv_free_device_list(list);
	printf("%u devices\n", nb);
	return 0;
}
