/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events, for which the program waits by poll() on the descriptor of the context. The
 * client drains its send queue (state SQD) between requests, changes an attribute of the
 * connection, and continues. The server moves a QP with a shared receive queue to the error state,
 * and gets an event when the QP will use no more receive requests of this queue.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>

#define NB_WR     256
#define BLOCK_LEN (32u << 10)
/* code of an ACK timeout of 0.27 s, which is not the value that side_connect() sets */
#define TIMEOUT 16

static struct side side;
static struct ibv_cq *cq;
static struct ibv_srq *srq; /* shared receive queue of the server */
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t buf[NB_WR][BLOCK_LEN];

static void
make_queues(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = NB_WR + 1, .max_send_sge = 1 },
	};

	check((mr = uroce_reg_mr(side.pd, buf, sizeof(buf), SIDE_ACCESS)), "no region");
	check((cq = uroce_create_cq(side.context, NB_WR + 1, NULL, NULL, 0)), "no CQ");
	check((srq = uroce_create_srq(side.pd, &srq_init)), "no SRQ");
	init.send_cq = init.recv_cq = cq;
	init.srq = srq;
	check((qp = uroce_create_qp(side.pd, &init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_srq(srq) == 0, "QP or SRQ stay");
	check(uroce_destroy_cq(cq) == 0 && uroce_dereg_mr(mr) == 0, "CQ or region stay");
}

static void
wait_for_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	do
		side_wait_fd(&side, side.context->async_fd);
	while (!side_event(&side, &event));
	check(event.event_type == type && event.element.qp == qp, "event '%s', and not '%s'",
	      uroce_event_type_str(event.event_type), uroce_event_type_str(type));
	/* acknowledge the event, because otherwise uroce_destroy_qp() would wait for ever */
	uroce_ack_async_event(&event);
}

/* --- the client -------------------------------------------------------------------------------- */

static void
post_writes(uint64_t addr, uint32_t rkey)
{
	for (unsigned i = 0; i < NB_WR; i++) {
		struct ibv_sge sge = { (uintptr_t)buf[i], BLOCK_LEN, mr->lkey };
		struct ibv_send_wr *bad_wr, wr = {
			.wr_id = i,
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { addr + (uint64_t)i * BLOCK_LEN, rkey },
		};

		fill(buf[i], BLOCK_LEN, i);
		check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	}
}

static void
send_nothing(void)
{
	struct ibv_send_wr *bad_wr, wr = { .opcode = IBV_WR_SEND };

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, cq, IBV_WC_SUCCESS);
}

/*
 * Drain the send queue. Requests that the QP has begun to execute are completed, and all other
 * requests stay posted.
 * @param nb_done  number of requests that had completed before the call
 * @return number of requests that have completed
 */
static unsigned
drain(unsigned nb_done)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;
	int nb;

	check(uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0,
	      "the send queue does not drain");
	wait_for_event(IBV_EVENT_SQ_DRAINED);
	check(uroce_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_SQD &&
		      !attr.sq_draining,
	      "the QP is not in SQD, drained");
	while ((nb = ibv_poll_cq(cq, 1, &wc)) > 0)
		check(wc.status == IBV_WC_SUCCESS && wc.wr_id == nb_done++, "request %u fails: %s",
		      (unsigned)wc.wr_id, uroce_wc_status_str(wc.status));
	check(nb == 0, "the completion queue is lost");
	return nb_done;
}

/*
 * Change an attribute of the connection. This is allowed because the send queue is drained, so
 * nothing is in flight.
 */
static void
change(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .timeout = TIMEOUT };
	struct ibv_qp_init_attr init;

	check(uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT) == 0,
	      "cannot change the timeout");
	attr.qp_state = IBV_QPS_RTS;
	check(uroce_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "the send queue does not go on");
	check(uroce_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT, &init) == 0 &&
		      attr.qp_state == IBV_QPS_RTS && attr.timeout == TIMEOUT,
	      "the QP is not as it was made");
}

static void
be_client(void)
{
	const uint64_t addr = side_swap(&side, 0);
	const uint32_t rkey = (uint32_t)side_swap(&side, 0);

	post_writes(addr, rkey);
	check(side_wait(&side, cq, IBV_WC_SUCCESS).wr_id == 0, "requests out of order");
	const unsigned nb_drained = drain(1);

	side_swap(&side, nb_drained);
	side_sync(&side); /* wait until the server has checked which blocks were written */
	change();
	for (unsigned i = nb_drained; i < NB_WR; i++)
		check(side_wait(&side, cq, IBV_WC_SUCCESS).wr_id == i, "requests out of order");
	side_sync(&side);
	send_nothing();
	side_sync(&side);
	printf("drained after %u of %u requests, then went on\n", nb_drained, NB_WR);
}

/* --- the server -------------------------------------------------------------------------------- */

static void
check_blocks(unsigned begin, unsigned end, bool is_written)
{
	for (unsigned i = begin; i < end; i++)
		for (unsigned j = 0; j < BLOCK_LEN; j += is_written ? BLOCK_LEN : 1)
			check(is_written ? is_filled(buf[i], BLOCK_LEN, i) : buf[i][j] == 0,
			      "block %u is not as it should be", i);
}

static void
be_server(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr *bad_wr, wr = { 0 };

	for (unsigned i = 0; i < 2; i++)
		check(ibv_post_srq_recv(srq, &wr, &bad_wr) == 0, "cannot post");
	side_swap(&side, (uintptr_t)buf);
	side_swap(&side, mr->rkey);
	const unsigned nb_drained = (unsigned)side_swap(&side, 0);

	check_blocks(0, nb_drained, true);
	check_blocks(nb_drained, NB_WR, false);
	side_sync(&side);
	side_sync(&side);
	check_blocks(nb_drained, NB_WR, true);

	side_wait(&side, cq, IBV_WC_SUCCESS);
	side_sync(&side);
	check(uroce_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "the QP does not go to error");
	/* after this event the QP uses no receive request of the SRQ, so the QP may be destroyed */
	wait_for_event(IBV_EVENT_QP_LAST_WQE_REACHED);
	printf("%u blocks of %u bytes, and the last request reached\n", NB_WR, BLOCK_LEN);
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	make_queues();
	side_connect(&side, qp);
	if (side.is_client)
		be_client();
	else
		be_server();
	destroy_queues();
	side_close(&side);
	return 0;
}
