/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and connects the verbs objects of one side. Each step can fail because of the options of
 * the user. So a step that fails prints one line that says what it requested.
 */

#include "endpoint.h"
#include "event.h"
#include "group.h"
#include "layout.h"
#include "xrc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <uroce_cm.h>

#define PORT_NUM      1
#define RNR_RETRY     7 /* RNR retry count that means: retry without limit */
#define RESOLVE_TRIES 3
#define HOP_LIMIT     64

static double
seconds_since(uint64_t tsc)
{
	return (double)(rte_rdtsc() - tsc) / (double)rte_get_tsc_hz();
}

static size_t
heap_bytes_of(int socket_id)
{
	struct rte_malloc_socket_stats stats;

	return rte_malloc_get_socket_stats(socket_id, &stats) == 0 ? stats.heap_allocsz_bytes : 0;
}

size_t
endpoint_heap_bytes(void)
{
	const int own = rte_malloc_heap_get_socket("uroce");
	size_t bytes = own >= 0 ? heap_bytes_of(own) : 0;

	for (unsigned i = 0; i < rte_socket_count(); i++)
		bytes += heap_bytes_of(rte_socket_id_by_idx(i));
	return bytes;
}

static int
failed(const char *what, int error)
{
	fprintf(stderr, "uroce-perf: %s: %s\n", what, strerror(error));
	return -1;
}

static enum ibv_mtu
mtu_code(unsigned bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128u << code < bytes)
		code++;
	return code;
}

/*
 * Get the size of a CQ: the number of completions that may wait in the CQ before they are polled.
 */
static uint64_t
nb_completions(const struct options *opt)
{
	uint64_t nb_send = opt->nb_qp * opt->tx_depth;

	if (opt->order == PERF_RANDOM && nb_send > PERF_IN_FLIGHT)
		nb_send = PERF_IN_FLIGHT;
	const uint64_t nb_queues = options_has_srq(opt) ? 1 : opt->nb_qp;

	return nb_send + (opt->op == PERF_SEND ? nb_queues * opt->rx_depth : 0);
}

static int
check_depths(const struct endpoint *endpoint, const struct options *opt)
{
	uint64_t deepest = opt->tx_depth > opt->rx_depth ? opt->tx_depth : opt->rx_depth;

	if (deepest > (uint64_t)endpoint->attr.max_qp_wr) {
		fprintf(stderr,
			"uroce-perf: --tx-depth or --rx-depth %u: too deep; allowed: 1 to %d\n",
			(unsigned)deepest, endpoint->attr.max_qp_wr);
		return -1;
	}
	if (nb_completions(opt) > (uint64_t)endpoint->attr.max_cqe) {
		fprintf(stderr,
			"uroce-perf: --qp %u: their completions do not fit in one CQ of %d; "
			"allowed: "
			"fewer QPs or smaller --tx-depth and --rx-depth\n",
			(unsigned)opt->nb_qp, endpoint->attr.max_cqe);
		return -1;
	}
	return 0;
}

static int
allocate_tables(struct endpoint *endpoint, unsigned nb_qp)
{
	endpoint->qp = calloc(nb_qp, sizeof(*endpoint->qp));
	endpoint->id = calloc(nb_qp, sizeof(*endpoint->id));
	endpoint->ah = calloc(nb_qp, sizeof(*endpoint->ah));
	endpoint->mr = calloc(nb_qp, sizeof(*endpoint->mr));
	endpoint->receives = calloc(nb_qp, sizeof(*endpoint->receives));
	endpoint->local = calloc(nb_qp, sizeof(*endpoint->local));
	endpoint->peer = calloc(nb_qp, sizeof(*endpoint->peer));
	if (endpoint->qp == NULL || endpoint->id == NULL || endpoint->ah == NULL ||
	    endpoint->mr == NULL || endpoint->receives == NULL || endpoint->local == NULL ||
	    endpoint->peer == NULL)
		return failed("tables of queue pairs", ENOMEM);
	endpoint->nb_qp = nb_qp;
	return 0;
}

