/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP that is reset and used again at once with the same PSNs receives nothing of its earlier
 * connection. Two QPs of a process are connected. A message is refused, because its receive request
 * has an invalid key. Both QPs are reset and connected again, and the next message must arrive. The
 * test runs in a forked child, as tests of test suites do. Run under uroce-run.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "tap.h"

#define LEN       1024
#define PSN       0x123456
#define NB_ROUNDS 40
#define GID_INDEX 1

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
};

static struct ibv_context *context;
static struct ibv_pd *pd;

static void
make(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	end->buf = calloc(1, LEN);
	end->mr = ibv_reg_mr(pd, end->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	end->cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = end->cq;
	tap_need(end->mr != NULL && end->cq != NULL, "a region and a CQ");
	end->qp = ibv_create_qp(pd, &init);
	tap_need(end->qp != NULL, "ibv_create_qp");
}

static void
modify(struct end *end, struct ibv_qp_attr attr, int mask)
{
	tap_need(ibv_modify_qp(end->qp, &attr, mask | IBV_QP_STATE) == 0, "ibv_modify_qp");
}

static void
reset(struct end *end)
{
	modify(end, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, 0);
}

static void
connect_to(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};

	attr.ah_attr.grh.sgid_index = GID_INDEX;
	attr.ah_attr.grh.hop_limit = 64;
	tap_need(ibv_query_gid(context, 1, GID_INDEX, &attr.ah_attr.grh.dgid) == 0,
		 "ibv_query_gid");
	modify(end, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1 },
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(end, attr,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(end,
	       (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = PSN,
				     .timeout = 18,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 },
	       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC);
}

static void
connect_both(struct end *server, struct end *client)
{
	reset(server);
	connect_to(server, client);
	reset(client);
	connect_to(client, server);
}

static enum ibv_wc_status
await(struct end *end)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(end->cq, 1, &wc)) == 0)
		;
	tap_need(nb == 1, "ibv_poll_cq");
	return wc.status;
}

/*
 * Send a message from the client to the server, whose receive request has this lkey.
 * @return status of the send request
 */
static enum ibv_wc_status
exchange(struct end *server, struct end *client, uint32_t lkey)
{
	struct ibv_sge into = { (uintptr_t)server->buf, LEN, lkey };
	struct ibv_sge from = { (uintptr_t)client->buf, LEN, client->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &into, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	tap_need(ibv_post_recv(server->qp, &recv, &bad_recv) == 0, "ibv_post_recv");
	tap_need(ibv_post_send(client->qp, &send, &bad_send) == 0, "ibv_post_send");
	return await(client);
}

static void
open_device(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);

	tap_need(list != NULL && list[0] != NULL, "ibv_get_device_list");
	context = ibv_open_device(list[0]);
	tap_need(context != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	tap_need(pd != NULL, "ibv_alloc_pd");
}

static int
run(void)
{
	struct end server, client;
	unsigned nb_refused = 0, nb_taken = 0, nb_received = 0;

	open_device();
	make(&server);
	make(&client);
	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		connect_both(&server, &client);
		nb_refused +=
			exchange(&server, &client, server.mr->lkey ^ 0x5a00) == IBV_WC_REM_OP_ERR;
		connect_both(&server, &client);
		nb_taken += exchange(&server, &client, server.mr->lkey) == IBV_WC_SUCCESS;
		nb_received += await(&server) == IBV_WC_SUCCESS;
	}
	tap_test(nb_refused == NB_ROUNDS, "%u of %u bad messages are refused", nb_refused,
		 NB_ROUNDS);
	tap_test(nb_taken == NB_ROUNDS, "%u of %u messages after that are taken", nb_taken,
		 NB_ROUNDS);
	tap_test(nb_received == NB_ROUNDS, "%u of %u of them are received", nb_received, NB_ROUNDS);
	return tap_end();
}

int
main(void)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0)
		return run();
	tap_need(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status), "a child");
	return WEXITSTATUS(status);
}
