/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enhanced connection establishment (ECE), by which two NICs of one vendor agree on features beyond
 * the standard. uroce has no such features: its improvements do not change what is on the wire. So
 * all calls are refused.
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
