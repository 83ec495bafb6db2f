/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying the shared receive queue of an id. */

#include <errno.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/id_cq.h"
#include "verbs/uroce.h"
#include "verbs/uroce_cm.h"

/* Fill in attributes of an XRC SRQ that the program has left out: the XRC domain and the CQ. */
static int
fill_xrc_part(struct uroce_vcm_id *id, struct ibv_srq_init_attr_ex *init)
{
	int ret = 0;

	if (!(init->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || init->xrcd == NULL) {
		init->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
		init->xrcd = uroce_vcm_device_xrcd(id->device);
	}
	if (init->xrcd == NULL)
		return -errno;
	if (!(init->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || init->cq == NULL) {
		init->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
		ret = uroce_vcm_id_make_recv_cq(id, init->attr.max_wr);
		init->cq = id->cm.recv_cq;
	}
	return ret;
}

static int
create_srq_of_id(struct uroce_vcm_id *id, struct ibv_srq_init_attr_ex *init_attr)
{
	struct ibv_srq_init_attr_ex init = *init_attr;
	int ret = 0;

	if (id->device == NULL || id->cm.srq != NULL)
		return -EINVAL;
	if (!(init.comp_mask & IBV_SRQ_INIT_ATTR_PD) || init.pd == NULL) {
		init.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		init.pd = id->cm.pd;
	}
	if (init.pd->context != id->cm.verbs)
		return -EINVAL;
	if (init.comp_mask & IBV_SRQ_INIT_ATTR_TYPE && init.srq_type == IBV_SRQT_XRC)
		ret = fill_xrc_part(id, &init);
	if (ret == 0) {
		id->cm.srq = uroce_create_srq_ex(id->cm.verbs, &init);
		ret = id->cm.srq != NULL ? 0 : -errno;
	}
	if (ret != 0) {
		uroce_vcm_id_free_cqs(id);
		return ret;
	}
	id->cm.pd = init.pd;
	*init_attr = init;
	return 0;
}

int
uroce_cm_create_srq_ex(struct rdma_cm_id *cm, struct ibv_srq_init_attr_ex *attr)
{
	if (cm == NULL || attr == NULL)
		return uroce_vcm_ret(-EINVAL);
	return uroce_vcm_ret(create_srq_of_id(uroce_vcm_id(cm), attr));
}

int
uroce_cm_create_srq(struct rdma_cm_id *cm, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex init = { .comp_mask = pd != NULL ? IBV_SRQ_INIT_ATTR_PD : 0,
					     .pd = pd };
	int ret;

	if (cm == NULL || attr == NULL)
		return uroce_vcm_ret(-EINVAL);
	init.srq_context = attr->srq_context;
	init.attr = attr->attr;
	ret = create_srq_of_id(uroce_vcm_id(cm), &init);
	if (ret == 0)
		attr->attr = init.attr;
	return uroce_vcm_ret(ret);
}

void
uroce_cm_destroy_srq(struct rdma_cm_id *cm)
{
	if (cm == NULL || cm->srq == NULL || uroce_destroy_srq(cm->srq) != 0)
		return;
	cm->srq = NULL;
	uroce_vcm_id_free_cqs(uroce_vcm_id(cm));
}
