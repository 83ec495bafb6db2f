/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of length 0: a program can register one, and its key gives access to no byte. Run under
 * uroce-run, on a device where QPs of one process can be connected.
 */

#include <stdint.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "../ibverbs/pair.h"
#include "tap.h"

static struct pair pair;

/*
 * Post a send request on QP 0 with the element `sge` and with as many bytes of remote memory under
 * `rkey`. Return the status of its completion.
 */
static enum ibv_wc_status
carry_out(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)pair.buf, .rkey = rkey },
	}, *bad;
	struct ibv_wc wc;
	int nb = 0;

	tap_need(ibv_post_send(pair.qp[0], &wr, &bad) == 0, "ibv_post_send");
	while (nb == 0)
		nb = ibv_poll_cq(pair.cq, 1, &wc);
	tap_need(nb == 1, "ibv_poll_cq");
	return wc.status;
}

int
main(void)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_qp_attr attr = { .qp_access_flags = (unsigned)access };
	void *page = NULL;

	pair_open(&pair);
	tap_need(ibv_modify_qp(pair.qp[1], &attr, IBV_QP_ACCESS_FLAGS) == 0, "ibv_modify_qp");
	tap_need(posix_memalign(&page, 4096, 4096) == 0, "posix_memalign");

	struct ibv_mr *const aligned = ibv_reg_mr(pair.pd, page, 0, access);
	struct ibv_mr *const within = ibv_reg_mr(pair.pd, (char *)page + 100, 0, access);

	tap_test(within != NULL, "nothing is registered in the middle of a page");
	tap_test(aligned != NULL, "nothing is registered at the beginning of a page");
	if (within == NULL || aligned == NULL)
		return tap_end();
	tap_test(within->length == 0 && within->lkey != 0 && within->lkey != aligned->lkey,
		 "each has its key");
	tap_test(carry_out(IBV_WR_RDMA_WRITE, (struct ibv_sge){ 0, 0, within->lkey },
			   aligned->rkey) == IBV_WC_SUCCESS,
		 "nothing is written to nothing");
	tap_test(carry_out(IBV_WR_RDMA_READ,
			   (struct ibv_sge){ (uintptr_t)pair.buf, 1, pair.mr->lkey },
			   aligned->rkey) == IBV_WC_REM_ACCESS_ERR,
		 "a byte of it is not read");
	tap_test(ibv_dereg_mr(within) == 0 && ibv_dereg_mr(aligned) == 0, "both go again");
	pair_close(&pair);
	free(page);
	return tap_end();
}
