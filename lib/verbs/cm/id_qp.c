/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and destroying the QP of an id. */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_group.h"
#include "verbs/cm/cm_qp_state.h"
#include "verbs/cm/id_cq.h"
#include "verbs/uroce.h"
#include "verbs/uroce_cm.h"

/*
 * Fill in attributes of the QP that the program has left out: the PD or the XRC domain, and the
 * SRQ.
 */
static int
fill_defaults(struct uroce_vcm_id *id, struct ibv_qp_init_attr_ex *init)
{
	if (init->qp_type == IBV_QPT_XRC_RECV) {
		if (!(init->comp_mask & IBV_QP_INIT_ATTR_XRCD) || init->xrcd == NULL) {
			init->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
			init->xrcd = uroce_vcm_device_xrcd(id->device);
		}
		return init->xrcd != NULL ? 0 : -errno;
	}
	if (!(init->comp_mask & IBV_QP_INIT_ATTR_PD) || init->pd == NULL) {
		init->comp_mask |= IBV_QP_INIT_ATTR_PD;
		init->pd = id->cm.srq != NULL ? id->cm.srq->pd : id->cm.pd;
	}
	if (init->pd->context != id->cm.verbs)
		return -EINVAL;
	if (init->srq == NULL && init->qp_type != IBV_QPT_XRC_SEND)
		init->srq = id->cm.srq;
	return 0;
}

/* Make the CQs that the QP needs and that the program has left out. */
static int
fill_cqs(struct uroce_vcm_id *id, struct ibv_qp_init_attr_ex *init)
{
	int ret = 0;

	if (init->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (init->send_cq == NULL) {
		ret = uroce_vcm_id_make_send_cq(id, init->cap.max_send_wr);
		init->send_cq = id->cm.send_cq;
	}
	if (ret == 0 && init->recv_cq == NULL && init->qp_type != IBV_QPT_XRC_SEND) {
		ret = uroce_vcm_id_make_recv_cq(id, init->cap.max_recv_wr);
		init->recv_cq = id->cm.recv_cq;
	}
	return ret;
}

static int
make_qp(struct uroce_vcm_id *id, struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp *const qp = uroce_create_qp_ex(id->cm.verbs, init);
	int ret;

	if (qp == NULL)
		return -errno;
	ret = uroce_vcm_qp_begin(id, qp);
	if (ret != 0) {
		(void)uroce_destroy_qp(qp);
		return ret;
	}
	id->cm.qp = qp;
	if (init->comp_mask & IBV_QP_INIT_ATTR_PD)
		id->cm.pd = init->pd;
	return 0;
}

/* Create the QP of an id. A call that fails changes neither the id nor `init_attr`. */
static int
create_qp_of_id(struct uroce_vcm_id *id, struct ibv_qp_init_attr_ex *init_attr)
{
	struct ibv_qp_init_attr_ex init = *init_attr;
	int ret;

	if (id->device == NULL || id->cm.qp != NULL)
		return -EINVAL;
	ret = fill_defaults(id, &init);
	if (ret == 0)
		ret = fill_cqs(id, &init);
	if (ret == 0)
		ret = make_qp(id, &init);
	if (ret != 0)
		uroce_vcm_id_free_cqs(id);
	else
		*init_attr = init;
	return ret;
}

int
uroce_cm_create_qp_ex(struct rdma_cm_id *cm, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	if (cm == NULL || qp_init_attr == NULL)
		return uroce_vcm_ret(-EINVAL);
	return uroce_vcm_ret(create_qp_of_id(uroce_vcm_id(cm), qp_init_attr));
}

/* uroce_cm_create_qp() copies a struct ibv_qp_init_attr to the beginning of the extended struct. */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		       offsetof(struct ibv_qp_init_attr, sq_sig_all),
	       "both structs begin with the same members");

int
uroce_cm_create_qp(struct rdma_cm_id *cm, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	const size_t len = offsetof(struct ibv_qp_init_attr, sq_sig_all) + sizeof(int);
	struct ibv_qp_init_attr_ex init = { 0 };
	int ret;

	if (cm == NULL || qp_init_attr == NULL)
		return uroce_vcm_ret(-EINVAL);
	memcpy(&init, qp_init_attr, len);
	if (pd != NULL) {
		init.comp_mask = IBV_QP_INIT_ATTR_PD;
		init.pd = pd;
	}
	ret = create_qp_of_id(uroce_vcm_id(cm), &init);
	if (ret == 0)
		memcpy(qp_init_attr, &init, len);
	return uroce_vcm_ret(ret);
}

void
uroce_cm_destroy_qp(struct rdma_cm_id *cm)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);

	if (cm == NULL || cm->qp == NULL)
		return;
	uroce_vcm_group_detach_all(id);
	if (uroce_destroy_qp(cm->qp) != 0)
		return;
	cm->qp = NULL;
	uroce_vcm_id_free_cqs(id);
}
