/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows. Creating and freeing a window are control calls. A window is bound by a request
 * on a send queue, which the worker of the QP executes. For windows of type 1 uroce_bind_mw()
 * chooses the new key and posts this request.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "mem/mw.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/region.h"
#include "verbs/uroce.h"

static struct ibv_mw *
refuse_mw(int err)
{
	errno = err;
	return NULL;
}

static int
add_window(struct uroce_dev *dev, enum ibv_mw_type type, uint32_t pdn, uint32_t *rkey)
{
	pthread_mutex_lock(&dev->lock);
	const int ret =
		uroce_mw_add(dev->mrs, type == IBV_MW_TYPE_1 ? UROCE_MW_1 : UROCE_MW_2B, pdn, rkey);

	pthread_mutex_unlock(&dev->lock);
	return ret;
}

struct ibv_mw *
uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct uroce_vmw *mw;
	uint32_t rkey;
	int ret = uroce_vpd_check(pd);

	if (ret != 0)
		return refuse_mw(-ret);
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return refuse_mw(EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return NULL;
	ret = add_window(uroce_vcontext_dev(pd->context), type, uroce_vpd(pd)->pdn, &rkey);
	if (ret != 0) {
		free(mw);
		return refuse_mw(-ret);
	}
	mw->ibv = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = rkey,
		.handle = rkey,
		.type = type,
	};
	uroce_vmw_begin(mw);
	uroce_users_add(pd->context, &uroce_vpd(pd)->nb_users);
	return &mw->ibv;
}

/*
 * Remove a memory window from the device's table of memory keys. -EBUSY means that a worker
 * executes a bind of this window. That takes a few instructions, so the removal is tried again.
 */
static int
remove_window(struct uroce_dev *dev, uint32_t rkey, uint32_t *last_rkey)
{
	int ret;

	for (;;) {
		pthread_mutex_lock(&dev->lock);
		ret = uroce_mw_remove(dev->mrs, rkey, last_rkey);
		pthread_mutex_unlock(&dev->lock);
		if (ret != -EBUSY)
			return ret;
		sched_yield();
	}
}

int
uroce_dealloc_mw(struct ibv_mw *ibv)
{
	struct uroce_dev *dev;
	uint32_t last_rkey;
	int ret = uroce_vmw_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	dev = uroce_vcontext_dev(ibv->context);
	ret = remove_window(dev, ibv->handle, &last_rkey);
	if (ret != 0)
		return uroce_errno_ret(ret);
	/*
	 * wait until no worker uses the window: a worker that found the window before the removal
	 * may still place data through it
	 */
	uroce_dev_grace(dev);
	pthread_mutex_lock(&dev->lock);
	uroce_mr_free(dev->mrs, last_rkey);
	pthread_mutex_unlock(&dev->lock);

	uroce_users_drop(ibv->context, &uroce_vpd(ibv->pd)->nb_users);
	uroce_vmw_end(uroce_vmw(ibv));
	free(uroce_vmw(ibv));
	return 0;
}

/*
 * Check the arguments of a bind. The inline call ibv_bind_mw() of <infiniband/verbs.h> has the same
 * checks, but a program may call uroce_bind_mw() directly.
 */
static int
check_bind(const struct ibv_qp *qp, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	int ret = uroce_vqp_check_any(qp);

	if (ret == 0)
		ret = uroce_vmw_check(mw);
	if (ret == 0 && info->mr != NULL)
		ret = uroce_vmr_check(info->mr);
	if (ret != 0)
		return ret;
	if (mw->type != IBV_MW_TYPE_1)
		return -EINVAL;
	if (info->mr == NULL && (info->addr != 0 || info->length != 0))
		return -EINVAL;
	if (info->mr != NULL && uroce_vpd(info->mr->pd)->pdn != uroce_vpd(mw->pd)->pdn)
		return -EPERM;
	/* a window cannot be bound to a null region [alloc_null_mr(3), description] */
	if (info->mr != NULL && uroce_vmr(info->mr)->region->kind == UROCE_REGION_NULL)
		return -EINVAL;
	return (info->mw_access_flags & ~(unsigned)(UROCE_MW_RIGHTS | IBV_ACCESS_LOCAL_WRITE)) != 0
		       ? -EINVAL
		       : 0;
}

/*
 * Set the window's rkey, if it is `*expected`.
 * @return false: the window has another rkey, to which `*expected` is set
 */
static bool
swap_rkey(struct ibv_mw *ibv, uint32_t *expected, uint32_t rkey)
{
	return __atomic_compare_exchange_n(&ibv->rkey, expected, rkey, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/*
 * The program may read the new rkey as soon as the bind request is posted, and another thread may
 * poll the request's completion before this call returns. So the rkey of the window is changed
 * before the post, and changed back if the post fails.
 */
int
uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *ibv, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad, wr;
	uint32_t old_rkey, new_rkey;
	int ret;

	if (bind == NULL)
		return uroce_fail(EINVAL);
	ret = check_bind(qp, ibv, &bind->bind_info);
	if (ret != 0)
		return uroce_errno_ret(ret);
	old_rkey = __atomic_load_n(&ibv->rkey, __ATOMIC_RELAXED);
	do
		new_rkey = ibv_inc_rkey(old_rkey);
	while (!swap_rkey(ibv, &old_rkey, new_rkey));
	wr = (struct ibv_send_wr){
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = ibv,
			.rkey = new_rkey,
			.bind_info = bind->bind_info,
		},
	};
	ret = uroce_post_send(qp, &wr, &bad);
	/*
	 * the post failed, so the former rkey is restored, unless another bind has changed the
	 * rkey meanwhile
	 */
	if (ret != 0)
		(void)swap_rkey(ibv, &new_rkey, old_rkey);
	return ret;
}
