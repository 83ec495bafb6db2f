/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Properties of all requests: up to 32 SGEs, messages of length 0, inline data, an event at the
 * peer, unsignaled requests. Also the order in which requests of different kinds take effect [IBA
 * 10.8.3].
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "base/newer_verbs.h"

#define NB_SGE 32

static struct pair pair;

static void
open_type(enum ibv_qp_type type)
{
	struct pair_conf conf = pair_conf(type);

	conf.max_sge = NB_SGE;
	conf.max_inline = 2048;
	conf.mtu = IBV_MTU_256;
	pair_open(&pair, &conf);
}

static int
open_rc(void **state)
{
	(void)state;
	open_type(IBV_QPT_RC);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

/*
 * Make NB_SGE SGEs of 1, 2, 3 .. bytes. Their addresses decrease, with gaps between them.
 * @return the sum of the lengths
 */
static uint32_t
make_list(enum pair_side side, uint32_t offset, struct ibv_sge *sge)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < NB_SGE; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)pair.host[side].mem + offset + 64 * (NB_SGE - 1 - i),
			.length = i + 1,
			.lkey = pair.host[side].key,
		};
		len += i + 1;
	}
	return len;
}

static void
flatten(uint8_t *to, const struct ibv_sge *sge)
{
	for (uint32_t i = 0; i < NB_SGE; i++) {
		memcpy(to, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		to += sge[i].length;
	}
}

static void
post_list(enum ibv_wr_opcode opcode, struct ibv_sge *sge, uint32_t remote)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = NB_SGE,
		.wr.rdma = { (uintptr_t)pair.host[B].mem + remote, pair.host[B].key },
	};

	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

/* --- requests with 32 SGEs --- */

static void
elements__write_gathers_32(void **state)
{
	struct ibv_sge sge[NB_SGE];
	uint8_t flat[NB_SGE * NB_SGE];
	const uint32_t len = make_list(A, 100, sge);

	(void)state;
	pair_fill(&pair, A, 0, 4096, 1);
	flatten(flat, sge);
	post_list(IBV_WR_RDMA_WRITE, sge, 77);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	assert_memory_equal(pair.host[B].mem + 77, flat, len);
}

static void
elements__read_scatters_to_32(void **state)
{
	struct ibv_sge sge[NB_SGE];
	uint8_t flat[NB_SGE * NB_SGE];
	const uint32_t len = make_list(A, 100, sge);

	(void)state;
	pair_fill(&pair, B, 0, 4096, 1);
	post_list(IBV_WR_RDMA_READ, sge, 77);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	flatten(flat, sge);
	assert_memory_equal(pair.host[B].mem + 77, flat, len);
}

static void
elements__send_from_32_to_32(void **state)
{
	struct ibv_sge from[NB_SGE], to[NB_SGE];
	uint8_t sent[NB_SGE * NB_SGE], got[NB_SGE * NB_SGE];
	const uint32_t len = make_list(A, 100, from);

	for (unsigned is_uc = 0; is_uc < 2; is_uc++) {
		if (is_uc) {
			close_pair(state);
			open_type(IBV_QPT_UC);
			make_list(A, 100, from);
		}
		make_list(B, 5000, to);
		struct ibv_recv_wr recv = { .sg_list = to, .num_sge = NB_SGE };

		pair_fill(&pair, A, 0, 4096, 1);
		assert_int_equal(pair_post_recv_raw(&pair, B, &recv), 0);
		post_list(IBV_WR_SEND, from, 0);
		pair_run(&pair);
		pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 528\n");
		flatten(sent, from);
		flatten(got, to);
		assert_memory_equal(sent, got, len);
	}
}

static void
elements__one_of_32_refused_changes_nothing_here(void **state)
{
	struct ibv_sge sge[NB_SGE];

	(void)state;
	make_list(A, 100, sge);
	sge[NB_SGE - 1].lkey ^= 1;
	post_list(IBV_WR_RDMA_READ, sge, 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\n");
}

/* --- messages of length 0 --- */

static void
nothing__each_operation_on_rc(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 0);
	pair_post_recv(&pair, B, 0, 0);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = 1 });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n"
				 "A>B WRITE_ONLY psn 1\n"
				 "A>B WRITE_ONLY_IMM psn 2\n"
				 "A>B READ_REQUEST psn 3 len 0\n"
				 "B>A READ_RESPONSE_ONLY psn 3\n");
	pair_expect_done(&pair, A,
			 "send 0 SEND SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\nsend 3 RDMA_READ SUCCESS\n");
	pair_expect_done(
		&pair, B,
		"recv 0 RECV SUCCESS 0\nrecv 1 RECV_RDMA_WITH_IMM SUCCESS 0 imm 00000001\n");
}

static void
nothing__needs_no_key(void **state)
{
	struct ibv_sge sge = { .addr = 1, .length = 0, .lkey = 0xdead };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { 3, 0xbeef },
	};

	(void)state;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_READ SUCCESS\n");
}