int
endpoint_init_qp(struct ibv_qp *qp, const struct options *opt)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .pkey_index = (uint16_t)opt->pkey_index,
				    .port_num = PORT_NUM };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (opt->qp_type == IBV_QPT_UD) {
		attr.qkey = ENDPOINT_QKEY;
		mask |= IBV_QP_QKEY;
	} else {
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (options_is_reliable(opt))
			attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	int error = uroce_modify_qp(qp, &attr, mask);
	return error != 0 ? failed("queue pair to INIT", error) : 0;
}

struct ibv_qp_init_attr
endpoint_qp_init(const struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	return (struct ibv_qp_init_attr){
		.send_cq = endpoint->cq[idx % endpoint->nb_cq],
		.recv_cq = endpoint->cq[idx % endpoint->nb_cq],
		.srq = endpoint->xrcd == NULL ? endpoint->srq : NULL,
		.qp_type = (enum ibv_qp_type)opt->qp_type,
		.cap = {
			.max_send_wr = (uint32_t)opt->tx_depth,
			.max_recv_wr = (uint32_t)opt->rx_depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = (uint32_t)opt->inline_len,
		},
	};
}

static void
fill_address(struct endpoint *endpoint, unsigned idx, uint32_t psn)
{
	endpoint->local[idx] = (struct address){
		.qpn = endpoint->qp[idx]->qp_num,
		.psn = psn,
		.rkey = endpoint_mr(endpoint, idx)->rkey,
		.vaddr = (uintptr_t)endpoint->buffer.at,
		.gid = endpoint->gid,
	};
	endpoint->peer[idx].qkey = ENDPOINT_QKEY;
}

int
endpoint_fill_local(struct endpoint *endpoint, unsigned idx)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int error = uroce_query_qp(endpoint->qp[idx], &attr, IBV_QP_SQ_PSN, &init);

	if (error != 0)
		return failed("query a queue pair", error);
	fill_address(endpoint, idx, attr.sq_psn);
	return 0;
}

int
endpoint_qp_failed(const struct options *opt)
{
	if (errno != EINVAL || opt->inline_len == 0)
		return failed("create a queue pair", errno);
	fprintf(stderr, "uroce-perf: --inline_size %u: more than the device takes; allowed: less\n",
		(unsigned)opt->inline_len);
	return -1;
}

static int
create_qp(struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	struct ibv_qp_init_attr init = endpoint_qp_init(endpoint, opt, idx);
	uint32_t psn;

	endpoint->qp[idx] = uroce_create_qp(endpoint->pd, &init);
	if (endpoint->qp[idx] == NULL)
		return endpoint_qp_failed(opt);
	if (getrandom(&psn, sizeof(psn), 0) != sizeof(psn))
		return failed("a random PSN", errno);
	fill_address(endpoint, idx, psn & 0xffffff);
	if (endpoint->xrcd != NULL && xrc_create_target(endpoint, opt, idx) != 0)
		return -1;
	return endpoint_init_qp(endpoint->qp[idx], opt);
}

static int
create_qps(struct endpoint *endpoint, const struct options *opt)
{
	uint64_t begin = rte_rdtsc();
	size_t bytes = endpoint_heap_bytes();

	for (unsigned i = 0; i < endpoint->nb_qp; i++)
		if (create_qp(endpoint, opt, i) != 0)
			return -1;
	endpoint->setup.create_s = seconds_since(begin);
	endpoint->setup.heap_bytes = endpoint_heap_bytes() - bytes;
	return 0;
}

