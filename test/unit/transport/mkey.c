/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests through mkeys at both ends, over a wire that loses frames. Also signature pipelining: a
 * QP stops behind a bad block, and continues when its program moves the QP to RTS. mem/mkey.c tests
 * how mkeys convert bytes.
 */

#include "pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mkey.h"

#define BLOCKS   40u
#define DATA_LEN (BLOCKS * 512)

static struct pair pair;
static void *mem[2];
static uint32_t mkey[2];

static struct uroce_sig_domain
domain_of(enum uroce_sig_kind kind)
{
	return (struct uroce_sig_domain){
		.kind = (uint8_t)kind,
		.block_len = kind == UROCE_SIG_NONE ? 0 : 512,
		.len = kind == UROCE_SIG_NONE ? 0 : uroce_sig_len(kind),
		.app_tag = 0xabcd,
		.flags = UROCE_SIG_REF_REMAP,
	};
}

/* Configure the mkey of a host: its layout begins with the host's memory and has two pieces. */
static void
configure(enum pair_side side, enum uroce_sig_kind mem_kind, enum uroce_sig_kind wire_kind)
{
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) + 2 * sizeof(struct uroce_mkey_piece)];
	} made = { 0 };
	struct uroce_mkey_conf *conf = &made.conf;
	const struct pair_host *host = &pair.host[side];
	const uint64_t addr = (uintptr_t)host->mem;

	conf->parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG;
	conf->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	conf->repeat = 1;
	conf->nb_pieces = 2;
	conf->mem = domain_of(mem_kind);
	conf->wire = domain_of(wire_kind);
	conf->check_mask = 0xff;
	conf->piece[0] = (struct uroce_mkey_piece){ .addr = addr, .len = 777, .lkey = host->key };
	conf->piece[1] = (struct uroce_mkey_piece){
		.addr = addr + 777,
		.len = BLOCKS * (512 + conf->mem.len) - 777,
		.lkey = host->key,
	};
	assert_int_equal(uroce_mkey_configure(host->mrs, mkey[side], host->qpc.pdn, conf), 0);
}

static void
open_conf(const struct pair_conf *conf)
{
	pair_open(&pair, conf);
	for (unsigned side = A; side <= B; side++) {
		struct pair_host *host = &pair.host[side];

		assert_int_equal(posix_memalign(&mem[side], 64, uroce_mkey_memsize(4)), 0);
		assert_int_equal(uroce_mkey_add(host->mrs, mem[side], 4,
						UROCE_MKEY_SIGNATURE | UROCE_MKEY_REMOTE_INV,
						host->qpc.pdn, &mkey[side]),
				 0);
	}
}

static int
setup(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_quiet = true;
	open_conf(&conf);
	return 0;
}

/* Setup function: a pair with reorder buffers that are large enough for all frames. */
static int
setup_holding(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_quiet = true;
	conf.nb_hold = 64;
	open_conf(&conf);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&pair);
	free(mem[A]);
	free(mem[B]);
	return 0;
}

/* Write blocks of data into A's memory through A's mkey, which adds signatures of this kind. */
static void
fill_signed(enum uroce_sig_kind kind)
{
	struct pair_host *host = &pair.host[A];
	uint8_t block[512];

	configure(A, kind, UROCE_SIG_NONE);
	for (uint32_t nth = 0; nth < BLOCKS; nth++) {
		for (uint32_t i = 0; i < sizeof(block); i++)
			block[i] = (uint8_t)(nth * 7 + i * i);
		assert_int_equal(uroce_mkey_write(host->mrs, mkey[A], host->qpc.pdn, nth * 512,
						  block, 512, IBV_ACCESS_LOCAL_WRITE, NULL),
				 0);
	}
}

static void
post(enum ibv_wr_opcode opcode, uint32_t len, unsigned flags)
{
	struct ibv_sge sge = { .length = len, .lkey = mkey[A] };
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.send_flags = flags,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .rkey = mkey[B] },
	};

	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

