/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What uroced is told of our QPs: which peer each is connected to [mux/binding.h]. The table has as many slots as our book
 * of numbers (qpn.c), so that no two of our QPs have the same one.
 *
 * A child that was forked has no part in the area: there nothing is told. The lock is for the moment in which the table's
 * memory becomes another one.
 */

#include "datapath/attach.h"
#include "mux/binding.h"
#include "transport/qpc.h"
#include "wire/build.h"

/* Whether a QP has a peer, and hears it. */
static bool
is_connected(const struct uroce_qpc *qpc)
{
	const enum ibv_qp_state state = uroce_qpc_state_seen(qpc);

	return qpc->type != IBV_QPT_UD && (state == IBV_QPS_RTR || state == IBV_QPS_RTS ||
					   state == IBV_QPS_SQD || state == IBV_QPS_SQE);
}

void
uroce_attach_bind(struct uroce_attach *attach, const struct uroce_qpc *qpc)
{
	const struct uroce_binding binding = {
		.qpn = qpc->qpn,
		.dest_qpn = qpc->dest_qpn,
		.where = uroce_path_is_local(&qpc->path) ? UROCE_BINDING_LOCAL
							 : UROCE_BINDING_REMOTE,
	};

	if (!is_connected(qpc)) {
		uroce_attach_unbind(attach, qpc->qpn);
	} else if (attach->area.mem) {
		pthread_mutex_lock(&attach->binding_lock);
		uroce_binding_set(&attach->area, &binding);
		pthread_mutex_unlock(&attach->binding_lock);
	}
}

void
uroce_attach_unbind(struct uroce_attach *attach, uint32_t qpn)
{
	if (!attach->area.mem)
		return;
	pthread_mutex_lock(&attach->binding_lock);
	uroce_binding_clear(&attach->area, qpn);
	pthread_mutex_unlock(&attach->binding_lock);
}

int
uroce_attach_renew_bindings(struct uroce_attach *attach, const struct uroce_area *fresh)
{
	int ret;

	pthread_mutex_lock(&attach->binding_lock);
	ret = uroce_area_renew_bindings(&attach->area, fresh);
	pthread_mutex_unlock(&attach->binding_lock);
	return ret;
}
