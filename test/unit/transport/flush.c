/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ATOMIC_WRITE and FLUSH [IBA A19]: their effect, access rights, order, and duplicates.
 */

#include "rc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/newer_verbs.h"

static uint64_t *
word(enum pair_side side, uint32_t offset)
{
	return (uint64_t *)(pair.host[side].mem + offset);
}

static void
post_atomic_write(uint32_t local, uint32_t remote)
{
	assert_int_equal(pair_post(&pair, A,
				   &(struct pair_wr){
					   .opcode = (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
					   .len = 8,
					   .local = local,
					   .remote = remote,
				   }),
			 0);
}

static void
post_flush(uint32_t offset, uint64_t len, unsigned type, unsigned level)
{
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)UROCE_WR_FLUSH,
		.wr.atomic = {
			.remote_addr = (uintptr_t)pair.host[B].mem + offset,
			.rkey = pair.host[B].key,
			.compare_add = len,
			.swap = type | level << 4,
		},
	};

	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

static enum uroce_verdict
inject(uint8_t opcode, uint32_t psn, struct pair_pkt pkt)
{
	pkt.opcode = opcode;
	pkt.psn = psn;
	if (!pkt.va)
		pkt.va = (uintptr_t)pair.host[B].mem;
	if (!pkt.rkey)
		pkt.rkey = pair.host[B].key;
	if (opcode == UROCE_OP_ATOMIC_WRITE && !pkt.dma_len)
		pkt.dma_len = 8;
	if (opcode == UROCE_OP_ATOMIC_WRITE)
		pkt.payload_len = 8;
	return pair_inject(&pair, B, &pkt);
}

static void
expect_answer(const char *trace)
{
	pair_flush(&pair, B);
	pair_expect_trace(&pair, trace);
}

/* --- ATOMIC_WRITE requests --- */

static void
atomic_write__stores_and_is_answered(void **state)
{
	(void)state;
	*word(A, 0) = UINT64_C(0x1122334455667788);
	post_atomic_write(0, 64);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B ATOMIC_WRITE psn 0\nB>A READ_RESPONSE_ONLY psn 0\n");
	pair_expect_done(&pair, A, "send 0 ATOMIC_WRITE SUCCESS\n");
	assert_int_equal(*word(B, 64), UINT64_C(0x1122334455667788));
	assert_int_equal(*word(A, 0), UINT64_C(0x1122334455667788));
}

static void
atomic_write__lost_either_way_is_done_once(void **state)
{
	(void)state;
	*word(A, 0) = 7;
	post_atomic_write(0, 64);
	pair_lose(&pair, B, 0);
	pair_run_for(&pair, 3 * PAIR_LATENCY_NS);
	assert_int_equal(*word(B, 64), 7);
	*word(B, 64) = 9; /* another program overwrites the word */
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B ATOMIC_WRITE psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 0 LOST\n"
				 "A TIMEOUT\n"
				 "A>B ATOMIC_WRITE psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n");
	pair_expect_done(&pair, A, "send 0 ATOMIC_WRITE SUCCESS\n");
	assert_int_equal(*word(B, 64), 9);
}

static void
atomic_write__an_ack_of_what_follows_does_not_answer_it(void **state)
{
	(void)state;
	*word(A, 0) = 7;
	post_atomic_write(0, 64);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 8 });
	pair_lose(&pair, B, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B ATOMIC_WRITE psn 0\n"
				 "A>B WRITE_ONLY psn 1 A\n"
				 "B>A READ_RESPONSE_ONLY psn 0 LOST\n"
				 "B>A ACK psn 1\n"
				 "A>B ATOMIC_WRITE psn 0\n"
				 "A>B WRITE_ONLY psn 1 A\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 ATOMIC_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

static void
atomic_write__fence_waits_for_it(void **state)
{
	(void)state;
	post_atomic_write(0, 64);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_WRITE, .len = 8, .flags = IBV_SEND_FENCE });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B ATOMIC_WRITE psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "A>B WRITE_ONLY psn 1 A\n"
				 "B>A ACK psn 1\n");
}

