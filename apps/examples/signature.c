/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signature pipelining: the server keeps data blocks, and behind each block its T10-DIF signature.
 * The client never sees the signatures. Data that the client writes is signed when it enters the
 * server's memory. Data that the client requests is checked when it leaves that memory. The server
 * posts the transfer of the data and a reply "good" together. If a block is bad, the queue pair
 * stops after the transfer and before the reply, and the server sends the reply "bad" instead.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>
#include <string.h>
#include <uroce_dv.h>

#define NB_BLOCKS 8
#define BLOCK_LEN 512
#define DIF_LEN   8
#define DATA_LEN  (NB_BLOCKS * BLOCK_LEN)
#define APP_TAG   0xcafe
#define REF_TAG   1000
#define BAD_BLOCK 5

enum wr_id { CONFIGURE, DATA, ANSWER };
enum answer { BAD, GOOD };

static struct side side;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct {
	/*
	 * Memory for the blocks and their signatures. In the client the blocks have no signatures,
	 * and a part of this memory is unused.
	 */
	uint8_t data[NB_BLOCKS * (BLOCK_LEN + DIF_LEN)];
	uint8_t answer;
} buf;

static void
make_queues(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = side.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct uroce_dv_qp_init_attr dv_init = {
		.comp_mask = UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			     UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.create_flags = UROCE_DV_QP_CREATE_SIG_PIPELINING,
		.send_ops_flags = UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE,
	};

	check((cq = uroce_create_cq(side.context, 8, NULL, NULL, 0)), "no CQ");
	check((mr = uroce_reg_mr(side.pd, &buf, sizeof(buf),
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
	      "no region");
	init.send_cq = init.recv_cq = cq;
	check((qp = uroce_dv_create_qp(side.context, &init, &dv_init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0, "QP or CQ stay");
	check(uroce_dereg_mr(mr) == 0, "the region stays");
}

/* Post a receive request for the reply of the other process. */
static void
expect_answer(void)
{
	struct ibv_sge sge = { (uintptr_t)&buf.answer, sizeof(buf.answer), mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { .sg_list = &sge, .num_sge = 1 };

	check(ibv_post_recv(qp, &wr, &bad_wr) == 0, "cannot post");
}

static void
send_answer(enum answer answer, unsigned flags)
{
	uint8_t byte = (uint8_t)answer;
	struct ibv_sge sge = { (uintptr_t)&byte, sizeof(byte), 0 };
	struct ibv_send_wr *bad_wr, wr = {
		.wr_id = ANSWER,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE | flags,
		.sg_list = &sge,
		.num_sge = 1,
	};

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
}

/* Post a WRITE from the local memory that `lkey` names to memory of the other process. */
static void
post_write(uint32_t lkey, uint64_t addr, uint32_t rkey, uint64_t remote_addr)
{
	struct ibv_sge sge = { addr, DATA_LEN, lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.wr_id = DATA,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { remote_addr, rkey },
	};

	check(ibv_post_send(qp, &wr, &bad_wr) == 0, "cannot post");
}

static void
wait_for(enum wr_id wr_id)
{
	check(side_wait(&side, cq, IBV_WC_SUCCESS).wr_id == wr_id, "another request completes");
}

/* --- the server -------------------------------------------------------------------------------- */

/* Configure the mkey so that the blocks have signatures in memory, and have none on the wire. */
static void
configure(struct uroce_dv_mkey *mkey)
{
	const struct uroce_dv_sig_t10dif dif = {
		.bg_type = UROCE_DV_SIG_T10DIF_CRC,
		.app_tag = APP_TAG,
		.ref_tag = REF_TAG,
		.flags = UROCE_DV_SIG_T10DIF_FLAG_REF_REMAP,
	};
	const struct uroce_dv_sig_block_domain mem = {
		.sig_type = UROCE_DV_SIG_TYPE_T10DIF,
		.sig.dif = &dif,
		.block_size = UROCE_DV_BLOCK_SIZE_512,
	};
	const struct uroce_dv_sig_block_attr sig = {
		.mem = &mem,
		.check_mask = UROCE_DV_SIG_MASK_T10DIF_GUARD | UROCE_DV_SIG_MASK_T10DIF_APPTAG |
			      UROCE_DV_SIG_MASK_T10DIF_REFTAG,
	};
	const struct ibv_sge sge = { (uintptr_t)buf.data, sizeof(buf.data), mr->lkey };
	struct uroce_dv_mkey_conf_attr attr = { 0 };
	struct ibv_qp_ex *const qpx = uroce_qp_to_qp_ex(qp);
	struct uroce_dv_qp_ex *const dv = uroce_dv_qp_ex_from_ibv_qp_ex(qpx);

	ibv_wr_start(qpx);
	qpx->wr_id = CONFIGURE;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	uroce_dv_wr_mkey_configure(dv, mkey, 3, &attr);
	uroce_dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	uroce_dv_wr_set_mkey_layout_list(dv, 1, &sge);
	uroce_dv_wr_set_mkey_sig_block(dv, &sig);
	check(ibv_wr_complete(qpx) == 0, "the mkey cannot be configured");
	wait_for(CONFIGURE);
}

/*
 * Check the signatures behind the blocks. The device has made the signatures, because the client
 * sent none.
 */
static void
check_signatures(void)
{
	for (unsigned i = 0; i < NB_BLOCKS; i++) {
		const uint8_t *const dif = buf.data + i * (BLOCK_LEN + DIF_LEN) + BLOCK_LEN;

		check((dif[2] << 8 | dif[3]) == APP_TAG, "block %u has no application tag", i);
		check((dif[6] << 8 | dif[7]) == (int)(REF_TAG + i), "block %u has another's tag",
		      i);
	}
}

/*
 * Post the WRITE of the data, and behind it the reply "good", which is sent only if the data is
 * good.
 */
static void
post_both(const struct uroce_dv_mkey *mkey, uint32_t rkey, uint64_t remote_addr)
{
	post_write(mkey->lkey, 0, rkey, remote_addr);
	send_answer(GOOD, IBV_SEND_FENCE);
	wait_for(DATA);
}

static struct uroce_dv_mkey_err
error_of(struct uroce_dv_mkey *mkey)
{
	struct uroce_dv_mkey_err err;

	check(uroce_dv_mkey_check(mkey, &err) == 0, "the mkey cannot be asked");
	return err;
}

/*
 * Cancel the reply "good" of the queue pair, which has stopped at a bad block, and send the reply
 * "bad" instead [mlx5dv_qp_cancel_posted_send_wrs(3)].
 */
static void
answer_bad(struct uroce_dv_mkey *mkey)
{
	struct uroce_dv_qp_ex *const dv = uroce_dv_qp_ex_from_ibv_qp_ex(uroce_qp_to_qp_ex(qp));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };
	struct ibv_async_event event;
	struct ibv_wc wc;

	while (!side_event(&side, &event))
		side_wait_fd(&side, side.context->async_fd);
	check(event.event_type == IBV_EVENT_SQ_DRAINED, "the bad block raises '%s'",
	      uroce_event_type_str(event.event_type));
	uroce_ack_async_event(&event);
	check(ibv_poll_cq(cq, 1, &wc) == 0, "something completed behind the bad block");
	const struct uroce_dv_mkey_err err = error_of(mkey);

	check(err.err_type == UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD, "the mkey tells of error %d",
	      err.err_type);
	check(err.err.sig.offset == BAD_BLOCK * (BLOCK_LEN + DIF_LEN), "another block is bad");
	printf("block %d has guard %#x and should have %#x\n", BAD_BLOCK,
	       (unsigned)err.err.sig.expected_value, (unsigned)err.err.sig.actual_value);
	check(uroce_dv_qp_cancel_posted_send_wrs(dv, ANSWER) == 1, "the answer is not cancelled");
	send_answer(BAD, 0);
	check(uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) == 0, "no way to RTS");
	/* both replies complete, the cancelled one and the new one */
	wait_for(ANSWER);
	wait_for(ANSWER);
}

static void
be_server(void)
{
	struct uroce_dv_mkey_init_attr init = {
		.pd = side.pd,
		.create_flags = UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 1,
	};
	struct uroce_dv_mkey *const mkey = uroce_dv_create_mkey(&init);

	check(mkey, "no mkey");
	configure(mkey);
	side_swap(&side, mkey->rkey);
	const uint32_t rkey = (uint32_t)side_swap(&side, 0);
	const uint64_t remote_addr = side_swap(&side, 0);

	side_sync(&side); /* wait until the client has written the blocks */
	check_signatures();
	post_both(mkey, rkey, remote_addr);
	wait_for(ANSWER);
	check(error_of(mkey).err_type == UROCE_DV_MKEY_NO_ERR, "a good block is called bad");
	side_sync(&side); /* wait until the client has checked the data */

	buf.data[BAD_BLOCK * (BLOCK_LEN + DIF_LEN) + 99] ^= 1;
	post_both(mkey, rkey, remote_addr);
	answer_bad(mkey);
	side_sync(&side);
	check(uroce_dv_destroy_mkey(mkey) == 0, "the mkey stays");
	printf("%d blocks were signed, checked, and one of them found bad in time\n", NB_BLOCKS);
}

/* --- the client -------------------------------------------------------------------------------- */

static void
expect_data(enum answer answer)
{
	check(side_wait(&side, cq, IBV_WC_SUCCESS).opcode == IBV_WC_RECV, "no answer");
	check(buf.answer == answer, "the answer is %s", buf.answer == GOOD ? "good" : "bad");
	check(is_filled(buf.data, DATA_LEN, 1) == (answer == GOOD),
	      "the data is not as the answer");
}

static void
be_client(void)
{
	const uint32_t rkey = (uint32_t)side_swap(&side, 0);

	fill(buf.data, DATA_LEN, 1);
	post_write(mr->lkey, (uintptr_t)buf.data, rkey, 0);
	wait_for(DATA);
	memset(buf.data, 0, sizeof(buf.data));
	side_swap(&side, mr->rkey);
	side_swap(&side, (uintptr_t)buf.data);
	expect_answer();
	side_sync(&side);
	expect_data(GOOD);
	expect_answer();
	side_sync(&side);
	expect_data(BAD);
	side_sync(&side);
	printf("the data came twice: once it was good, and once it was not\n");
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
