/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of one QP: a program chooses the algorithm before the QP has a path, and
 * reads the QP's rate and counters at any time. The QP's worker executes both calls, because the
 * worker alone may access the QP context.
 */

#include <errno.h>

#include "transport/congestion/cc.h"
#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/uroce_dv.h"

struct choice {
	struct uroce_qpc *qpc;
	const struct uroce_cc_conf *conf;
};

static int
apply_choice(void *arg)
{
	const struct choice *const choice = arg;

	return uroce_qpc_set_cc(choice->qpc, choice->conf);
}

int
uroce_qp_set_cc(struct ibv_qp *ibv, const char *name)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);
	const struct uroce_cc_ops *ops;

	if (ibv == NULL || ibv->context == NULL || name == NULL || !uroce_cc_find(name, &ops))
		return uroce_fail(EINVAL);
	struct choice choice = {
		.qpc = &qp->wqp.qpc,
		.conf = ops != NULL ? &uroce_vcontext_dev(ibv->context)->cc : NULL,
	};

	return uroce_errno_ret(uroce_worker_call(qp->wqp.worker, &qp->wqp, apply_choice, &choice));
}

struct look {
	const struct uroce_qpc *qpc;
	struct uroce_dv_cc *out;
};

static int
read_cc(void *arg)
{
	const struct look *const look = arg;
	const struct uroce_cc *const cc = &look->qpc->cc;
	const struct uroce_qpc_stats *const stats = &look->qpc->stats;

	*look->out = (struct uroce_dv_cc){
		.name = uroce_cc_is_reacting(cc) ? cc->conf->ops->name : "none",
		.rate_bps = cc->is_limited ? cc->rate_bps : 0,
		.target_bps = cc->is_limited ? cc->target_bps : 0,
		.ce_marked = stats->ce_marked,
		.cnps_sent = stats->cnps_sent,
		.cnps_handled = stats->cnps_handled,
	};
	return 0;
}

int
uroce_qp_query_cc(struct ibv_qp *ibv, struct uroce_dv_cc *out)
{
	struct uroce_vqp *const qp = uroce_vqp_behind(ibv);

	if (ibv == NULL || ibv->context == NULL || out == NULL)
		return uroce_fail(EINVAL);
	struct look look = { .qpc = &qp->wqp.qpc, .out = out };

	return uroce_errno_ret(uroce_worker_qp_query(&qp->wqp, read_cc, &look));
}
