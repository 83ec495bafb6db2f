/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The requester [IBA 9.7.3, 9.7.5.2]: what goes on the wire for each request, and who asks for an
 * acknowledgement.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

static struct pair pair;

static void
open_rc(void)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	pair_open(&pair, &conf);
}

/* --- the ladder of each operation --- */

static void
req_send__send_of_three_packets(void **state)
{
	(void)state;
	open_rc();
	pair_fill(&pair, A, 0, 3000, 1);
	pair_post_recv(&pair, B, 0, 4096);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 3000\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
	pair_close(&pair);
}

static void
req_send__write_of_three_packets(void **state)
{
	(void)state;
	open_rc();
	pair_fill(&pair, A, 100, 3072, 1);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_WRITE, .len = 3072, .local = 100, .remote = 501 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_expect_done(&pair, B, "");
	assert_true(pair_is_equal(&pair, 100, 501, 3072));
	pair_close(&pair);
}

static void
req_send__write_with_imm_takes_a_receive(void **state)
{
	(void)state;
	open_rc();
	pair_fill(&pair, A, 0, 1025, 1);
	pair_post_recv(&pair, B, 0, 0);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				     .len = 1025,
				     .remote = 64,
				     .imm = 0x12345678,
				     .flags = IBV_SEND_SOLICITED });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST_IMM psn 1 S A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV_RDMA_WITH_IMM SUCCESS 1025 imm 12345678\n");
	assert_true(pair_is_equal(&pair, 0, 64, 1025));
	pair_close(&pair);
}

static void
req_send__read_of_three_packets(void **state)
{
	(void)state;
	open_rc();
	pair_fill(&pair, B, 7, 2049, 1);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_READ, .len = 2049, .local = 3, .remote = 7 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 2049\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_true(pair_is_equal(&pair, 3, 7, 2049));
	pair_close(&pair);
}

static uint64_t *
word(enum pair_side side, uint32_t offset)
{
	return (uint64_t *)(pair.host[side].mem + offset);
}

static void
req_send__compare_and_swap_that_matches(void **state)
{
	(void)state;
	open_rc();
	*word(B, 16) = 5;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				     .remote = 16,
				     .local = 8,
				     .compare_add = 5,
				     .swap = 77 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B CMP_SWAP psn 0\n"
				 "B>A ATOMIC_ACK psn 0\n");
	pair_expect_done(&pair, A, "send 0 COMP_SWAP SUCCESS\n");
	assert_int_equal(*word(B, 16), 77);
	assert_int_equal(*word(A, 8), 5);
	pair_close(&pair);
}

static void
req_send__compare_and_swap_that_differs(void **state)
{
	(void)state;
	open_rc();
	*word(B, 16) = 6;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				     .remote = 16,
				     .compare_add = 5,
				     .swap = 77 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 COMP_SWAP SUCCESS\n");
	assert_int_equal(*word(B, 16), 6);
	assert_int_equal(*word(A, 0), 6);
	pair_close(&pair);
}

static void
req_send__fetch_and_add(void **state)
{
	(void)state;
	open_rc();
	*word(B, 8) = UINT64_MAX;
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote = 8, .compare_add = 3 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .remote = 8,
				     .local = 8,
				     .compare_add = 40 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B FETCH_ADD psn 0\n"
				 "A>B FETCH_ADD psn 1\n"
				 "B>A ATOMIC_ACK psn 0\n"
				 "B>A ATOMIC_ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 FETCH_ADD SUCCESS\nsend 1 FETCH_ADD SUCCESS\n");
	assert_int_equal(*word(A, 0), UINT64_MAX);
	assert_int_equal(*word(A, 8), 2);
	assert_int_equal(*word(B, 8), 42);
	pair_close(&pair);
}

/* --- every operation at every size that is a boundary, at every MTU, across the PSN wrap --- */

static void
move(enum ibv_wr_opcode opcode, enum ibv_mtu mtu, uint32_t len, uint32_t psn)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = mtu;
	conf.psn[A] = psn;
	conf.is_quiet = true;
	pair_open(&pair, &conf);
	pair_fill(&pair, A, 0, len + 8, 1);
	pair_fill(&pair, B, 0, len + 8, 2);
	pair_post_recv(&pair, B, 0, len);
	assert_int_equal(pair_post(&pair, A, &(struct pair_wr){ .opcode = opcode, .len = len }), 0);
	pair_run(&pair);
	assert_non_null(strstr(pair_completions(&pair, A), "SUCCESS"));
	assert_true(pair_is_equal(&pair, 0, 0, len));
	/* and no byte more */
	assert_false(pair_is_equal(&pair, len, len, 8));
	assert_int_equal(pair.host[A].qpc.req.una_psn,
			 uroce_psn_add(psn, len ? (len + (128u << mtu) - 1) / (128u << mtu) : 1));
	assert_int_equal(pair.host[B].qpc.resp.epsn, pair.host[A].qpc.req.una_psn);
	assert_int_equal(pair.host[A].qpc.stats.retransmits, 0);
	pair_close(&pair);
}

static void
req_send__every_operation_at_every_boundary(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_RDMA_READ };
	static const uint32_t psns[] = { 0, 0xfffffd, 0xffffff, 0x7fffff };

	(void)state;
	for (int mtu_code = IBV_MTU_256; mtu_code <= IBV_MTU_4096; mtu_code++) {
		const uint32_t mtu = 128u << mtu_code;
		const uint32_t chunk = UROCE_READ_CHUNK_PSNS * mtu;
		const uint32_t lens[] = { 0,       1,         3,         mtu - 1,      mtu,
					  mtu + 1, 2 * mtu,   3 * mtu,   3 * mtu + 1,  chunk - 1,
					  chunk,   chunk + 1, 2 * chunk, 2 * chunk + 5 };

		for (unsigned op = 0; op < 5; op++) {
			for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
				move(opcodes[op], (enum ibv_mtu)mtu_code, lens[i],
				     psns[(i + op) % 4]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req_send__send_of_three_packets),
		cmocka_unit_test(req_send__write_of_three_packets),
		cmocka_unit_test(req_send__write_with_imm_takes_a_receive),
		cmocka_unit_test(req_send__read_of_three_packets),
		cmocka_unit_test(req_send__compare_and_swap_that_matches),
		cmocka_unit_test(req_send__compare_and_swap_that_differs),
		cmocka_unit_test(req_send__fetch_and_add),
		cmocka_unit_test(req_send__every_operation_at_every_boundary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
