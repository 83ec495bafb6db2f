/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects the queue pairs of an endpoint by rdma_cm, one after the other. */

#include "cm_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

static int
not_set(const char *what, int error)
{
	fprintf(stderr, "uroce-perf: queue pair of rdma_cm: %s: %s\n", what, strerror(error));
	return -1;
}

/*
 * Set the RNR timer of a QP. Otherwise the QP would have the longest RNR timer, which rdma_cm sets,
 * and a test would measure mainly this time.
 */
static int
set_rnr_timer(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .min_rnr_timer = ENDPOINT_RNR_TIMER_CODE };
	int error = uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);

	return error != 0 ? not_set("RNR timer", error) : 0;
}

/*
 * Create the address handle of a datagram QP of the client, to which rdma_cm has reported the
 * address of the server's QP. The server gets the client's address in the exchange of lines.
 */
static int
set_destination(struct endpoint *endpoint, unsigned idx, struct rdma_ud_param *ud)
{
	endpoint->peer[idx].qkey = ud->qkey;
	endpoint->ah[idx] = uroce_create_ah(endpoint->pd, &ud->ah_attr);
	return endpoint->ah[idx] == NULL ? not_set("address handle", errno) : 0;
}

static int
connect_qp(struct endpoint *endpoint, struct cm *cm, unsigned idx)
{
	struct ibv_qp_init_attr init = endpoint_qp_init(endpoint, cm->opt, idx);
	struct rdma_ud_param ud;

	endpoint->id[idx] = cm_begin(cm, idx, endpoint->pd, &init);
	if (endpoint->id[idx] == NULL)
		return -1;
	endpoint->qp[idx] = endpoint->id[idx]->qp;
	if (cm_finish(cm, endpoint->id[idx], idx, cm->is_client ? &ud : NULL) != 0 ||
	    endpoint_fill_local(endpoint, idx) != 0)
		return -1;
	if (init.qp_type == IBV_QPT_RC)
		return set_rnr_timer(endpoint->qp[idx]);
	if (init.qp_type != IBV_QPT_UD)
		return 0;
	endpoint->peer[idx].qkey = RDMA_UDP_QKEY;
	return cm->is_client ? set_destination(endpoint, idx, &ud) : 0;
}

int
cm_endpoint_connect(struct endpoint *endpoint, struct cm *cm)
{
	uint64_t begin = rte_rdtsc();
	size_t bytes = endpoint_heap_bytes();

	for (unsigned i = 0; i < endpoint->nb_qp; i++)
		if (connect_qp(endpoint, cm, i) != 0)
			return -1;
	endpoint->setup.create_s = (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz();
	endpoint->setup.heap_bytes = endpoint_heap_bytes() - bytes;
	return 0;
}