/* Run until nothing is in flight, and compare the completions of A's requests. */
static void
expect_done(const char *done)
{
	pair_run(&pair);
	pair_expect_done(&pair, A, done);
}

static struct uroce_mkey_error
error_of(enum pair_side side)
{
	struct uroce_mkey_error error;

	assert_int_equal(uroce_mkey_check(pair.host[side].mrs, mkey[side], &error), 0);
	return error;
}

/* The kinds of signatures in A's memory, on the wire, and in B's memory. */
static const struct {
	enum uroce_sig_kind a, wire, b;
} ways[] = {
	{ UROCE_SIG_NONE, UROCE_SIG_NONE, UROCE_SIG_NONE },
	{ UROCE_SIG_CRC32C, UROCE_SIG_NONE, UROCE_SIG_T10_CRC },
	{ UROCE_SIG_NONE, UROCE_SIG_T10_CRC, UROCE_SIG_NONE },
	{ UROCE_SIG_T10_CSUM, UROCE_SIG_CRC64, UROCE_SIG_CRC32 },
};

static uint32_t
wire_len(unsigned way)
{
	return BLOCKS * (512 + domain_of(ways[way].wire).len);
}

/*
 * Check that both memories have the same data, each with signatures of its own kind, and that no
 * block was bad.
 */
static void
expect_same_data(unsigned way)
{
	static uint8_t data[2][DATA_LEN];

	configure(A, ways[way].a, UROCE_SIG_NONE);
	configure(B, ways[way].b, UROCE_SIG_NONE);
	for (unsigned side = A; side <= B; side++) {
		const struct pair_host *host = &pair.host[side];
		bool is_bad = false;

		assert_int_equal(error_of((enum pair_side)side).sig.fault, UROCE_SIG_GOOD);
		assert_int_equal(uroce_mkey_read(host->mrs, mkey[side], host->qpc.pdn, 0, DATA_LEN,
						 0, data[side], &is_bad),
				 0);
		assert_false(is_bad);
	}
	assert_memory_equal(data[A], data[B], DATA_LEN);
}

static void
configure_both(unsigned way)
{
	configure(A, ways[way].a, ways[way].wire);
	configure(B, ways[way].b, ways[way].wire);
}

/*
 * Start transfers with each row of `ways`. In each transfer a different frame of side `loser` is
 * lost.
 */
static void
try_ways(const char *done, void (*start)(unsigned way), enum pair_side loser)
{
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		for (unsigned lost = 0; lost < 30; lost++) {
			memset(pair.host[B].mem, 0, DATA_LEN + 8 * BLOCKS);
			fill_signed(ways[way].a);
			configure_both(way);
			pair_lose(&pair, loser, lost);
			pair.host[A].next_send_id = 0;
			start(way);
			pair_run(&pair);
			pair.nb_actions = 0;
			pair_expect_done(&pair, A, done);
			(void)pair_completions(&pair, B);
			expect_same_data(way);
		}
}

static void
start_send(unsigned way)
{
	struct ibv_sge sge = { .length = wire_len(way), .lkey = mkey[B] };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(pair_post_recv_raw(&pair, B, &wr), 0);
	post(IBV_WR_SEND, wire_len(way), 0);
}

static void
start_write(unsigned way)
{
	post(IBV_WR_RDMA_WRITE, wire_len(way), 0);
}

static void
send__through_mkeys(void **state)
{
	(void)state;
	try_ways("send 0 SEND SUCCESS\n", start_send, A);
}

static void
write__through_mkeys(void **state)
{
	(void)state;
	try_ways("send 0 RDMA_WRITE SUCCESS\n", start_write, A);
}

/*
 * READ data of B's memory with each row of `ways`. In each READ a different frame of side `loser`
 * is lost.
 */