/* Register the buffer: as one memory region, or with --mr_per_qp as one region for each QP. */
static int
register_buffer(struct endpoint *endpoint, const struct options *opt)
{
	const unsigned nb = opt->is_mr_per_qp ? endpoint->nb_qp : 1;
	const size_t len = endpoint->buffer_len / nb;
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			   (opt->is_odp ? IBV_ACCESS_ON_DEMAND : 0);

	for (unsigned i = 0; i < nb; i++) {
		endpoint->mr[i] =
			uroce_reg_mr(endpoint->pd, endpoint->buffer.at + i * len, len, access);
		if (endpoint->mr[i] == NULL)
			return failed(opt->is_odp ? "register the buffer (--odp)"
						  : "register the buffer",
				      errno);
		endpoint->nb_mr++;
	}
	return 0;
}

/*
 * Create a CQ for each worker. With --events there is only one CQ. Its completion vector is that of
 * the option --vector, and determines the worker.
 */
static int
create_cqs(struct endpoint *endpoint, const struct options *opt)
{
	const unsigned nb = opt->is_events ? 1 : endpoint->nb_workers;

	if (event_open(endpoint, opt) != 0)
		return -1;
	for (unsigned i = 0; i < nb; i++) {
		endpoint->cq[i] = uroce_create_cq(endpoint->context, (int)nb_completions(opt), NULL,
						  endpoint->channel,
						  opt->is_events ? (int)opt->vector : (int)i);
		if (endpoint->cq[i] == NULL)
			return failed("create the completion queue", errno);
		endpoint->nb_cq++;
	}
	return 0;
}

static int
create_srq(struct endpoint *endpoint, const struct options *opt)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = (uint32_t)opt->rx_depth,
						    .max_sge = 1 } };

	if (opt->qp_type == IBV_QPT_XRC_SEND)
		return xrc_open(endpoint, opt);
	if (!opt->is_srq)
		return 0;
	endpoint->srq = uroce_create_srq(endpoint->pd, &init);
	return endpoint->srq == NULL ? failed("create the shared receive queue", errno) : 0;
}

int
endpoint_create(struct endpoint *endpoint, const struct options *opt)
{
	unsigned nb_qp = (unsigned)opt->nb_qp;

	if (check_depths(endpoint, opt) != 0)
		return -1;
	endpoint->area_len = layout_area_len(opt, endpoint->mtu);
	endpoint->buffer_len = 2 * endpoint->area_len * nb_qp;
	if (allocate_tables(endpoint, nb_qp) != 0 ||
	    buffer_map(&endpoint->buffer, opt, endpoint->buffer_len) != 0)
		return -1;
	endpoint->pd = uroce_alloc_pd(endpoint->context);
	if (endpoint->pd == NULL)
		return failed("allocate a protection domain", errno);
	if (register_buffer(endpoint, opt) != 0)
		return -1;
	if (create_cqs(endpoint, opt) != 0 || create_srq(endpoint, opt) != 0)
		return -1;
	return opt->is_rdma_cm ? 0 : create_qps(endpoint, opt);
}

static struct ibv_ah_attr
path_to(const struct endpoint *endpoint, const struct options *opt, const struct address *peer)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = PORT_NUM,
		.grh = {
			.dgid = peer->gid,
			.sgid_index = (uint8_t)endpoint->gid_index,
			.hop_limit = HOP_LIMIT,
			.traffic_class = (uint8_t)opt->traffic_class,
		},
	};
}

struct ibv_qp_attr
endpoint_rtr_attr(const struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	const struct address *peer = &endpoint->peer[idx];

	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(endpoint->mtu),
		.dest_qp_num = endpoint->xrcd != NULL ? peer->recv_qpn : peer->qpn,
		.rq_psn = peer->psn,
		.ah_attr = path_to(endpoint, opt, peer),
		.max_dest_rd_atomic = (uint8_t)endpoint->outs,
		.min_rnr_timer = ENDPOINT_RNR_TIMER_CODE,
	};
}

