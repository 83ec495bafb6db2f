/* SPDX-License-Identifier: BSD-3-Clause */

#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GID 1 /* index in the GID table of the address that was configured */

void
check(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_Exit(1);
}

static struct ibv_qp *
make_qp(struct pair *pair)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = pair->cq,
		.recv_cq = pair->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *const qp = ibv_create_qp(pair->pd, &init);

	check(qp != NULL, "ibv_create_qp");
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		      0,
	      "INIT");
	return qp;
}

static void
connect_qp(struct ibv_context *context, struct ibv_qp *qp, uint32_t dest_qp_num)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qp_num,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = GID, .hop_limit = 64 } },
	};

	check(ibv_query_gid(context, 1, GID, &attr.ah_attr.grh.dgid) == 0, "ibv_query_gid");
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER) == 0,
	      "RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	check(ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	      "RTS");
}

void
pair_open(struct pair *pair)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	check(list != NULL && list[0] != NULL, "ibv_get_device_list");
	pair->context = ibv_open_device(list[0]);
	check(pair->context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	pair->pd = ibv_alloc_pd(pair->context);
	check(pair->pd != NULL, "ibv_alloc_pd");
	pair->buf = calloc(2, PAIR_LEN);
	pair->mr = ibv_reg_mr(pair->pd, pair->buf, (size_t)2 * PAIR_LEN, IBV_ACCESS_LOCAL_WRITE);
	check(pair->mr != NULL, "ibv_reg_mr");
	pair->cq = ibv_create_cq(pair->context, 16, NULL, NULL, 0);
	check(pair->cq != NULL, "ibv_create_cq");
	for (unsigned i = 0; i < 2; i++)
		pair->qp[i] = make_qp(pair);
	for (unsigned i = 0; i < 2; i++)
		connect_qp(pair->context, pair->qp[i], pair->qp[!i]->qp_num);
}

void
pair_exchange(struct pair *pair, uint8_t value)
{
	struct ibv_sge from = { (uintptr_t)pair->buf, PAIR_LEN, pair->mr->lkey };
	struct ibv_sge to = { (uintptr_t)pair->buf + PAIR_LEN, PAIR_LEN, pair->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;
	unsigned nb = 0;
	struct ibv_wc wc;

	memset(pair->buf, value, PAIR_LEN);
	check(ibv_post_recv(pair->qp[1], &recv, &bad_recv) == 0, "ibv_post_recv");
	check(ibv_post_send(pair->qp[0], &send, &bad_send) == 0, "ibv_post_send");
	while (nb < 2) {
		const int ret = ibv_poll_cq(pair->cq, 1, &wc);

		check(ret >= 0 && (ret == 0 || wc.status == IBV_WC_SUCCESS), "ibv_poll_cq");
		nb += (unsigned)ret;
	}
	check(memcmp(pair->buf, pair->buf + PAIR_LEN, PAIR_LEN) == 0, "the message is another");
}

void
pair_close(struct pair *pair)
{
	for (unsigned i = 0; i < 2; i++)
		check(ibv_destroy_qp(pair->qp[i]) == 0, "ibv_destroy_qp");
	check(ibv_destroy_cq(pair->cq) == 0, "ibv_destroy_cq");
	check(ibv_dereg_mr(pair->mr) == 0, "ibv_dereg_mr");
	check(ibv_dealloc_pd(pair->pd) == 0, "ibv_dealloc_pd");
	check(ibv_close_device(pair->context) == 0, "ibv_close_device");
	free(pair->buf);
}