static void
try_reads(enum pair_side loser)
{
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		for (unsigned lost = 0; lost < 30; lost++) {
			fill_signed(ways[way].a);
			configure_both(way);
			post(IBV_WR_RDMA_WRITE, wire_len(way), 0);
			pair_run(&pair);
			(void)pair_completions(&pair, A);
			memset(pair.host[A].mem, 0, DATA_LEN + 8 * BLOCKS);
			configure_both(way);
			pair_lose(&pair, loser, lost);
			pair.host[A].next_send_id = 0;
			post(IBV_WR_RDMA_READ, wire_len(way), 0);
			pair_run(&pair);
			pair.nb_actions = 0;
			pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
			expect_same_data(way);
		}
}

static void
read__through_mkeys(void **state)
{
	(void)state;
	try_reads(B);
	try_reads(A);
}

static void
write__beyond_the_mkey_is_refused(void **state)
{
	(void)state;
	fill_signed(UROCE_SIG_NONE);
	configure(B, UROCE_SIG_NONE, UROCE_SIG_NONE);
	configure(A, UROCE_SIG_NONE, UROCE_SIG_CRC32);
	post(IBV_WR_RDMA_WRITE, DATA_LEN + 1, 0);
	expect_done("send 0 REM_ACCESS_ERR\n");
}

static void
send__beyond_the_mkey_is_refused(void **state)
{
	(void)state;
	fill_signed(UROCE_SIG_NONE);
	post(IBV_WR_SEND, DATA_LEN + 1, 0);
	expect_done("send 0 LOC_PROT_ERR\n");
}

static void
atomic__on_an_mkey_is_refused(void **state)
{
	(void)state;
	configure_both(0);
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0);
	expect_done("send 0 REM_ACCESS_ERR\n");
}

/*
 * A bad block does not fail its transfer. The mkey that checks the block has the error: first A's
 * mkey, which checks the signatures in A's memory, then B's mkey, which checks those on the wire.
 */
static void
write__with_a_bad_block_is_delivered(void **state)
{
	(void)state;
	fill_signed(UROCE_SIG_CRC32C);
	configure(A, UROCE_SIG_CRC32C, UROCE_SIG_T10_CRC);
	configure(B, UROCE_SIG_NONE, UROCE_SIG_T10_CRC);
	pair.host[A].mem[5 * 516 + 100] ^= 1;
	post(IBV_WR_RDMA_WRITE, BLOCKS * 520, 0);
	expect_done("send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(error_of(A).offset, 5 * 516);
	/* A sends new signatures, which fit the data as it is, so B's mkey finds no error */
	assert_int_equal(error_of(B).sig.fault, UROCE_SIG_GOOD);
	assert_int_equal(pair.host[B].mem[5 * 512 + 100], pair.host[A].mem[5 * 516 + 100]);
	/* A sends bytes without valid signatures, which B's mkey checks */
	configure(A, UROCE_SIG_NONE, UROCE_SIG_NONE);
	post(IBV_WR_RDMA_WRITE, 5200, 0);
	expect_done("send 1 RDMA_WRITE SUCCESS\n");
	assert_int_equal(error_of(A).sig.fault, UROCE_SIG_GOOD);
	assert_int_equal(error_of(B).offset, 0);
}

/*
 * The bad block is retransmitted after its error was queried: the error is not reported a second
 * time.
 */
static void
write__sent_again_is_not_judged_again(void **state)
{
	(void)state;
	fill_signed(UROCE_SIG_CRC32C);
	configure(B, UROCE_SIG_NONE, UROCE_SIG_NONE);
	pair.host[A].mem[5 * 516 + 100] ^= 1;
	pair_lose(&pair, A, 0);
	pair_lose(&pair, A, 2);
	post(IBV_WR_RDMA_WRITE, 4096, 0);
	pair_run_for(&pair, PAIR_LATENCY_NS / 2);
	assert_int_equal(error_of(A).sig.fault, UROCE_SIG_BAD_GUARD);
	expect_done("send 0 RDMA_WRITE SUCCESS\n");
	assert_true(pair.host[A].qpc.stats.retransmits > 0);
	assert_int_equal(error_of(A).sig.fault, UROCE_SIG_GOOD);
}

/* --- configuring an mkey by a send request --- */

static int
post_conf(const struct uroce_mkey_conf *conf, uint32_t key, unsigned flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)conf,
			       .length = (uint32_t)uroce_mkey_conf_len(conf->nb_pieces) };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_DRIVER1,
		.send_flags = flags,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma.rkey = key,
	};

	return pair_post_raw(&pair, A, &wr);
}

