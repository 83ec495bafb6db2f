/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fast path of the responder for READs and atomics that arrive as one burst. The first request
 * takes the general path. The following requests must be executed, refused, answered and repeated
 * as if they had taken the general path.
 */

#include "burst.h"

#include "wire/syndrome.h"

/*
 * Let A send five requests, and parse their frames. READs read different slots; atomics add to one
 * word.
 */
static void
send_all(enum ibv_wr_opcode opcode)
{
	const bool is_read = opcode == IBV_WR_RDMA_READ;

	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_post(&pair, A,
					   &(struct pair_wr){ .opcode = opcode,
							      .len = LEN,
							      .local = SLOT(i),
							      .remote = is_read ? SLOT(i) : 0,
							      .compare_add = 1 }),
				 0);
	pair_run_for(&pair, 0);
	parse_flights(UROCE_VERDICT_REQUEST);
	text_clear(&pair.trace);
}

static uint64_t *
word(void)
{
	return (uint64_t *)pair.host[B].mem;
}

static void
expect_verdicts(unsigned nb, enum uroce_verdict verdict)
{
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(verdicts[i], verdict);
}

static void
expect_answers(const char *trace)
{
	pair_flush(&pair, B);
	pair_expect_trace(&pair, trace);
}

static struct uroce_reth *
reth(unsigned i)
{
	return (struct uroce_reth *)uroce_pkt_reth(&pkts[i]);
}

/* --- bursts whose requests are of one kind --- */

static void
reply_run__reads_bring_each_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ,
					     .len = LEN,
					     .local = SLOT(i),
					     .remote = SLOT(i) });
	pair_run(&pair);
	for (unsigned i = 0; i < NB; i++)
		assert_true(pair_is_equal(&pair, SLOT(i), SLOT(i), LEN));
	assert_int_equal(pair.host[B].qpc.resp.epsn, NB);
	assert_int_equal(pair.host[B].qpc.resp.msn, NB);
	assert_int_equal(pair.host[B].qpc.stats.rx_packets, NB);
	assert_int_equal(pair.host[B].qpc.stats.tx_bytes, NB * LEN);
	assert_int_equal(pair.host[A].qpc.stats.rx_packets, NB);
	assert_int_equal(pair.host[A].qpc.stats.rx_bytes, NB * LEN);
}

static void
reply_run__atomics_are_executed_in_order(void **state)
{
	(void)state;
	*word() = 100;
	send_all(IBV_WR_ATOMIC_FETCH_AND_ADD);
	arrive_at(B);
	expect_verdicts(NB, UROCE_VERDICT_REQUEST);
	assert_int_equal(*word(), 100 + NB);
	/*
	 * pair_run() delivers the frames of the requests once more: B must treat them as duplicates
	 */
	pair_run(&pair);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(*(uint64_t *)(pair.host[A].mem + SLOT(i)), 100 + i);
	assert_int_equal(*word(), 100 + NB);
}

static void
reply_run__swaps_compare_each(void **state)
{
	(void)state;
	*word() = 0;
	/* the fourth atomic compares the word with 77, so it does not swap */
	for (unsigned i = 0; i < NB; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
					     .local = SLOT(i),
					     .compare_add = i == 3 ? 77 : i,
					     .swap = i + 1 });
	pair_run(&pair);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(*(uint64_t *)(pair.host[A].mem + SLOT(i)), i < 4 ? i : 3);
	assert_int_equal(*word(), 3);
}

static void
reply_run__psn_wraps(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.psn[A] = 0xfffffe;
	open_with(&conf);
	send_all(IBV_WR_RDMA_READ);
	arrive_at(B);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 3);
	expect_answers("B>A READ_RESPONSE_ONLY psn 16777214\n"
		       "B>A READ_RESPONSE_ONLY psn 16777215\n"
		       "B>A READ_RESPONSE_ONLY psn 0\n"
		       "B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A READ_RESPONSE_ONLY psn 2\n");
	pair_close(&pair);
}