static void
atomic_write__refusals(void **state)
{
	static const struct {
		uint64_t skew;
		uint32_t dma_len;
		uint32_t key_flip;
		unsigned access;
		enum uroce_verdict verdict;
		const char *answer;
	} rows[] = {
		{ 4, 8, 0, 15, UROCE_VERDICT_BAD_REQUEST, "B>A NAK_INV_REQUEST psn 0\n" },
		{ 0, 16, 0, 15, UROCE_VERDICT_BAD_REQUEST, "B>A NAK_INV_REQUEST psn 0\n" },
		{ 0, 8, 1, 15, UROCE_VERDICT_NO_ACCESS, "B>A NAK_REM_ACCESS psn 0\n" },
		{ 0, 8, 0, IBV_ACCESS_REMOTE_ATOMIC, UROCE_VERDICT_NO_ACCESS,
		  "B>A NAK_REM_ACCESS psn 0\n" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair_conf conf = pair_conf(IBV_QPT_RC);

		(void)state;
		conf.access = rows[i].access;
		pair_open(&pair, &conf);
		assert_int_equal(inject(UROCE_OP_ATOMIC_WRITE, 0,
					(struct pair_pkt){
						.va = (uintptr_t)pair.host[B].mem + rows[i].skew,
						.rkey = pair.host[B].key ^ rows[i].key_flip,
						.dma_len = rows[i].dma_len,
					}),
				 rows[i].verdict);
		expect_answer(rows[i].answer);
		assert_int_equal(*word(B, 0), 0);
		pair_close(&pair);
	}
}

static void
atomic_write__inside_a_message_is_out_of_sequence(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 4096);
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_SEND_FIRST, .payload_len = 1024 });
	assert_int_equal(inject(UROCE_OP_ATOMIC_WRITE, 1, (struct pair_pkt){ 0 }),
			 UROCE_VERDICT_BAD_SEQUENCE);
}

static void
atomic_write__local_memory_refused(void **state)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem, .length = 8, .lkey = 0 };
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
	};

	(void)state;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\n");
}

static void
atomic_write__forgotten_duplicate_is_stale(void **state)
{
	(void)state;
	assert_int_equal(inject(UROCE_OP_ATOMIC_WRITE, 0xffffff, (struct pair_pkt){ 0 }),
			 UROCE_VERDICT_STALE);
	assert_int_equal(*word(B, 0), 0);
}

/* --- resources that READs, ATOMIC_WRITEs and FLUSHes share --- */

static void
rd_resources__are_shared_by_all_that_need_an_answer(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 2;
	conf.max_dest_rd_atomic = 2;
	pair_open(&pair, &conf);
	post_atomic_write(0, 64);
	post_flush(0, 8, UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B ATOMIC_WRITE psn 0\n"
				 "A>B FLUSH psn 1\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n"
				 "A>B READ_REQUEST psn 2 len 8\n"
				 "B>A READ_RESPONSE_ONLY psn 2\n");
	pair_close(&pair);
}

static void
completer_recv__answer_with_payload_is_malformed(void **state)
{
	(void)state;
	post_flush(0, 8, UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE);
	pair_flush(&pair, A);
	assert_int_equal(pair_inject(&pair, A,
				     &(struct pair_pkt){ .opcode = UROCE_OP_READ_RESPONSE_ONLY,
							 .payload_len = 4,
							 .syndrome = 0x1f }),
			 UROCE_VERDICT_BAD_RESPONSE);
	pair_expect_done(&pair, A, "send 0 BAD_RESP_ERR\n");
}

static void
completer_recv__atomic_ack_does_not_answer_a_flush(void **state)
{
	(void)state;
	post_flush(0, 8, UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE);
	pair_flush(&pair, A);
	assert_int_equal(
		pair_inject(&pair, A,
			    &(struct pair_pkt){ .opcode = UROCE_OP_ATOMIC_ACK, .syndrome = 0x1f }),
		UROCE_VERDICT_BAD_RESPONSE);
}

/* --- FLUSH requests --- */

static void
flush__each_placement_and_level(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 100 });
	for (unsigned type = 1; type <= 3; type++) {
		post_flush(0, 100, type, UROCE_FLUSH_RANGE);
		post_flush(0, 0, type, UROCE_FLUSH_MR);
	}
	pair_run(&pair);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 FLUSH SUCCESS\nsend 2 FLUSH SUCCESS\n"
			 "send 3 FLUSH SUCCESS\nsend 4 FLUSH SUCCESS\nsend 5 FLUSH SUCCESS\n"
			 "send 6 FLUSH SUCCESS\n");
}

