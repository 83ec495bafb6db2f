/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests that cannot be sent: earlier requests complete, the bad request fails with its status,
 * later ones are flushed.
 */

#include "rc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

/* --- requests that cannot be sent --- */

/*
 * Post five requests. The third one has an SGE with an invalid key, behind `bad_offset` valid
 * bytes.
 */
static void
post_five_third_is_bad(uint32_t bad_offset)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)pair.host[A].mem, bad_offset, pair.host[A].key },
		{ (uintptr_t)pair.host[A].mem, 100, pair.host[A].key + 1 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2 };

	for (unsigned i = 0; i < 5; i++) {
		if (i == 2)
			assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
		else
			assert_int_equal(
				pair_post(&pair, A,
					  &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 }),
				0);
		pair_post_recv(&pair, A, 0, 10);
		pair_post_recv(&pair, B, 0, 8192);
	}
}

static const char third_is_bad[] = "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\nsend 2 LOC_PROT_ERR\n"
				   "send 3 WR_FLUSH_ERR\nsend 4 WR_FLUSH_ERR\n"
				   "recv 0 WR_FLUSH_ERR\nrecv 1 WR_FLUSH_ERR\nrecv 2 WR_FLUSH_ERR\n"
				   "recv 3 WR_FLUSH_ERR\nrecv 4 WR_FLUSH_ERR\n";

static void
req_send__third_of_five_cannot_be_sent(void **state)
{
	(void)state;
	open_pair(NULL);
	post_five_third_is_bad(0);
	pair_run(&pair);
	/*
	 * PSN 1 was sent without an ACK request, because more requests followed; when it turns out
	 * to be the last packet, it is retransmitted at once
	 */
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n"
				 "A>B SEND_ONLY psn 1\n"
				 "A>B SEND_ONLY psn 1 A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, third_is_bad);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\nrecv 1 RECV SUCCESS 10\n");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_ERR);
	pair_close(&pair);
}

static void
req_send__third_of_five_fails_in_its_middle(void **state)
{
	(void)state;
	open_pair(NULL);
	post_five_third_is_bad(2 * 1024);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n"
				 "A>B SEND_ONLY psn 1\n"
				 "A>B SEND_FIRST psn 2\n"
				 "A>B SEND_MIDDLE psn 3\n"
				 "A>B SEND_MIDDLE psn 3 A\n"
				 "B>A ACK psn 3\n");
	pair_expect_done(&pair, A, third_is_bad);
	pair_close(&pair);
}

static void
req_send__fault_behind_a_lost_packet_waits_for_its_repair(void **state)
{
	(void)state;
	open_pair(NULL);
	post_five_third_is_bad(0);
	pair_lose(&pair, A, 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, third_is_bad);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\nrecv 1 RECV SUCCESS 10\n");
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	pair_close(&pair);
}

static void
req_send__fault_behind_a_read_needs_no_ack(void **state)
{
	struct ibv_sge sge = { 0, 100, 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	(void)state;
	open_pair(NULL);
	post_writes(1, 10);
	post_read(10);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B READ_REQUEST psn 1 len 10\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 LOC_PROT_ERR\n");
	pair_close(&pair);
}

static void
req_send__fault_posted_later_fails_at_once(void **state)
{
	struct ibv_sge sge = { 0, 100, 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	(void)state;
	open_pair(NULL);
	post_writes(1, 10);
	pair_run(&pair);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 LOC_PROT_ERR\n");
	pair_close(&pair);
}

static void
req_send__reads_and_atomics_where_none_were_agreed(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 0;
	for (unsigned i = 0; i < 3; i++) {
		pair_open(&pair, &conf);
		post_writes(1, 10);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = opcodes[i], .len = 10 });
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 LOC_QP_OP_ERR\n");
		pair_close(&pair);
	}
}

static void
req_send__what_uc_does_not_have_is_refused(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD,
						      IBV_WR_SEND_WITH_INV };
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		pair_open(&pair, &conf);
		post_writes(1, 10);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = opcodes[i], .len = 10 });
		post_writes(1, 10);
		pair_run(&pair);
		pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n");
		pair_expect_done(&pair, A,
				 "send 0 RDMA_WRITE SUCCESS\nsend 1 LOC_QP_OP_ERR\n"
				 "send 2 WR_FLUSH_ERR\n");
		assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQE);
		pair_close(&pair);
	}
}

/* --- requests that do not complete before the frames of earlier ones are built --- */

#define NB_TXD 8

/* Provide a header buffer for each descriptor of a burst. */
static void
make_room(struct uroce_txd txd[NB_TXD])
{
	static uint8_t hdr[NB_TXD][UROCE_HDR_MAX];

	for (unsigned i = 0; i < NB_TXD; i++)
		txd[i].hdr = hdr[i];
}

static void
qpc_sent__fault_waits_for_the_packets_before_it(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct uroce_txd txd[NB_TXD];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct pair_conf conf = pair_conf(types[i]);

		pair_open(&pair, &conf);
		struct ibv_sge sge[2] = {
			{ (uintptr_t)pair.host[A].mem, 1024, pair.host[A].key },
			{ (uintptr_t)pair.host[A].mem, 100, pair.host[A].key + 1 },
		};
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 2 };

		assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
		make_room(txd);
		assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, NB_TXD, 0), 1);
		assert_ptr_equal(txd[0].slice[0].addr, pair.host[A].mem);
		pair_expect_done(&pair, A, "");
		uroce_qpc_sent(&pair.host[A].qpc, 0);
		pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\n");
		pair_close(&pair);
	}
}

static void
qpc_sent__flush_waits_for_the_packets_before_it(void **state)
{
	struct uroce_txd txd[NB_TXD];
	struct pair_pkt pkt = {
		.opcode = UROCE_OP_READ_REQUEST,
		.dma_len = 4096,
	};

	(void)state;
	open_pair(NULL);
	pkt.va = (uintptr_t)pair.host[B].mem;
	pkt.rkey = pair.host[B].key;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	/*
	 * invalidate the region of the second READ: its response fails in the burst that also sends
	 * a request
	 */
	pkt.psn = 4;
	pkt.rkey = pair_register(&pair, B, pair.host[B].mem, 4096, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(uroce_mr_invalidate(pair.host[B].mrs, pkt.rkey), 0);
	assert_int_equal(pair_post(&pair, B, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 }),
			 0);
	make_room(txd);
	/* the burst has four READ responses, the SEND, and a NAK for the second READ */
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, NB_TXD, 0), 6);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_ptr_equal(txd[4].slice[0].addr, pair.host[B].mem);
	pair_expect_done(&pair, B, "");
	uroce_qpc_sent(&pair.host[B].qpc, 0);
	pair_expect_done(&pair, B, "send 0 WR_FLUSH_ERR\n");
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req_send__third_of_five_cannot_be_sent),
		cmocka_unit_test(req_send__third_of_five_fails_in_its_middle),
		cmocka_unit_test(req_send__fault_behind_a_lost_packet_waits_for_its_repair),
		cmocka_unit_test(req_send__fault_behind_a_read_needs_no_ack),
		cmocka_unit_test(req_send__fault_posted_later_fails_at_once),
		cmocka_unit_test(req_send__reads_and_atomics_where_none_were_agreed),
		cmocka_unit_test(req_send__what_uc_does_not_have_is_refused),
		cmocka_unit_test(qpc_sent__fault_waits_for_the_packets_before_it),
		cmocka_unit_test(qpc_sent__flush_waits_for_the_packets_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
