/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues. After a resize QPs may still use requests in the old memory. So the old
 * memory stays until a later resize finds that no QP uses any of it, or the SRQ is destroyed.
 */

#include <errno.h>
#include <rte_common.h>

#include "datapath/device/event.h"
#include "datapath/device/hugemem.h"
#include "mem/sge.h"
#include "verbs/errno_ret.h"
#include "verbs/event.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/xrc.h"

static bool
is_attr_legal(const struct ibv_srq_attr *attr)
{
	return attr->max_wr <= UROCE_MAX_SRQ_WR && attr->max_sge <= UROCE_SGE_MAX;
}

static void *
alloc_slots(const struct uroce_dev *dev, uint32_t max_wr, uint32_t max_sge)
{
	return uroce_hugemem_alloc(uroce_srq_memsize(max_wr, max_sge), uroce_dev_socket_id(dev));
}

static struct uroce_vsrq *
alloc_srq(const struct uroce_dev *dev, const struct ibv_srq_attr *attr)
{
	struct uroce_vsrq *const srq = uroce_hugemem_alloc(sizeof(*srq), uroce_dev_socket_id(dev));

	if (srq == NULL)
		return NULL;
	srq->mem = alloc_slots(dev, attr->max_wr, attr->max_sge);
	if (srq->mem != NULL)
		return srq;
	uroce_hugemem_free(srq);
	return NULL;
}

static bool
is_type_xrc(const struct ibv_srq_init_attr_ex *init)
{
	return (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && init->srq_type == IBV_SRQT_XRC;
}

static void
fill_srq(struct uroce_vsrq *srq, const struct ibv_srq_init_attr_ex *init)
{
	const bool is_xrc = is_type_xrc(init);
	const struct uroce_srq_conf conf = {
		.max_wr = init->attr.max_wr,
		.max_sge = init->attr.max_sge,
		.pdn = uroce_vpd(init->pd)->pdn,
		.xrcd = is_xrc ? uroce_vxrcd(init->xrcd)->domain->number : 0,
		.cq = is_xrc ? &uroce_vcq(init->cq)->queue : NULL,
		.cookie = srq,
	};

	uroce_srq_init(&srq->wsrq.srq, srq->mem, &conf);
	srq->ibv.context = init->pd->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = init->pd;
	if (is_xrc) {
		srq->cq = uroce_vcq(init->cq);
		srq->xrcd = uroce_vxrcd(init->xrcd);
	}
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	uroce_vsrq_begin(srq);
}

static void
free_slots(struct uroce_vsrq *srq)
{
	while (srq->old_mem != NULL) {
		void *const old = srq->old_mem;

		srq->old_mem = *(void **)old;
		uroce_hugemem_free(old);
	}
	uroce_hugemem_free(srq->mem);
}

static void
free_srq(struct uroce_vsrq *srq)
{
	pthread_mutex_destroy(&srq->ibv.mutex);
	pthread_cond_destroy(&srq->ibv.cond);
	uroce_vsrq_end(srq);
	free_slots(srq);
	uroce_hugemem_free(srq);
}

/*
 * Apply `count` to the PD of an SRQ, and for type XRC to its XRC domain and CQ. With
 * uroce_users_add() the SRQ is counted as their user, with uroce_users_drop() it is subtracted.
 */
static void
count_srq_uses(struct uroce_vsrq *srq, void (*count)(struct ibv_context *, unsigned *))
{
	count(srq->ibv.context, &uroce_vpd(srq->ibv.pd)->nb_users);
	if (srq->xrcd == NULL)
		return;
	count(srq->ibv.context, &srq->xrcd->nb_users);
	count(srq->ibv.context, &srq->cq->nb_users);
}

static int
create_srq(struct ibv_srq_init_attr_ex *init, struct uroce_vsrq **out)
{
	struct uroce_vdevice *const device = uroce_vcontext(init->pd->context)->device;
	struct uroce_vsrq *srq;

	init->attr.max_wr = RTE_MAX(init->attr.max_wr, 1u);
	init->attr.max_sge = RTE_MAX(init->attr.max_sge, 1u);
	if (uroce_vdevice_count(device, &device->nb_srqs, UROCE_MAX_SRQS) != 0)
		return -ENOMEM;
	srq = alloc_srq(device->dev, &init->attr);
	if (srq == NULL) {
		uroce_vdevice_uncount(device, &device->nb_srqs);
		return -ENOMEM;
	}
	fill_srq(srq, init);
	if (srq->xrcd != NULL && uroce_dev_add_srq(device->dev, &srq->wsrq) != 0) {
		free_srq(srq);
		uroce_vdevice_uncount(device, &device->nb_srqs);
		return -ENOMEM;
	}
	count_srq_uses(srq, uroce_users_add);
	*out = srq;
	return 0;
}

static int
check_srq_init(const struct ibv_context *context, const struct ibv_srq_init_attr_ex *init)
{
	const uint32_t of_xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | of_xrc;
	const bool is_xrc = is_type_xrc(init);

	if ((init->comp_mask & ~known) != 0)
		return -EOPNOTSUPP;
	if ((init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && init->srq_type != IBV_SRQT_BASIC &&
	    !is_xrc)
		return -EOPNOTSUPP;
	if (is_xrc &&
	    ((init->comp_mask & of_xrc) != of_xrc || init->xrcd == NULL || init->cq == NULL ||
	     init->xrcd->context != context || init->cq->context != context))
		return -EINVAL;
	if (!(init->comp_mask & IBV_SRQ_INIT_ATTR_PD) || init->pd == NULL ||
	    init->pd->context != context || !is_attr_legal(&init->attr))
		return -EINVAL;
	if (is_xrc && uroce_vcq_check(init->cq) != 0)
		return -ENOENT;
	return uroce_vpd_check(init->pd);
}

struct ibv_srq *
uroce_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init_attr)
{
	struct uroce_vsrq *srq = NULL;
	int ret = -EINVAL;

	if (context != NULL && init_attr != NULL)
		ret = check_srq_init(context, init_attr);
	if (ret == 0) {
		struct ibv_srq_init_attr_ex init = *init_attr;

		ret = create_srq(&init, &srq);
		if (ret == 0)
			init_attr->attr = init.attr;
	}
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return &srq->ibv;
}

struct ibv_srq *
uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr)
{
	struct ibv_srq_init_attr_ex init = { .comp_mask = IBV_SRQ_INIT_ATTR_PD, .pd = pd };
	struct ibv_srq *srq;

	if (pd == NULL || init_attr == NULL) {
		errno = EINVAL;
		return NULL;
	}
	init.srq_context = init_attr->srq_context;
	init.attr = init_attr->attr;
	srq = uroce_create_srq_ex(pd->context, &init);
	if (srq != NULL)
		init_attr->attr = init.attr;
	return srq;
}

