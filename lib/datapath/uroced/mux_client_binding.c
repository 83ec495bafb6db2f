/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bindings: the peers of this client's QPs, which uroced reads [mux/binding.h]. The table of
 * bindings has as many slots as the table of QPNs (qpn.c), so that no two QPs use the same slot.
 *
 * A child of fork() does not have the shared memory, and writes no bindings. `binding_lock`
 * prevents that a binding is written while the memory of the table is replaced.
 */

#include "datapath/uroced/mux_client.h"
#include "mux/binding.h"
#include "transport/qpc.h"
#include "wire/build.h"

/* Whether a QP has a peer, and is in a state in which it receives packets of the peer. */
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
