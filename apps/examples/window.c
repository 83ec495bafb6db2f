/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory window of type 2: the server's region allows no access by peers, and the window grants
 * access to a part of this region. The client writes to this part, and its last message invalidates
 * the window. A WRITE of the client after that message is refused.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>

#define REGION_LEN 16384
#define WINDOW_AT  4096
#define WINDOW_LEN 8000

static struct side side;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t buf[REGION_LEN];

static void
make_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check((cq = uroce_create_cq(side.context, 2, NULL, NULL, 0)), "no CQ");
	check((mr = uroce_reg_mr(side.pd, buf, REGION_LEN,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)),
	      "no region");
	init.send_cq = init.recv_cq = cq;
	check((qp = uroce_create_qp(side.pd, &init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0, "QP or CQ stay");
	check(uroce_dereg_mr(mr) == 0, "the region stays");
}

/* --- the server -------------------------------------------------------------------------------- */

/* Bind the window. The program chooses the low 8 bits of the rkey, a new value for each bind. */
static uint32_t
open_window(struct ibv_mw *mw)
{
	struct ibv_send_wr *bad_wr, wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {
				.mr = mr,
				.addr = (uintptr_t)buf + WINDOW_AT,
				.length = WINDOW_LEN,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
			},
		},
	};

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	check(side_wait(&side, cq, IBV_WC_SUCCESS).opcode == IBV_WC_BIND_MW, "not a bind");
	return wr.bind_mw.rkey;
}

/*
 * Check that the window holds the bytes of message `number`, and that no byte outside of it has
 * changed.
 */
static void
check_region(unsigned number)
{
	for (unsigned i = 0; i < REGION_LEN; i++)
		check((i >= WINDOW_AT && i < WINDOW_AT + WINDOW_LEN) || buf[i] == 0,
		      "byte %u, outside of the window, was written", i);
	check(is_filled(buf + WINDOW_AT, WINDOW_LEN, number), "the window has other bytes");
}

static void
be_server(void)
{
	struct ibv_mw *mw = uroce_alloc_mw(side.pd, IBV_MW_TYPE_2);
	struct ibv_recv_wr *bad_wr, wr = { 0 };
	struct ibv_async_event event;

	check(mw, "no memory window");
	const uint32_t rkey = open_window(mw);

	check(ibv_post_recv(qp, &wr, &bad_wr) == 0, "cannot post");
	check(uroce_dereg_mr(mr) != 0, "a region goes although a window is bound to it");
	side_swap(&side, rkey);
	side_swap(&side, (uintptr_t)buf + WINDOW_AT);
	const struct ibv_wc wc = side_wait(&side, cq, IBV_WC_SUCCESS);

	check(wc.opcode == IBV_WC_RECV && (wc.wc_flags & IBV_WC_WITH_INV), "an ordinary message");
	check(wc.invalidated_rkey == rkey, "another key was invalidated");
	check_region(1);
	side_sync(&side);
	side_sync(&side); /* wait until the client has tried a second WRITE, which must fail */
	while (!side_event(&side, &event))
		side_wait_fd(&side, side.context->async_fd);
	check(event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == qp,
	      "the refusal raises '%s'", uroce_event_type_str(event.event_type));
	uroce_ack_async_event(&event);
	check_region(1);
	check(uroce_dealloc_mw(mw) == 0, "the window stays");
	printf("a window of %u bytes was written, closed by its user, and kept shut\n", WINDOW_LEN);
}

/* --- the client -------------------------------------------------------------------------------- */

static void
write_by(uint32_t rkey, uint64_t addr, unsigned number, enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)buf, WINDOW_LEN, mr->lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { addr, rkey },
	};

	fill(buf, WINDOW_LEN, number);
	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, cq, status);
}

static void
close_window(uint32_t rkey)
{
	struct ibv_send_wr *bad_wr,
		wr = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = rkey };

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, cq, IBV_WC_SUCCESS);
}

static void
be_client(void)
{
	const uint32_t rkey = (uint32_t)side_swap(&side, 0);
	const uint64_t addr = side_swap(&side, 0);

	write_by(rkey, addr, 1, IBV_WC_SUCCESS);
	close_window(rkey);
	side_sync(&side);
	write_by(rkey, addr, 2, IBV_WC_REM_ACCESS_ERR);
	side_sync(&side);
	printf("the window was written and closed; then: %s\n",
	       uroce_wc_status_str(IBV_WC_REM_ACCESS_ERR));
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
