/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: attaching UD QPs to a group and detaching them. The GID identifies the group.
 * The argument `lid` is used only on InfiniBand links, so it is ignored.
 */

#include <errno.h>

#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

int
uroce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	const int ret = uroce_vqp_check(qp);

	(void)lid;
	if (ret != 0)
		return uroce_errno_ret(ret);
	if (gid == NULL || qp->qp_type != IBV_QPT_UD)
		return uroce_fail(EINVAL);
	return uroce_errno_ret(uroce_dev_attach_mcast(uroce_vcontext_dev(qp->context),
						      &uroce_vqp(qp)->wqp, gid->raw));
}

int
uroce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	const int ret = uroce_vqp_check(qp);

	(void)lid;
	if (ret != 0)
		return uroce_errno_ret(ret);
	if (gid == NULL || qp->qp_type != IBV_QPT_UD)
		return uroce_fail(EINVAL);
	return uroce_errno_ret(uroce_dev_detach_mcast(uroce_vcontext_dev(qp->context),
						      &uroce_vqp(qp)->wqp, gid->raw));
}
