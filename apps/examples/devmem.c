/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory: the server allocates a block that no pointer can address. The client writes one
 * half of the block and reads the other half, into which the server has copied the data.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>

#define HALF (96u << 10)
#define LEN  (2 * HALF)

static struct side side;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static uint8_t buf[LEN];

static void
make_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	check((cq = uroce_create_cq(side.context, 1, NULL, NULL, 0)), "no CQ");
	init.send_cq = init.recv_cq = cq;
	check((qp = uroce_create_qp(side.pd, &init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0, "QP or CQ stay");
}

static void
be_server(void)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN, .log_align_req = 12 };
	struct ibv_dm *dm = uroce_alloc_dm(side.context, &attr);

	check(dm, "no device memory");
	struct ibv_mr *mr =
		uroce_reg_dm_mr(side.pd, dm, 0, LEN, SIDE_ACCESS | IBV_ACCESS_ZERO_BASED);

	check(mr, "no region");
	fill(buf, HALF, 2);
	check(uroce_memcpy_to_dm(dm, HALF, buf, HALF) == 0, "cannot copy there");
	side_swap(&side, mr->rkey);
	side_sync(&side); /* wait until the client has written and read the block */
	check(uroce_memcpy_from_dm(buf, dm, 0, LEN) == 0, "cannot copy back");
	check(is_filled(buf, HALF, 1), "what the client wrote is not there");
	check(is_filled(buf + HALF, HALF, 2), "what the client should only read was written");
	check(uroce_free_dm(dm) != 0, "device memory goes although it is registered");
	check(uroce_dereg_mr(mr) == 0 && uroce_free_dm(dm) == 0, "region or memory stay");
	printf("%u bytes of device memory, half of them written by the client\n", LEN);
}

static void
request(enum ibv_wr_opcode opcode, uint8_t *local, uint32_t lkey, uint64_t offset, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)local, HALF, lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		/* addresses in device memory begin at 0, so an address is an offset */
		.wr.rdma = { offset, rkey },
	};

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
	side_wait(&side, cq, IBV_WC_SUCCESS);
}

static void
be_client(void)
{
	struct ibv_mr *mr = uroce_reg_mr(side.pd, buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	const uint32_t rkey = (uint32_t)side_swap(&side, 0);

	check(mr, "no region");
	fill(buf, HALF, 1);
	request(IBV_WR_RDMA_WRITE, buf, mr->lkey, 0, rkey);
	request(IBV_WR_RDMA_READ, buf + HALF, mr->lkey, HALF, rkey);
	check(is_filled(buf + HALF, HALF, 2), "what was read is not what the server copied there");
	side_sync(&side);
	check(uroce_dereg_mr(mr) == 0, "the region stays");
	printf("%u bytes written to device memory, as many read\n", HALF);
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