static void
flush__duplicate_is_answered_again(void **state)
{
	(void)state;
	post_flush(0, 100, UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE);
	pair_lose(&pair, B, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B FLUSH psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 0 LOST\n"
				 "A TIMEOUT\n"
				 "A>B FLUSH psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_DUPLICATE], 1);
}

static void
flush__refusals(void **state)
{
	static const struct {
		uint32_t sel_plt;
		uint32_t dma_len;
		unsigned qp_access;
		uint32_t key_flip;
		enum uroce_verdict verdict;
	} rows[] = {
		/* the FLUSH has no placement type */
		{ 0x00, 8, 0x30f, 0, UROCE_VERDICT_BAD_REQUEST },
		/* the FLUSH has an unknown placement type */
		{ 0x05, 8, 0x30f, 0, UROCE_VERDICT_BAD_REQUEST },
		/* the FLUSH has an unknown selectivity level */
		{ 0x21, 8, 0x30f, 0, UROCE_VERDICT_BAD_REQUEST },
		{ 0x01, 8, 0x20f, 0, UROCE_VERDICT_BAD_REQUEST }, /* the QP does not allow FLUSH */
		{ 0x02, 8, 0x10f, 0, UROCE_VERDICT_BAD_REQUEST },
		{ 0x01, 8, 0x30f, 1, UROCE_VERDICT_NO_ACCESS },
		{ 0x11, 0, 0x30f, 1, UROCE_VERDICT_NO_ACCESS },
		{ 0x01, (1 << 20) + 1, 0x30f, 0, UROCE_VERDICT_NO_ACCESS },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair_conf conf = pair_conf(IBV_QPT_RC);

		(void)state;
		conf.access = rows[i].qp_access;
		pair_open(&pair, &conf);
		assert_int_equal(inject(UROCE_OP_FLUSH, 0,
					(struct pair_pkt){
						.sel_plt = rows[i].sel_plt,
						.dma_len = rows[i].dma_len,
						.rkey = pair.host[B].key ^ rows[i].key_flip,
					}),
				 rows[i].verdict);
		expect_answer(rows[i].verdict == UROCE_VERDICT_NO_ACCESS
				      ? "B>A NAK_REM_ACCESS psn 0\n"
				      : "B>A NAK_INV_REQUEST psn 0\n");
		pair_close(&pair);
	}
}

static void
flush__region_must_grant_it(void **state)
{
	const uint32_t rkey = pair_register(&pair, B, pair.host[B].mem, 100,
					    IBV_ACCESS_LOCAL_WRITE | UROCE_ACCESS_FLUSH_GLOBAL);

	(void)state;
	assert_int_equal(inject(UROCE_OP_FLUSH, 0,
				(struct pair_pkt){ .sel_plt = 1, .dma_len = 100, .rkey = rkey }),
			 UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_FLUSH, 1,
				(struct pair_pkt){ .sel_plt = 3, .dma_len = 100, .rkey = rkey }),
			 UROCE_VERDICT_NO_ACCESS);
}

static void
flush__not_on_uc(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

	(void)state;
	pair_open(&pair, &conf);
	post_flush(0, 8, UROCE_FLUSH_GLOBAL, UROCE_FLUSH_RANGE);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_QP_OP_ERR\n");
	pair_close(&pair);
}

static void
flush__on_xrc(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_XRC_SEND);
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)UROCE_WR_FLUSH };

	(void)state;
	pair_open(&pair, &conf);
	wr.wr.atomic.remote_addr = (uintptr_t)pair.host[B].mem;
	wr.wr.atomic.rkey = pair.host[B].key;
	wr.wr.atomic.compare_add = 8;
	wr.wr.atomic.swap = UROCE_FLUSH_GLOBAL;
	wr.qp_type.xrc.remote_srqn = pair.host[B].srq.srqn;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	*word(A, 0) = 3;
	post_atomic_write(0, 64);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B FLUSH psn 0\n"
				 "A>B ATOMIC_WRITE psn 1\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n");
	pair_expect_done(&pair, A, "send 0 FLUSH SUCCESS\nsend 1 ATOMIC_WRITE SUCCESS\n");
	assert_int_equal(*word(B, 64), 3);
	pair_close(&pair);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(atomic_write__stores_and_is_answered),
		TEST(atomic_write__lost_either_way_is_done_once),
		TEST(atomic_write__an_ack_of_what_follows_does_not_answer_it),
		TEST(atomic_write__fence_waits_for_it),
		cmocka_unit_test(atomic_write__refusals),
		TEST(atomic_write__inside_a_message_is_out_of_sequence),
		TEST(atomic_write__local_memory_refused),
		TEST(atomic_write__forgotten_duplicate_is_stale),
		cmocka_unit_test(rd_resources__are_shared_by_all_that_need_an_answer),
		TEST(completer_recv__answer_with_payload_is_malformed),
		TEST(completer_recv__atomic_ack_does_not_answer_a_flush),
		TEST(flush__each_placement_and_level),
		TEST(flush__duplicate_is_answered_again),
		cmocka_unit_test(flush__refusals),
		TEST(flush__region_must_grant_it),
		cmocka_unit_test(flush__not_on_uc),
		cmocka_unit_test(flush__on_xrc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
