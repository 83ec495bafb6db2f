/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enhanced connection establishment: what two NICs of one vendor agree on beyond the standard. We have
 * nothing of the kind: what we do better is seen on the wire by nobody.
 */

#include <errno.h>

#include "verbs/errno_ret.h"
#include "verbs/uroce.h"

static int
refuse_ece(const struct ibv_qp *qp, const struct ibv_ece *ece)
{
	return uroce_fail(qp == NULL || ece == NULL ? EINVAL : EOPNOTSUPP);
}

int
uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return refuse_ece(qp, ece);
}

int
uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return refuse_ece(qp, ece);
}