static void
configure__is_a_request_in_its_turn(void **state)
{
	const struct uroce_mkey_conf none = { .parts = UROCE_MKEY_ACCESS, .access = 0 };

	(void)state;
	fill_signed(UROCE_SIG_NONE);
	configure(B, UROCE_SIG_NONE, UROCE_SIG_NONE);
	/* a request that configures an mkey must be inline */
	assert_int_equal(post_conf(&none, mkey[A], 0), -EINVAL);
	pair.host[A].next_send_id = 0;
	post(IBV_WR_RDMA_READ, 2048, 0);
	assert_int_equal(post_conf(&none, mkey[A], IBV_SEND_INLINE | IBV_SEND_FENCE), 0);
	post(IBV_WR_RDMA_READ, 2048, 0);
	expect_done("send 0 RDMA_READ SUCCESS\nsend 1 DRIVER1 SUCCESS\n"
		    "send 2 LOC_PROT_ERR\n");
}

static void
configure__of_no_mkey_fails(void **state)
{
	const struct uroce_mkey_conf none = { .parts = UROCE_MKEY_ACCESS };

	(void)state;
	assert_int_equal(post_conf(&none, pair.host[A].key, IBV_SEND_INLINE), 0);
	expect_done("send 0 MW_BIND_ERR\n");
}

static void
invalidate__by_the_owner_and_by_the_peer(void **state)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = mkey[A] };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = mkey[B] };

	(void)state;
	configure_both(0);
	assert_int_equal(pair_post_raw(&pair, A, &inv), 0);
	expect_done("send 0 LOCAL_INV SUCCESS\n");
	assert_false(uroce_mkey_may(pair.host[A].mrs, mkey[A], pair.host[A].qpc.pdn, 0, 1, 0));
	assert_int_equal(pair_post_recv(&pair, B, 0, 0), 0);
	assert_int_equal(pair_post_raw(&pair, A, &send), 0);
	expect_done("send 1 SEND SUCCESS\n");
	assert_false(uroce_mkey_may(pair.host[B].mrs, mkey[B], pair.host[B].qpc.pdn, 0, 1, 0));
	/* the mkey is already invalidated, so a second invalidation fails */
	assert_int_equal(pair_post_raw(&pair, A, &inv), 0);
	expect_done("send 2 MW_BIND_ERR\n");
}

/* --- signature pipelining --- */

static void
post_plain(enum ibv_wr_opcode opcode, unsigned flags)
{
	assert_int_equal(pair_post(&pair, A,
				   &(struct pair_wr){ .opcode = opcode,
						      .len = 16,
						      .local = 65536,
						      .remote = 65536,
						      .flags = flags }),
			 0);
}

/*
 * Enable signature pipelining at A, with good blocks in both memories.
 * @param a  the kind of signatures in A's memory
 */
static void
open_pipeline(enum uroce_sig_kind a)
{
	pair.host[A].qpc.is_pipelined = true;
	fill_signed(a);
	configure(B, UROCE_SIG_NONE, UROCE_SIG_NONE);
	/* the data must not be zeros, because the signature of zeros may be zero */
	pair_fill(&pair, B, 0, DATA_LEN, 1);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pair_post_recv(&pair, B, 65536, 16), 0);
}

/*
 * Post a READ of data without valid signatures. A's mkey detects the bad block when the data
 * arrives.
 */