static int
to_rtr(struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	struct ibv_qp_attr attr = endpoint_rtr_attr(endpoint, opt, idx);
	int mask = IBV_QP_STATE;

	if (opt->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (opt->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int error = ETIMEDOUT;

	/* try again, since the peer may still be starting and answer no ARP or ND request yet */
	for (int i = 0; i < RESOLVE_TRIES && error == ETIMEDOUT; i++)
		error = uroce_modify_qp(endpoint->qp[idx], &attr, mask);
	return error != 0 ? failed("the ah_attr to the peer (queue pair to RTR)", error) : 0;
}

static int
to_rts(struct endpoint *endpoint, const struct options *opt, unsigned idx)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = endpoint->local[idx].psn,
		.timeout = (uint8_t)opt->timeout_code,
		.retry_cnt = (uint8_t)opt->retry_cnt,
		.rnr_retry = RNR_RETRY,
		.max_rd_atomic = (uint8_t)endpoint->outs,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (options_is_reliable(opt))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	int error = uroce_modify_qp(endpoint->qp[idx], &attr, mask);
	return error != 0 ? failed("queue pair to RTS", error) : 0;
}

int
endpoint_connect(struct endpoint *endpoint, const struct options *opt)
{
	uint64_t begin = rte_rdtsc();

	for (unsigned i = 0; i < endpoint->nb_qp; i++) {
		if (endpoint->id[i] == NULL &&
		    (to_rtr(endpoint, opt, i) != 0 || to_rts(endpoint, opt, i) != 0))
			return -1;
		if (endpoint->xrcd != NULL && xrc_connect_target(endpoint, opt, i) != 0)
			return -1;
		if (opt->qp_type != IBV_QPT_UD || endpoint->ah[i] != NULL)
			continue;
		struct ibv_ah_attr ah_attr = path_to(endpoint, opt, &endpoint->peer[i]);
		endpoint->ah[i] = uroce_create_ah(endpoint->pd, &ah_attr);
		if (endpoint->ah[i] == NULL)
			return failed("the ah_attr to the peer (address handle)", errno);
	}
	endpoint->setup.connect_s = seconds_since(begin);
	return 0;
}

void
endpoint_destroy_qps(struct endpoint *endpoint)
{
	uint64_t begin = rte_rdtsc();

	group_leave(endpoint);
	for (unsigned i = 0; i < endpoint->nb_qp; i++) {
		if (endpoint->ah[i] != NULL)
			uroce_destroy_ah(endpoint->ah[i]);
		if (endpoint->id[i] != NULL)
			uroce_cm_destroy_ep(endpoint->id[i]);
		else if (endpoint->qp[i] != NULL)
			uroce_destroy_qp(endpoint->qp[i]);
		endpoint->ah[i] = NULL;
		endpoint->id[i] = NULL;
		endpoint->qp[i] = NULL;
	}
	xrc_destroy_targets(endpoint);
	endpoint->setup.destroy_s = seconds_since(begin);
}

void
endpoint_close(struct endpoint *endpoint)
{
	endpoint_destroy_qps(endpoint);
	if (endpoint->srq != NULL)
		uroce_destroy_srq(endpoint->srq);
	xrc_close(endpoint);
	for (unsigned i = 0; i < endpoint->nb_cq; i++)
		uroce_destroy_cq(endpoint->cq[i]);
	event_close(endpoint);
	for (unsigned i = 0; i < endpoint->nb_mr; i++)
		uroce_dereg_mr(endpoint->mr[i]);
	if (endpoint->pd != NULL)
		uroce_dealloc_pd(endpoint->pd);
	buffer_unmap(&endpoint->buffer);
	if (endpoint->context != NULL && !endpoint->is_shared_context)
		uroce_close_device(endpoint->context);
	if (endpoint->device != NULL)
		uroce_destroy_device(endpoint->device);
	free(endpoint->qp);
	free(endpoint->id);
	free(endpoint->ah);
	free(endpoint->mr);
	free(endpoint->receives);
	free(endpoint->local);
	free(endpoint->peer);
	memset(endpoint, 0, sizeof(*endpoint));
}