/* Send more requests than the ring of resources has entries, so that entries are used again. */
static void
reply_run__goes_round_the_ring(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		pair_fill(&pair, B, 0, SLOT(NB), 100 + round);
		for (unsigned i = 0; i < NB; i++)
			pair_post(&pair, A,
				  &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ,
						     .len = LEN,
						     .local = SLOT(i),
						     .remote = SLOT(i) });
		pair_run(&pair);
		for (unsigned i = 0; i < NB; i++)
			assert_true(pair_is_equal(&pair, SLOT(i), SLOT(i), LEN));
	}
}

/* A READ response acknowledges the requests before it, so their pending ACK is not sent. */
static void
reply_run__makes_an_ack_unnecessary(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = LEN });
	for (unsigned i = 1; i < NB; i++)
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = LEN });
	pair_run_for(&pair, 0);
	for (unsigned i = 0; i < NB; i++)
		uroce_parse(pair.flights[i].frame, pair.flights[i].len, &pkts[i]);
	pkts[0].has_ack_req = true;
	text_clear(&pair.trace);
	arrive_at(B);
	expect_answers("B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A READ_RESPONSE_ONLY psn 2\n"
		       "B>A READ_RESPONSE_ONLY psn 3\n"
		       "B>A READ_RESPONSE_ONLY psn 4\n");
}

/* --- bursts with one request that differs from the others --- */

static void
make_gap(void)
{
	pkts[ODD_ONE].psn++;
}

static void
make_stranger(void)
{
	((struct uroce_ipv4 *)pkts[ODD_ONE].ip)->src[3] ^= 1;
}

static void
make_other_partition(void)
{
	pkts[ODD_ONE].pkey ^= 1;
}

static void
make_key_of_nothing(void)
{
	reth(ODD_ONE)->rkey = be32_make(pair.host[B].key ^ 1 << 20);
}

static void
make_out_of_range(void)
{
	reth(ODD_ONE)->va = be64_make((uintptr_t)pair.host[B].mem - 4);
}

static void
make_end_out_of_range(void)
{
	reth(ODD_ONE)->va = be64_make((uintptr_t)pair.host[B].mem + pair.conf.mem_len - LEN + 1);
}

static void
make_too_long(void)
{
	reth(ODD_ONE)->dma_len = be32_make((1u << 31) + 1);
}

static void
make_misaligned(void)
{
	const struct uroce_atomiceth *eth = uroce_pkt_atomiceth(&pkts[ODD_ONE]);

	((struct uroce_atomiceth *)eth)->va = be64_make((uintptr_t)pair.host[B].mem + 4);
}

static void
make_atomic_key_of_nothing(void)
{
	const struct uroce_atomiceth *eth = uroce_pkt_atomiceth(&pkts[ODD_ONE]);

	((struct uroce_atomiceth *)eth)->rkey = be32_make(pair.host[B].key ^ 1 << 20);
}

static void
reply_run__what_is_different_is_asked_everything(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		void (*make)(void);
		enum uroce_verdict verdict;
	} rows[] = {
		{ IBV_WR_RDMA_READ, make_gap, UROCE_VERDICT_PSN_GAP },
		{ IBV_WR_RDMA_READ, make_stranger, UROCE_VERDICT_WRONG_PEER },
		{ IBV_WR_RDMA_READ, make_other_partition, UROCE_VERDICT_BAD_PKEY },
		{ IBV_WR_RDMA_READ, make_key_of_nothing, UROCE_VERDICT_NO_ACCESS },
		{ IBV_WR_RDMA_READ, make_out_of_range, UROCE_VERDICT_NO_ACCESS },
		{ IBV_WR_RDMA_READ, make_end_out_of_range, UROCE_VERDICT_NO_ACCESS },
		{ IBV_WR_RDMA_READ, make_too_long, UROCE_VERDICT_BAD_REQUEST },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, make_gap, UROCE_VERDICT_PSN_GAP },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, make_misaligned, UROCE_VERDICT_BAD_REQUEST },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, make_atomic_key_of_nothing,
		  UROCE_VERDICT_NO_ACCESS },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_rc(state);
		*word() = 0;
		send_all(rows[i].opcode);
		rows[i].make();
		arrive_at(B);
		expect_verdicts(ODD_ONE, UROCE_VERDICT_REQUEST);
		assert_int_equal(verdicts[ODD_ONE], rows[i].verdict);
		assert_int_equal(pair.host[B].qpc.resp.epsn, ODD_ONE);
		assert_int_equal(pair.host[B].qpc.resp.msn, ODD_ONE);
		if (rows[i].opcode != IBV_WR_RDMA_READ)
			assert_int_equal(*word(), ODD_ONE);
		close_pair(state);
	}
}

