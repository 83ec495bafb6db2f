/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC targets in the older generation of verbs. A program identifies a target by its number, and
 * registers for the target. A registration is a handle that the program does not see.
 *
 * Each call that takes the number of a target opens a handle while it runs, so that the target is
 * not destroyed meanwhile.
 */

#include <errno.h>

#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/xrc.h"

static int
get_xrc_ret(int ret)
{
	if (ret >= 0)
		return 0;
	errno = -ret;
	return -1;
}

static struct uroce_vxrcd *
vxrcd_of(struct ibv_xrc_domain *d)
{
	return (struct uroce_vxrcd *)d;
}

/*
 * Mark a handle as the registration of its XRCD for the XRC target, unless the XRCD already has
 * one.
 * @return false: the XRCD has a registration already
 */
static bool
set_registration(struct uroce_vqp *handle)
{
	struct uroce_vdevice *const device = uroce_vcontext(handle->ibv.context)->device;
	bool is_new = true;

	pthread_mutex_lock(&device->lock);
	for (struct uroce_vqp *at = handle->target->handles; at != NULL; at = at->next)
		if (at->xrcd == handle->xrcd && at->is_registration)
			is_new = false;
	handle->is_registration = is_new;
	pthread_mutex_unlock(&device->lock);
	return is_new;
}

/*
 * Remove the registration of an XRCD for an XRC target.
 * @return the handle, which the caller must close; NULL: the XRCD has no registration
 */
static struct uroce_vqp *
unset_registration(struct uroce_vxrcd *xrcd, uint32_t qpn)
{
	struct uroce_vdevice *const device = uroce_vcontext(xrcd->ibv.context)->device;
	const struct uroce_vqp *target;
	struct uroce_vqp *found = NULL;

	pthread_mutex_lock(&device->lock);
	target = uroce_target_find(xrcd, qpn);
	for (struct uroce_vqp *at = target != NULL ? target->handles : NULL; at; at = at->next)
		if (at->xrcd == xrcd && at->is_registration)
			found = at;
	if (found != NULL)
		found->is_registration = false;
	pthread_mutex_unlock(&device->lock);
	return found;
}

struct ibv_srq *
uroce_create_xrc_srq(struct ibv_pd *pd, struct ibv_xrc_domain *xrc_domain, struct ibv_cq *xrc_cq,
		     struct ibv_srq_init_attr *srq_init_attr)
{
	struct ibv_srq_init_attr_ex init = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = xrc_cq,
	};
	struct ibv_srq *srq;

	if (pd == NULL || xrc_domain == NULL || srq_init_attr == NULL) {
		errno = EINVAL;
		return NULL;
	}
	init.xrcd = &vxrcd_of(xrc_domain)->ibv;
	init.srq_context = srq_init_attr->srq_context;
	init.attr = srq_init_attr->attr;
	srq = uroce_create_srq_ex(pd->context, &init);
	if (srq != NULL)
		srq_init_attr->attr = init.attr;
	return srq;
}

int
uroce_create_xrc_rcv_qp(struct uroce_xrc_rcv_init_attr *init_attr, uint32_t *xrc_rcv_qpn)
{
	struct uroce_vqp *handle;
	int ret;

	if (init_attr == NULL || xrc_rcv_qpn == NULL || init_attr->xrc_domain == NULL)
		return get_xrc_ret(-EINVAL);
	ret = uroce_target_create(vxrcd_of(init_attr->xrc_domain), init_attr->qp_context, true,
				  &handle);
	if (ret != 0)
		return get_xrc_ret(ret);
	(void)set_registration(handle);
	init_attr->cap = handle->target->cap;
	*xrc_rcv_qpn = handle->ibv.qp_num;
	return 0;
}

int
uroce_modify_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
			struct ibv_qp_attr *attr, int attr_mask)
{
	struct uroce_vqp *handle;
	int ret;

	if (xrc_domain == NULL)
		return get_xrc_ret(-EINVAL);
	ret = uroce_target_open(vxrcd_of(xrc_domain), xrc_qp_num, NULL, true, &handle);
	if (ret != 0)
		return get_xrc_ret(ret);
	ret = -uroce_modify_qp(&handle->ibv, attr, attr_mask);
	uroce_target_close(handle);
	return get_xrc_ret(ret);
}

int
uroce_query_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
		       struct ibv_qp_attr *attr, int attr_mask,
		       struct uroce_xrc_rcv_init_attr *init_attr)
{
	struct ibv_qp_init_attr init;
	struct uroce_vqp *handle;
	int ret;

	if (xrc_domain == NULL || init_attr == NULL)
		return get_xrc_ret(-EINVAL);
	ret = uroce_target_open(vxrcd_of(xrc_domain), xrc_qp_num, NULL, true, &handle);
	if (ret != 0)
		return get_xrc_ret(ret);
	ret = -uroce_query_qp(&handle->ibv, attr, attr_mask, &init);
	uroce_target_close(handle);
	if (ret == 0)
		*init_attr = (struct uroce_xrc_rcv_init_attr){
			.qp_type = IBV_QPT_XRC_RECV,
			.xrc_domain = xrc_domain,
		};
	return get_xrc_ret(ret);
}

int
uroce_reg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num)
{
	struct uroce_vqp *handle;
	int ret;

	if (xrc_domain == NULL)
		return get_xrc_ret(-EINVAL);
	ret = uroce_target_open(vxrcd_of(xrc_domain), xrc_qp_num, NULL, true, &handle);
	if (ret == 0 && !set_registration(handle))
		uroce_target_close(handle);
	return get_xrc_ret(ret);
}

int
uroce_unreg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num)
{
	struct uroce_vqp *handle;

	if (xrc_domain == NULL)
		return get_xrc_ret(-EINVAL);
	handle = unset_registration(vxrcd_of(xrc_domain), xrc_qp_num);
	if (handle == NULL)
		return get_xrc_ret(-EINVAL);
	uroce_target_close(handle);
	return 0;
}
