/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocating and freeing ids of connection management. */

#include "verbs/cm/id_new.h"

#include <stdlib.h>

#include "verbs/cm/cm_device.h"

struct uroce_vcm_id *
uroce_vcm_id_new(struct uroce_vcm_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type)
{
	struct uroce_vcm_id *const id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->cm.channel = &channel->cm;
	id->cm.context = context;
	id->cm.ps = ps;
	id->cm.qp_type = qp_type;
	channel->nb_ids++;
	return id;
}

void
uroce_vcm_id_free(struct uroce_vcm_id *id)
{
	uroce_vcm_channel(id->cm.channel)->nb_ids--;
	free(id->qp_init);
	free(id);
}

void
uroce_vcm_id_set_device(struct uroce_vcm_id *id, struct uroce_vcm_device *device)
{
	id->device = device;
	id->cm.verbs = device->context;
	id->cm.pd = device->pd;
	id->cm.port_num = 1;
}