/*
 * A READ in the middle of a burst is refused: the responses to the READs before it are sent before
 * the NAK.
 */
static void
reply_run__answers_before_it_refuses(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_READ);
	make_key_of_nothing();
	arrive_at(B);
	expect_answers("B>A READ_RESPONSE_ONLY psn 0\n"
		       "B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A NAK_REM_ACCESS psn 2\n");
}

static void
reply_run__marks_are_counted(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_READ);
	for (unsigned i = ODD_ONE; i < NB; i++)
		pkts[i].tclass |= UROCE_ECN_CE;
	arrive_at(B);
	expect_verdicts(NB, UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.stats.ce_marked, NB - ODD_ONE);
}

static void
reply_run__read_of_nothing_in_its_middle(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_READ);
	reth(ODD_ONE)->dma_len = be32_make(0);
	reth(ODD_ONE)->rkey = be32_make(0); /* the rkey of a READ of length 0 is not checked */
	arrive_at(B);
	expect_verdicts(NB, UROCE_VERDICT_REQUEST);
	expect_answers("B>A READ_RESPONSE_ONLY psn 0\n"
		       "B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A READ_RESPONSE_ONLY psn 2\n"
		       "B>A READ_RESPONSE_ONLY psn 3\n"
		       "B>A READ_RESPONSE_ONLY psn 4\n");
}

static void
reply_run__long_read_in_its_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ,
					     .len = i == ODD_ONE ? 1025 : 1024 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 1024\n"
				 "A>B READ_REQUEST psn 1 len 1024\n"
				 "A>B READ_REQUEST psn 2 len 1025\n"
				 "A>B READ_REQUEST psn 4 len 1024\n"
				 "A>B READ_REQUEST psn 5 len 1024\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n"
				 "B>A READ_RESPONSE_FIRST psn 2\n"
				 "B>A READ_RESPONSE_LAST psn 3\n"
				 "B>A READ_RESPONSE_ONLY psn 4\n"
				 "B>A READ_RESPONSE_ONLY psn 5\n");
}

static void
reply_run__atomic_in_its_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = i == ODD_ONE ? IBV_WR_ATOMIC_FETCH_AND_ADD
								    : IBV_WR_RDMA_READ,
					     .len = LEN });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 8\n"
				 "A>B READ_REQUEST psn 1 len 8\n"
				 "A>B FETCH_ADD psn 2\n"
				 "A>B READ_REQUEST psn 3 len 8\n"
				 "A>B READ_REQUEST psn 4 len 8\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n"
				 "B>A ATOMIC_ACK psn 2\n"
				 "B>A READ_RESPONSE_ONLY psn 3\n"
				 "B>A READ_RESPONSE_ONLY psn 4\n");
}

/* --- limits and memory of the READs of a burst --- */

static void
reply_run__no_more_than_agreed(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_dest_rd_atomic = ODD_ONE;
	open_with(&conf);
	send_all(IBV_WR_RDMA_READ);
	arrive_at(B);
	expect_verdicts(ODD_ONE, UROCE_VERDICT_REQUEST);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_BAD_REQUEST);
	pair_close(&pair);
}

/* The READ in the middle of the burst uses another region than the other READs. */
static void
reply_run__keys_change(void **state)
{
	static uint8_t other[64];
	uint32_t key;

	(void)state;
	memset(other, 0xa5, sizeof(other));
	key = pair_register(&pair, B, other, sizeof(other),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	send_all(IBV_WR_RDMA_READ);
	reth(ODD_ONE)->rkey = be32_make(key);
	reth(ODD_ONE)->va = be64_make((uintptr_t)other);
	arrive_at(B);
	expect_verdicts(NB, UROCE_VERDICT_REQUEST);
	struct uroce_txd txd[NB];
	uint8_t hdr[NB][UROCE_HDR_MAX];

	for (unsigned i = 0; i < NB; i++)
		txd[i].hdr = hdr[i];
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, NB, pair.now_ns), NB);
	for (unsigned i = 0; i < NB; i++)
		assert_ptr_equal(txd[i].slice[0].addr,
				 i == ODD_ONE ? other : pair.host[B].mem + SLOT(i));
}

