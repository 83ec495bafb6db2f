/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC targets: QPs that receive for all XRC SRQs of a domain. A target exists as long as it has a
 * handle, which is a struct uroce_vqp for a program. A handle is made when the target is created,
 * and whenever it is opened by its number. In the older generation of verbs each registration is a
 * handle, too.
 */

#include <errno.h>

#include "datapath/device/hugemem.h"
#include "datapath/device/qpn.h"
#include "verbs/event.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/xrc.h"

static struct uroce_vdevice *
get_xrcd_device(const struct uroce_vxrcd *xrcd)
{
	return uroce_vcontext(xrcd->ibv.context)->device;
}

static struct uroce_vqp *
make_target_handle(struct uroce_vxrcd *xrcd, void *qp_context, bool is_silent)
{
	struct uroce_vqp *const handle = uroce_hugemem_alloc(
		sizeof(*handle), uroce_dev_socket_id(uroce_vcontext_dev(xrcd->ibv.context)));

	if (handle == NULL)
		return NULL;
	handle->xrcd = xrcd;
	handle->is_silent = is_silent;
	handle->ibv.context = xrcd->ibv.context;
	handle->ibv.qp_context = qp_context;
	handle->ibv.qp_type = IBV_QPT_XRC_RECV;
	pthread_mutex_init(&handle->ibv.mutex, NULL);
	pthread_cond_init(&handle->ibv.cond, NULL);
	uroce_users_add(xrcd->ibv.context, &xrcd->nb_users);
	return handle;
}

static void
free_target_handle(struct uroce_vqp *handle)
{
	uroce_users_drop(handle->ibv.context, &handle->xrcd->nb_users);
	pthread_mutex_destroy(&handle->ibv.mutex);
	pthread_cond_destroy(&handle->ibv.cond);
	uroce_vqp_end(handle);
	uroce_hugemem_free(handle);
}

/* Add a handle to the list of its XRC target. The caller holds the device's lock. */
static void
link_handle(struct uroce_vqp *handle, struct uroce_vqp *target)
{
	handle->target = target;
	handle->ibv.qp_num = target->ibv.qp_num;
	handle->ibv.handle = target->ibv.qp_num;
	uroce_vqp_begin(handle);
	handle->ibv.state = uroce_qpc_state_seen(&target->wqp.qpc);
	handle->next = target->handles;
	target->handles = handle;
}

static void
unlink_handle(struct uroce_vqp *handle)
{
	struct uroce_vqp **link = &handle->target->handles;

	while (*link != handle)
		link = &(*link)->next;
	*link = handle->next;
}

/*
 * Destroying a QP takes the device's lock after the QP's number was withdrawn and before its memory
 * is freed (uroce_vevent_forget_qp). So a target that is found under this lock stays until the lock
 * is released. A target without handles is being created or destroyed, and is not found.
 */
struct uroce_vqp *
uroce_target_find(const struct uroce_vxrcd *xrcd, uint32_t qpn)
{
	const struct uroce_dev *const dev = uroce_vcontext_dev(xrcd->ibv.context);
	const struct uroce_worker_qp *const wqp = uroce_qpn_lookup(dev->qpns, qpn);
	struct uroce_vqp *const target = wqp != NULL ? wqp->event_cookie : NULL;

	if (target == NULL || wqp->qpc.type != IBV_QPT_XRC_RECV ||
	    wqp->qpc.xrcd != xrcd->domain->number || target->handles == NULL)
		return NULL;
	return target;
}

int
uroce_target_create(struct uroce_vxrcd *xrcd, void *qp_context, bool is_silent,
		    struct uroce_vqp **out)
{
	const struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV };
	struct uroce_vdevice *const device = get_xrcd_device(xrcd);
	struct uroce_vqp *const handle = make_target_handle(xrcd, qp_context, is_silent);
	struct uroce_vqp *target;
	int ret;

	if (handle == NULL)
		return -ENOMEM;
	ret = uroce_vqp_create(xrcd->ibv.context, &init,
			       &(struct uroce_vqp_conf){ .xrcd = xrcd->domain->number }, &target);
	if (ret != 0) {
		free_target_handle(handle);
		return ret;
	}
	pthread_mutex_lock(&device->lock);
	link_handle(handle, target);
	pthread_mutex_unlock(&device->lock);
	*out = handle;
	return 0;
}

int
uroce_target_open(struct uroce_vxrcd *xrcd, uint32_t qpn, void *qp_context, bool is_silent,
		  struct uroce_vqp **out)
{
	struct uroce_vdevice *const device = get_xrcd_device(xrcd);
	struct uroce_vqp *const handle = make_target_handle(xrcd, qp_context, is_silent);
	struct uroce_vqp *target;

	if (handle == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&device->lock);
	target = uroce_target_find(xrcd, qpn);
	if (target != NULL)
		link_handle(handle, target);
	pthread_mutex_unlock(&device->lock);
	if (target == NULL) {
		free_target_handle(handle);
		return -EINVAL;
	}
	*out = handle;
	return 0;
}

void
uroce_target_close(struct uroce_vqp *handle)
{
	struct uroce_vdevice *const device = get_xrcd_device(handle->xrcd);
	struct uroce_vqp *const target = handle->target;

	pthread_mutex_lock(&device->lock);
	unlink_handle(handle);
	const bool is_last = target->handles == NULL;

	/*
	 * The context by which the target was created may be closed. So the target gets the context
	 * of its last handle.
	 */
	target->ibv.context = handle->ibv.context;
	pthread_mutex_unlock(&device->lock);
	if (is_last)
		/*
		 * uroce_vqp_destroy() cannot fail, because an XRC target is in no multicast group
		 */
		(void)uroce_vqp_destroy(target);
	uroce_vevent_forget_qp(handle);
	free_target_handle(handle);
}

struct ibv_qp *
uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct uroce_vqp *handle = NULL;
	int ret = -EINVAL;

	if (attr != NULL && (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT)) != 0)
		ret = -EOPNOTSUPP;
	else if (context != NULL && attr != NULL && (attr->comp_mask & needed) == needed &&
		 attr->qp_type == IBV_QPT_XRC_RECV && attr->xrcd != NULL &&
		 attr->xrcd->context == context)
		ret = uroce_target_open(
			uroce_vxrcd(attr->xrcd), attr->qp_num,
			attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL, false,
			&handle);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return &handle->ibv;
}