static void
open_bad_read(void)
{
	open_pipeline(UROCE_SIG_NONE);
	configure(A, UROCE_SIG_NONE, UROCE_SIG_CRC32);
	post(IBV_WR_RDMA_READ, 2048, 0);
}

/*
 * Check the completions, that B received nothing, that A is in SQD, and that the event SQ_DRAINED
 * was raised.
 */
static void
expect_stop(const char *done)
{
	expect_done(done);
	pair_expect_done(&pair, B, "");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQD);
	assert_int_equal(pair_events(&pair, A) & UROCE_QPC_SQ_DRAINED, UROCE_QPC_SQ_DRAINED);
}

/* Cancel request 1, which has the fence. */
static void
cancel(void)
{
	assert_int_equal(uroce_qpc_cancel(&pair.host[A].qpc, 1), 1);
}

static void
cancel_and_go_on(void)
{
	cancel();
	pair_set_state(&pair, A, IBV_QPS_RTS);
}

static void
pipeline__good_data_stops_nothing(void **state)
{
	(void)state;
	open_pipeline(UROCE_SIG_CRC32C);
	post(IBV_WR_RDMA_WRITE, DATA_LEN, 0);
	post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
	expect_done("send 0 RDMA_WRITE SUCCESS\nsend 1 SEND SUCCESS\n");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
	assert_int_equal(pair_events(&pair, A) & UROCE_QPC_SQ_DRAINED, 0);
}

/*
 * The sequence of mlx5dv_qp_cancel_posted_send_wrs(3): the QP stops, the program queries the error,
 * cancels the request with the fence, and moves the QP to RTS.
 */
static void
pipeline__a_bad_write_stops_before_the_fence(void **state)
{
	(void)state;
	open_pipeline(UROCE_SIG_CRC32C);
	pair.host[A].mem[3] ^= 1;
	post(IBV_WR_RDMA_WRITE, DATA_LEN, 0);
	post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
	post_plain(IBV_WR_SEND, 0);
	expect_stop("send 0 RDMA_WRITE SUCCESS\n");
	assert_int_equal(error_of(A).sig.fault, UROCE_SIG_BAD_GUARD);
	cancel();
	post_plain(IBV_WR_SEND, 0); /* posting is allowed in SQD */
	pair_set_state(&pair, A, IBV_QPS_RTS);
	expect_done("send 1 SEND SUCCESS\nsend 2 SEND SUCCESS\nsend 3 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 16\nrecv 1 RECV SUCCESS 16\n");
	assert_int_equal(pair_events(&pair, A) & UROCE_QPC_SQ_DRAINED, 0);
}

/*
 * The QP has begun the SEND, which waits at its fence for the READ. The READ finds a bad block, so
 * the SEND must not be sent.
 */
static void
pipeline__a_bad_read_stops_before_the_fence(void **state)
{
	(void)state;
	open_bad_read();
	post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
	expect_stop("send 0 RDMA_READ SUCCESS\n");
	cancel_and_go_on();
	post_plain(IBV_WR_SEND, 0);
	expect_done("send 1 SEND SUCCESS\nsend 2 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 16\n");
}

/*
 * The request behind the READ has an invalid key, which was already detected. When the READ finds a
 * bad block, that request counts as not begun, and may be cancelled.
 */
static void
pipeline__a_faulty_request_behind_the_fence_is_taken_back(void **state)
{
	struct ibv_sge wild = { .length = 16, .lkey = 1 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .sg_list = &wild, .num_sge = 1 };

	(void)state;
	open_bad_read();
	assert_int_equal(pair_post_raw(&pair, A, &send), 0);
	expect_stop("send 0 RDMA_READ SUCCESS\n");
	cancel_and_go_on();
	post_plain(IBV_WR_SEND, 0);
	expect_done("send 1 SEND SUCCESS\nsend 2 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 16\n");
}

/*
 * The program has moved the QP to SQD before the READ finds a bad block: the request with the fence
 * is still not sent.
 */
