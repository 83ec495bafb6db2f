/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What uroced is told of our QPs: which peer each is connected to [mux/binding.h]. The table has as many slots as our book
 * of numbers (qpn.c), so that no two of our QPs have the same one.
 *
 * A child that was forked has no part in the area: there nothing is told. The lock is for the moment in which the table's
 * memory becomes another one.
 */

#include "datapath/mux_client.h"
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
uroce_mux_client_bind(struct uroce_mux_client *client, const struct uroce_qpc *qpc)
{
	const struct uroce_binding binding = {
		.qpn = qpc->qpn,
		.dest_qpn = qpc->dest_qpn,
		.where = uroce_path_is_local(&qpc->path) ? UROCE_BINDING_LOCAL
							 : UROCE_BINDING_REMOTE,
	};

	if (!is_connected(qpc)) {
		uroce_mux_client_unbind(client, qpc->qpn);
	} else if (client->shm.mem) {
		pthread_mutex_lock(&client->binding_lock);
		uroce_binding_set(&client->shm, &binding);
		pthread_mutex_unlock(&client->binding_lock);
	}
}

void
uroce_mux_client_unbind(struct uroce_mux_client *client, uint32_t qpn)
{
	if (!client->shm.mem)
		return;
	pthread_mutex_lock(&client->binding_lock);
	uroce_binding_clear(&client->shm, qpn);
	pthread_mutex_unlock(&client->binding_lock);
}

int
uroce_mux_client_renew_bindings(struct uroce_mux_client *client, const struct uroce_shm *fresh)
{
	int ret;

	pthread_mutex_lock(&client->binding_lock);
	ret = uroce_shm_renew_bindings(&client->shm, fresh);
	pthread_mutex_unlock(&client->binding_lock);
	return ret;
}