static void
nothing__on_uc_and_ud(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		const char *done;
	} rows[] = {
		{ IBV_QPT_UC, "recv 0 RECV SUCCESS 0\n" },
		{ IBV_QPT_UD, "recv 0 RECV SUCCESS 40 from aaaaa1\n" },
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_type(rows[i].type);
		pair_post_recv(&pair, B, 0, 40);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND });
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
		pair_expect_done(&pair, B, rows[i].done);
		pair_close(&pair);
	}
}

/* --- inline data --- */

static void
inline__several_elements_and_packets_and_again_after_a_loss(void **state)
{
	uint8_t data[1500];
	struct ibv_sge sge[3] = {
		{ (uintptr_t)data, 1, 0 },
		{ (uintptr_t)data + 1, 700, 0 },
		{ (uintptr_t)data + 701, 799, 0 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = sge,
		.num_sge = 3,
		.wr.rdma = { (uintptr_t)pair.host[B].mem, pair.host[B].key },
	};
	uint8_t sent[1500];

	(void)state;
	for (unsigned i = 0; i < sizeof(data); i++)
		sent[i] = data[i] = (uint8_t)(i * 7);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	/* after a post with inline data the program may change the data */
	memset(data, 0, sizeof(data));
	pair_lose(&pair, A, 2);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_memory_equal(pair.host[B].mem, sent, sizeof(sent));
}

/* --- solicited events at the peer --- */

static uint32_t
events_of(enum ibv_wr_opcode opcode, unsigned flags)
{
	pair_post_recv(&pair, B, 0, 100);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = opcode, .len = 8, .remote = 4096, .flags = flags });
	pair_run(&pair);
	return pair_events(&pair, B);
}

static void
solicited__wakes_who_waits_for_it(void **state)
{
	(void)state;
	uroce_cq_arm(&pair.host[B].recv_cq, true);
	assert_int_equal(events_of(IBV_WR_SEND, 0), 0);
	assert_int_equal(events_of(IBV_WR_RDMA_WRITE_WITH_IMM, 0), 0);
	/* a WRITE completes no receive request, so it causes no event at the peer */
	assert_int_equal(events_of(IBV_WR_RDMA_WRITE, IBV_SEND_SOLICITED), 0);
	assert_int_equal(events_of(IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED),
			 UROCE_QPC_RECV_CQ_EVENT);
	assert_int_equal(events_of(IBV_WR_SEND, IBV_SEND_SOLICITED), 0);
	uroce_cq_arm(&pair.host[B].recv_cq, true);
	assert_int_equal(events_of(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED),
			 UROCE_QPC_RECV_CQ_EVENT);
}

/* --- the order of requests [IBA table 79] --- */

static uint64_t *
word(enum pair_side side, uint32_t offset)
{
	return (uint64_t *)(pair.host[side].mem + offset);
}

/* Requests of all kinds: each request sees the effects of all requests before it. */
static void
order__requests_take_effect_one_after_the_other(void **state)
{
	(void)state;
	*word(A, 0) = 10;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 8, .remote = 64 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .local = 8,
				     .remote = 64,
				     .compare_add = 5 });
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_READ, .len = 8, .local = 16, .remote = 64 });
	*word(A, 24) = 100;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
				     .len = 8,
				     .local = 24,
				     .remote = 64,
				     .flags = IBV_SEND_FENCE });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				     .local = 32,
				     .remote = 64,
				     .compare_add = 100,
				     .swap = 7 });
	pair_run(&pair);
	assert_int_equal(*word(A, 8), 10);
	assert_int_equal(*word(A, 16), 15);
	assert_int_equal(*word(A, 32), 100);
	assert_int_equal(*word(B, 64), 7);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 FETCH_ADD SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 ATOMIC_WRITE SUCCESS\n"
			 "send 4 COMP_SWAP SUCCESS\n");
}

/*
 * Without a fence a WRITE may be executed before an earlier READ. The WRITE must not complete
 * before the READ.
 */
static void
order__completions_are_in_the_order_of_posting(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 8, .remote = 4096 });
	pair_lose(&pair, B, 0);
	pair_run_for(&pair, 2 * PAIR_LATENCY_NS);
	pair_expect_done(&pair, A, "");
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
}

static void
order__a_fence_waits_for_all_kinds_of_answers(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		(enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
	};

	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		open_rc(state);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = opcodes[i], .len = 8 });
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE,
					     .len = 8,
					     .remote = 4096,
					     .flags = IBV_SEND_FENCE });
		pair_run_for(&pair, PAIR_LATENCY_NS - 1);
		assert_int_equal(pair.host[A].nb_sent, 1);
		pair_run(&pair);
		assert_int_equal(pair.host[A].nb_sent, 2);
		close_pair(state);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rc, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(elements__write_gathers_32),
		TEST(elements__read_scatters_to_32),
		TEST(elements__send_from_32_to_32),
		TEST(elements__one_of_32_refused_changes_nothing_here),
		TEST(nothing__each_operation_on_rc),
		TEST(nothing__needs_no_key),
		cmocka_unit_test(nothing__on_uc_and_ud),
		TEST(inline__several_elements_and_packets_and_again_after_a_loss),
		TEST(solicited__wakes_who_waits_for_it),
		TEST(order__requests_take_effect_one_after_the_other),
		TEST(order__completions_are_in_the_order_of_posting),
		cmocka_unit_test(order__a_fence_waits_for_all_kinds_of_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
