/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the extended calls of verbs. The client builds its requests by ibv_wr_...() and posts
 * several of them together. The server reads its completions and their timestamps by
 * ibv_start_poll() and the related calls.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NB_BLOCK  64
#define BLOCK_LEN 5000
#define BATCH     8    /* number of blocks that are posted together */
#define TEXT_LEN  16   /* length of the message that follows each block */
#define FIRST     1000 /* first value of the counter in the memory of the server */

static struct side side;
static struct ibv_cq_ex *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct {
	/* counter in the memory of the server, to which the client adds by an atomic */
	uint64_t counter;
	uint8_t blocks[NB_BLOCK][BLOCK_LEN];
	char texts[NB_BLOCK][TEXT_LEN];
} mem;

static void
make_queues(void)
{
	struct ibv_cq_init_attr_ex cq_init = {
		.cqe = NB_BLOCK,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = side.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		.cap = { .max_send_wr = 2 * BATCH,
			 .max_recv_wr = NB_BLOCK,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = TEXT_LEN },
	};

	check((mr = uroce_reg_mr(side.pd, &mem, sizeof(mem), SIDE_ACCESS)), "no region");
	check((cq = uroce_create_cq_ex(side.context, &cq_init)), "no CQ");
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
	check((qp = uroce_create_qp_ex(side.context, &init)), "no QP");
}

static void
destroy_queues(void)
{
	check(uroce_destroy_qp(qp) == 0, "the QP stays");
	check(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0, "the CQ stays");
	check(uroce_dereg_mr(mr) == 0, "the region stays");
}

static void
make_text(char *text, unsigned number)
{
	memset(text, 0, TEXT_LEN);
	snprintf(text, TEXT_LEN, "block %u", number);
}

/* --- the server -------------------------------------------------------------------------------- */

static uint64_t
clock_ns(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	check(uroce_query_rt_values_ex(side.context, &values) == 0, "the device has no clock");
	return (uint64_t)values.raw_clock.tv_nsec;
}

/*
 * Check one completion of a message. The block that was written before the message must have
 * arrived, and timestamps of completions must not decrease.
 */
static void
take(unsigned number)
{
	static uint64_t last_ns;
	char text[TEXT_LEN];

	check(cq->status == IBV_WC_SUCCESS, "%s", uroce_wc_status_str(cq->status));
	check(cq->wr_id == number && ibv_wc_read_opcode(cq) == IBV_WC_RECV &&
		      ibv_wc_read_qp_num(cq) == qp->qp_num &&
		      ibv_wc_read_wc_flags(cq) == IBV_WC_WITH_IMM &&
		      ntohl(ibv_wc_read_imm_data(cq)) == number &&
		      ibv_wc_read_byte_len(cq) == TEXT_LEN,
	      "completion %u is not that of message %u", (unsigned)cq->wr_id, number);
	make_text(text, number);
	check(memcmp(mem.texts[number], text, TEXT_LEN) == 0, "message %u was changed", number);
	check(is_filled(mem.blocks[number], BLOCK_LEN, number), "block %u was changed", number);
	const uint64_t now_ns = ibv_wc_read_completion_ts(cq);

	check(now_ns >= last_ns && now_ns <= clock_ns(), "completion %u is out of time", number);
	check(last_ns != 0 || number == 0, "completion %u has no time", number - 1);
	last_ns = now_ns;
}

/* Read all completions that are available. @return the number of completions */
static unsigned
take_batch(unsigned number)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = ibv_start_poll(cq, &attr);
	unsigned nb = 0;

	if (ret == ENOENT)
		/* the CQ is empty, so no poll has started, and ibv_end_poll() must not be called */
		return 0;
	for (; ret == 0; ret = ibv_next_poll(cq))
		take(number + nb++);
	check(ret == ENOENT, "the completion queue is lost");
	ibv_end_poll(cq);
	return nb;
}