/* The READ in the middle of the burst uses a region that the peer may not read. */
static void
reply_run__right_is_asked_of_each_region(void **state)
{
	static uint8_t other[64];

	(void)state;
	const uint32_t key = pair_register(&pair, B, other, sizeof(other), IBV_ACCESS_LOCAL_WRITE);

	send_all(IBV_WR_RDMA_READ);
	reth(ODD_ONE)->rkey = be32_make(key);
	reth(ODD_ONE)->va = be64_make((uintptr_t)other);
	arrive_at(B);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_NO_ACCESS);
}

/*
 * The region of a READ is invalidated after the READ was accepted and before its response is sent.
 */
static void
reply_run__memory_goes(void **state)
{
	static uint8_t other[64];

	(void)state;
	const uint32_t key = pair_register(&pair, B, other, sizeof(other), IBV_ACCESS_REMOTE_READ);

	send_all(IBV_WR_RDMA_READ);
	reth(ODD_ONE)->rkey = be32_make(key);
	reth(ODD_ONE)->va = be64_make((uintptr_t)other);
	arrive_at(B);
	expect_verdicts(NB, UROCE_VERDICT_REQUEST);
	assert_int_equal(uroce_mr_invalidate(pair.host[B].mrs, key), 0);
	expect_answers("B>A READ_RESPONSE_ONLY psn 0\n"
		       "B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A NAK_REM_ACCESS psn 2\n");
}

/* If two READs of a burst are repeated, only their responses are sent again, in one burst. */
static void
reply_run__repeats_what_was_lost(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_READ);
	arrive_at(B);
	pair_flush(&pair, B);
	text_clear(&pair.trace);
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(uroce_qpc_recv(&pair.host[B].qpc, &pkts[i], pair.now_ns),
				 UROCE_VERDICT_DUPLICATE);
	expect_answers("B>A READ_RESPONSE_ONLY psn 1\n"
		       "B>A READ_RESPONSE_ONLY psn 2\n");
}

/*
 * If a call has room for fewer frames than there are responses, the first responses are sent in
 * this call, and the others in a later call.
 */
static void
reply_run__ends_with_the_burst(void **state)
{
	struct uroce_txd txd[2];
	uint8_t hdr[2][UROCE_HDR_MAX];

	(void)state;
	send_all(IBV_WR_RDMA_READ);
	arrive_at(B);
	for (unsigned i = 0; i < 2; i++)
		txd[i].hdr = hdr[i];
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, 2, pair.now_ns), 2);
	expect_answers("B>A READ_RESPONSE_ONLY psn 2\n"
		       "B>A READ_RESPONSE_ONLY psn 3\n"
		       "B>A READ_RESPONSE_ONLY psn 4\n");
	assert_false(uroce_qpc_has_work(&pair.host[B].qpc));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reply_run__reads_bring_each_its_own, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__atomics_are_executed_in_order, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__swaps_compare_each, open_rc, close_pair),
		cmocka_unit_test(reply_run__psn_wraps),
		cmocka_unit_test_setup_teardown(reply_run__goes_round_the_ring, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__makes_an_ack_unnecessary, open_rc,
						close_pair),
		cmocka_unit_test(reply_run__what_is_different_is_asked_everything),
		cmocka_unit_test_setup_teardown(reply_run__answers_before_it_refuses, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__marks_are_counted, open_rc, close_pair),
		cmocka_unit_test_setup_teardown(reply_run__read_of_nothing_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__long_read_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__atomic_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test(reply_run__no_more_than_agreed),
		cmocka_unit_test_setup_teardown(reply_run__keys_change, open_rc, close_pair),
		cmocka_unit_test_setup_teardown(reply_run__right_is_asked_of_each_region, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__memory_goes, open_rc, close_pair),
		cmocka_unit_test_setup_teardown(reply_run__repeats_what_was_lost, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(reply_run__ends_with_the_burst, open_rc,
						close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
