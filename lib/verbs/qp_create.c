/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that create a queue pair. For the type IBV_QPT_XRC_RECV they create an XRC target, and
 * return a handle of it (xrc.h). For all other types they return the QP itself.
 */

#include <errno.h>

#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"
#include "verbs/xrc.h"

static struct ibv_qp *
create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init_attr,
	  const struct uroce_vqp_conf *conf)
{
	struct uroce_vqp *qp = NULL;
	int ret = -EINVAL;

	if (context != NULL && init_attr != NULL)
		ret = uroce_vqp_check_init(context, init_attr);
	if (ret == 0 && init_attr->qp_type == IBV_QPT_XRC_RECV)
		ret = uroce_target_create(uroce_vxrcd(init_attr->xrcd), init_attr->qp_context,
					  false, &qp);
	else if (ret == 0)
		ret = uroce_vqp_create(context, init_attr, conf, &qp);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	/*
	 * An XRC target does not use a PD. But its field `pd` has the PD that the program gave, as
	 * with rdma-core, because programs read this field: librdmacm creates the SRQ of an id with
	 * this PD.
	 */
	if (init_attr->comp_mask & IBV_QP_INIT_ATTR_PD)
		qp->ibv.pd = init_attr->pd;
	init_attr->cap = qp->cap;
	return &qp->ibv;
}

struct ibv_qp *
uroce_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init_attr)
{
	return create_qp(context, init_attr, &(struct uroce_vqp_conf){ 0 });
}

/*
 * Check the mkey attributes `dv` of a new QP, and store them in `conf`.
 * @return 0, or -errno
 */
static int
check_dv(const struct ibv_qp_init_attr_ex *init, const struct uroce_dv_qp_init_attr *dv,
	 struct uroce_vqp_conf *conf)
{
	const uint64_t known_masks = UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
				     UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	const uint64_t known_ops = UROCE_DV_QP_EX_WITH_MR_INTERLEAVED |
				   UROCE_DV_QP_EX_WITH_MR_LIST | UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE;
	const bool has_flags = dv->comp_mask & UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	const bool has_ops = dv->comp_mask & UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	const uint32_t flags = has_flags ? dv->create_flags : 0;
	const uint64_t ops = has_ops ? dv->send_ops_flags : 0;

	if ((dv->comp_mask & ~known_masks) != 0 || (ops & ~known_ops) != 0 ||
	    (flags & ~(uint32_t)UROCE_DV_QP_CREATE_SIG_PIPELINING) != 0)
		return -EOPNOTSUPP;
	if ((flags != 0 || ops != 0) && init->qp_type != IBV_QPT_RC)
		return -EOPNOTSUPP;
	if (ops != 0 && !(init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return -EINVAL;
	*conf = (struct uroce_vqp_conf){ .has_mkeys = ops != 0, .is_pipelined = flags != 0 };
	return 0;
}

struct ibv_qp *
uroce_dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
		   struct uroce_dv_qp_init_attr *dv_attr)
{
	struct uroce_vqp_conf conf;
	int ret = -EINVAL;

	if (qp_attr != NULL && dv_attr != NULL)
		ret = check_dv(qp_attr, dv_attr, &conf);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return create_qp(context, qp_attr, &conf);
}

struct ibv_qp *
uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr)
{
	struct ibv_qp_init_attr_ex init = { .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd };
	struct ibv_qp *qp;

	if (pd == NULL || init_attr == NULL) {
		errno = EINVAL;
		return NULL;
	}
	init.qp_context = init_attr->qp_context;
	init.send_cq = init_attr->send_cq;
	init.recv_cq = init_attr->recv_cq;
	init.srq = init_attr->srq;
	init.cap = init_attr->cap;
	init.qp_type = init_attr->qp_type;
	init.sq_sig_all = init_attr->sq_sig_all;
	qp = uroce_create_qp_ex(pd->context, &init);
	if (qp != NULL)
		init_attr->cap = init.cap;
	return qp;
}