/*
 * Whether the attributes that the SRQ would have after a change are legal. The caller holds
 * ibv.mutex.
 */
static bool
is_change_legal(struct uroce_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	const uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;
	const uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : uroce_srq_limit(srq);

	return max_wr >= 1 && max_wr <= UROCE_MAX_SRQ_WR && limit <= max_wr;
}

static int
resize_srq(struct uroce_vsrq *srq, uint32_t max_wr)
{
	const struct uroce_dev *const dev = uroce_vcontext_dev(srq->ibv.context);
	void *const mem = alloc_slots(dev, max_wr, srq->wsrq.srq.max_sge);

	if (mem == NULL)
		return -ENOMEM;
	if (uroce_srq_resize(&srq->wsrq.srq, mem, max_wr) != 0) {
		uroce_hugemem_free(mem);
		return -EINVAL;
	}
	/*
	 * the old memory is not used as a queue any more, so its first word can hold the link to
	 * the next old block
	 */
	*(void **)srq->mem = srq->old_mem;
	srq->old_mem = srq->mem;
	srq->mem = NULL;
	if (!uroce_srq_has_stale(&srq->wsrq.srq))
		free_slots(srq);
	srq->mem = mem;
	return 0;
}

static void
arm_limit(struct uroce_vsrq *srq, uint32_t limit)
{
	struct uroce_dev *const dev = uroce_vcontext_dev(srq->ibv.context);

	if (uroce_srq_arm(&srq->wsrq.srq, limit))
		uroce_event_push(dev->events, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
}

int
uroce_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int attr_mask)
{
	struct uroce_vsrq *const srq = uroce_vsrq(ibv);
	int ret = uroce_vsrq_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (attr == NULL || (attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return uroce_fail(EINVAL);
	pthread_mutex_lock(&ibv->mutex);
	if (!is_change_legal(&srq->wsrq.srq, attr, attr_mask))
		ret = -EINVAL;
	else if (attr_mask & IBV_SRQ_MAX_WR)
		ret = resize_srq(srq, attr->max_wr);
	if (ret == 0 && (attr_mask & IBV_SRQ_LIMIT))
		arm_limit(srq, attr->srq_limit);
	pthread_mutex_unlock(&ibv->mutex);
	return uroce_errno_ret(ret);
}

int
uroce_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	const int ret = attr != NULL ? uroce_vsrq_check(ibv) : -EINVAL;
	struct uroce_srq *srq;

	if (ret != 0)
		return uroce_errno_ret(ret);
	srq = &uroce_vsrq(ibv)->wsrq.srq;
	pthread_mutex_lock(&ibv->mutex);
	*attr = (struct ibv_srq_attr){
		.max_wr = srq->max_wr,
		.max_sge = srq->max_sge,
		.srq_limit = uroce_srq_limit(srq),
	};
	pthread_mutex_unlock(&ibv->mutex);
	return 0;
}

int
uroce_get_srq_num(struct ibv_srq *ibv, uint32_t *srq_num)
{
	const int ret = uroce_vsrq_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (srq_num == NULL || uroce_vsrq(ibv)->xrcd == NULL)
		return uroce_fail(EINVAL);
	*srq_num = uroce_vsrq(ibv)->wsrq.srq.srqn;
	return 0;
}

int
uroce_destroy_srq(struct ibv_srq *ibv)
{
	struct uroce_vsrq *const srq = uroce_vsrq(ibv);
	const int ret = uroce_vsrq_check(ibv);
	struct uroce_vdevice *device;

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (uroce_users_any(ibv->context, &srq->nb_users))
		return uroce_fail(EBUSY);
	device = uroce_vcontext(ibv->context)->device;
	if (srq->xrcd != NULL)
		uroce_dev_remove_srq(device->dev, &srq->wsrq);
	uroce_event_purge(device->dev->events, srq);
	uroce_vevent_forget_srq(srq);
	uroce_vdevice_uncount(device, &device->nb_srqs);
	count_srq_uses(srq, uroce_users_drop);
	free_srq(srq);
	return 0;
}
