/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CQ of the maximum length that the device reports can be created. Programs create such CQs. Run
 * under uroce-run.
 */

#include <infiniband/verbs.h>

#include "tap.h"

int
main(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	struct ibv_device_attr before, after;

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	struct ibv_context *const context = ibv_open_device(list[0]);

	tap_need(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	tap_need(ibv_query_device(context, &before) == 0, "ibv_query_device");
	struct ibv_cq *const cq = ibv_create_cq(context, before.max_cqe, NULL, NULL, 0);

	tap_test(cq != NULL && cq->cqe >= before.max_cqe, "a CQ of max_cqe, which is %d",
		 before.max_cqe);
	tap_test(ibv_query_device(context, &after) == 0 && after.max_cqe == before.max_cqe,
		 "max_cqe is the same with an object");
	tap_test(cq != NULL && ibv_destroy_cq(cq) == 0 && ibv_close_device(context) == 0,
		 "all of it goes again");
	return tap_end();
}