static void
be_server(void)
{
	unsigned nb_received = 0, nb_batches = 0;

	for (unsigned i = 0; i < NB_BLOCK; i++) {
		struct ibv_sge sge = { (uintptr_t)mem.texts[i], TEXT_LEN, mr->lkey };
		struct ibv_recv_wr *bad_wr, wr = { i, NULL, &sge, 1 };

		check(ibv_post_recv(qp, &wr, &bad_wr) == 0, "cannot post");
	}
	mem.counter = FIRST;
	side_swap(&side, (uintptr_t)&mem);
	side_swap(&side, mr->rkey);
	while (nb_received < NB_BLOCK) {
		const unsigned nb = take_batch(nb_received);

		if (nb == 0)
			side_idle(&side);
		nb_received += nb;
		nb_batches += nb > 0;
	}
	side_sync(&side);
	check(mem.counter == FIRST + NB_BLOCK, "the counter stands at %lu",
	      (unsigned long)mem.counter);
	printf("%u messages in %u batches, each with its time\n", nb_received, nb_batches);
}

/* --- the client -------------------------------------------------------------------------------- */

static struct ibv_qp_ex *wr; /* the QP, in the form that the ibv_wr_...() calls take */
static uint64_t their_addr;
static uint32_t their_rkey;

static void
wait_for(uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	const struct ibv_wc wc = side_wait(&side, ibv_cq_ex_to_cq(cq), IBV_WC_SUCCESS);

	check(wc.wr_id == wr_id && wc.opcode == opcode, "request %u completes, and not %u",
	      (unsigned)wc.wr_id, (unsigned)wr_id);
}

/*
 * Build two requests: a WRITE, for which the server gets no completion, and behind it a SEND, whose
 * completion tells the server that the written block has arrived.
 */
static void
build(unsigned number)
{
	char text[TEXT_LEN];

	fill(mem.blocks[number], BLOCK_LEN, number);
	make_text(text, number);
	wr->wr_id = number;
	wr->wr_flags = 0;
	ibv_wr_rdma_write(wr, their_rkey,
			  their_addr + ((uintptr_t)mem.blocks[number] - (uintptr_t)&mem));
	ibv_wr_set_sge(wr, mr->lkey, (uintptr_t)mem.blocks[number], BLOCK_LEN);
	wr->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(wr, htonl(number));
	/*
	 * ibv_wr_set_inline_data() copies the data, so `text` may be changed when the call has
	 * returned
	 */
	ibv_wr_set_inline_data(wr, text, TEXT_LEN);
}

static void
post_batch(unsigned begin)
{
	ibv_wr_start(wr);
	for (unsigned i = 0; i < BATCH; i++)
		build(begin + i);
	check(ibv_wr_complete(wr) == 0, "cannot post");
	for (unsigned i = 0; i < BATCH; i++)
		wait_for(begin + i, IBV_WC_SEND);
}

/* Read all blocks of the server in one request, and add to the counter of the server by atomics. */
static void
read_back(void)
{
	memset(mem.blocks, 0, sizeof(mem.blocks));
	ibv_wr_start(wr);
	wr->wr_id = 1;
	wr->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(wr, their_rkey, their_addr + ((uintptr_t)mem.blocks - (uintptr_t)&mem));
	ibv_wr_set_sge(wr, mr->lkey, (uintptr_t)mem.blocks, sizeof(mem.blocks));
	wr->wr_id = 2;
	ibv_wr_atomic_fetch_add(wr, their_rkey, their_addr, NB_BLOCK);
	ibv_wr_set_sge(wr, mr->lkey, (uintptr_t)&mem.counter, sizeof(mem.counter));
	check(ibv_wr_complete(wr) == 0, "cannot post");
	wait_for(1, IBV_WC_RDMA_READ);
	wait_for(2, IBV_WC_FETCH_ADD);
	for (unsigned i = 0; i < NB_BLOCK; i++)
		check(is_filled(mem.blocks[i], BLOCK_LEN, i), "block %u comes back changed", i);
	check(mem.counter == FIRST, "the counter was at %lu", (unsigned long)mem.counter);
}

static void
be_client(void)
{
	check((wr = uroce_qp_to_qp_ex(qp)), "not an extended QP");
	their_addr = side_swap(&side, 0);
	their_rkey = (uint32_t)side_swap(&side, 0);
	for (unsigned begin = 0; begin < NB_BLOCK; begin += BATCH)
		post_batch(begin);
	read_back();
	side_sync(&side);
	printf("%u blocks of %u bytes, written and read back\n", NB_BLOCK, BLOCK_LEN);
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