static void
pipeline__a_bad_read_keeps_the_fence_of_a_queue_in_sqd(void **state)
{
	(void)state;
	open_bad_read();
	post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
	pair_run_for(&pair, 1); /* run until the QP has begun both requests */
	assert_int_equal(pair.host[A].qpc.req.begun_idx, 2);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	expect_stop("send 0 RDMA_READ SUCCESS\n");
	cancel_and_go_on();
	expect_done("send 1 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "");
}

/*
 * Lose a different frame in each transfer with a bad block, in both directions: the QP must always
 * stop.
 */
static void
pipeline__stops_whatever_is_lost(void **state)
{
	(void)state;
	open_pipeline(UROCE_SIG_NONE);
	for (unsigned turn = 0; turn < 40; turn++) {
		const enum ibv_wr_opcode opcode = turn & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;

		fill_signed(UROCE_SIG_CRC32);
		pair.host[A].mem[9000] ^= 1;
		configure(A, opcode == IBV_WR_RDMA_READ ? UROCE_SIG_NONE : UROCE_SIG_CRC32,
			  opcode == IBV_WR_RDMA_READ ? UROCE_SIG_CRC32 : UROCE_SIG_NONE);
		pair_lose(&pair, turn & 2 ? A : B, turn / 4);
		pair.host[A].next_send_id = 0;
		post(opcode, 12000, 0);
		post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
		expect_stop(opcode == IBV_WR_RDMA_READ ? "send 0 RDMA_READ SUCCESS\n"
						       : "send 0 RDMA_WRITE SUCCESS\n");
		pair.nb_actions = 0;
		cancel_and_go_on();
		expect_done("send 1 SEND SUCCESS\n");
		pair_expect_done(&pair, B, "");
		(void)error_of(A);
	}
}

static void
pipeline__other_qps_do_not_stop(void **state)
{
	(void)state;
	open_pipeline(UROCE_SIG_CRC32C);
	pair.host[A].qpc.is_pipelined = false;
	pair.host[A].mem[3] ^= 1;
	post(IBV_WR_RDMA_WRITE, DATA_LEN, 0);
	post_plain(IBV_WR_SEND, IBV_SEND_FENCE);
	expect_done("send 0 RDMA_WRITE SUCCESS\nsend 1 SEND SUCCESS\n");
	assert_int_equal(error_of(A).sig.fault, UROCE_SIG_BAD_GUARD);
}

#define TEST(test)         cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TEST_HOLDING(test) cmocka_unit_test_setup_teardown(test, setup_holding, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__through_mkeys),
		TEST_HOLDING(send__through_mkeys),
		TEST(write__through_mkeys),
		TEST_HOLDING(write__through_mkeys),
		TEST(read__through_mkeys),
		TEST_HOLDING(read__through_mkeys),
		TEST(write__beyond_the_mkey_is_refused),
		TEST(send__beyond_the_mkey_is_refused),
		TEST(atomic__on_an_mkey_is_refused),
		TEST(write__with_a_bad_block_is_delivered),
		TEST(write__sent_again_is_not_judged_again),
		TEST(configure__is_a_request_in_its_turn),
		TEST(configure__of_no_mkey_fails),
		TEST(invalidate__by_the_owner_and_by_the_peer),
		TEST(pipeline__good_data_stops_nothing),
		TEST(pipeline__a_bad_write_stops_before_the_fence),
		TEST(pipeline__a_bad_read_stops_before_the_fence),
		TEST_HOLDING(pipeline__a_bad_read_stops_before_the_fence),
		TEST(pipeline__a_faulty_request_behind_the_fence_is_taken_back),
		TEST(pipeline__a_bad_read_keeps_the_fence_of_a_queue_in_sqd),
		TEST_HOLDING(pipeline__stops_whatever_is_lost),
		TEST(pipeline__stops_whatever_is_lost),
		TEST(pipeline__other_qps_do_not_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
