/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fast path of the requester for bursts of single-packet READs and atomics. The tests check
 * where a burst ends, and that a request or response which differs from its neighbours is handled
 * as if it were alone.
 */

#include "burst.h"

#include "mem/mw.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

static void
post(enum ibv_wr_opcode opcode, unsigned i, unsigned flags)
{
	assert_int_equal(pair_post(&pair, A,
				   &(struct pair_wr){ .opcode = opcode,
						      .len = LEN,
						      .local = SLOT(i),
						      .remote = SLOT(i),
						      .flags = flags,
						      .compare_add = 1 }),
			 0);
}

static void
post_reads(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		post(IBV_WR_RDMA_READ, i % NB, 0);
}

/* Let B send the responses to five READs, and parse their frames. */
static void
let_answer(void)
{
	pair_run_for(&pair, PAIR_LATENCY_NS);
	parse_flights(UROCE_VERDICT_RESPONSE);
	text_clear(&pair.trace);
}

static void
request_all(void)
{
	post_reads(NB);
	let_answer();
}

static unsigned
nb_out(void)
{
	const struct uroce_req *req = &pair.host[A].qpc.req;

	return uroce_psn_dist(req->una_psn, req->next_psn);
}

static void
answer_first(uint32_t psn)
{
	assert_int_equal(pair_inject(&pair, A,
				     &(struct pair_pkt){ .opcode = UROCE_OP_READ_RESPONSE_ONLY,
							 .psn = psn,
							 .syndrome = UROCE_SYNDROME_ACK,
							 .payload_len = LEN }),
			 UROCE_VERDICT_RESPONSE);
}

/* --- sending bursts of READs and atomics --- */

static void
fetch_put__ends_with_the_window(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.window_psns = 8;
	conf.burst = PAIR_BURST_MAX;
	open_with(&conf);
	post_reads(12);
	pair_flush(&pair, A);
	assert_int_equal(nb_out(), 8);
	answer_first(0);
	pair_flush(&pair, A);
	assert_int_equal(nb_out(), 8);
	assert_int_equal(pair.host[A].qpc.req.next_psn, 9);
	pair_close(&pair);
}

static void
fetch_put__ends_with_cwnd(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.burst = PAIR_BURST_MAX;
	open_with(&conf);
	pair.host[A].qpc.req.rtt.cwnd = 8;
	post_reads(12);
	pair_flush(&pair, A);
	assert_int_equal(nb_out(), 8);
	pair_close(&pair);
}

static void
fetch_put__ends_with_the_number_agreed(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 3;
	conf.burst = PAIR_BURST_MAX;
	open_with(&conf);
	post_reads(6);
	pair_flush(&pair, A);
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 3);
	assert_int_equal(nb_out(), 3);
	answer_first(0);
	pair_flush(&pair, A);
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 3);
	assert_int_equal(pair.host[A].qpc.req.next_psn, 4);
	pair_close(&pair);
}

static void
fetch_put__ends_with_the_burst(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_txd txd[2];
	uint8_t hdr[2][UROCE_HDR_MAX];

	(void)state;
	open_with(&conf);
	post_reads(NB);
	for (unsigned i = 0; i < 2; i++)
		txd[i].hdr = hdr[i];
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, 2, pair.now_ns), 2);
	assert_int_equal(nb_out(), 2);
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 2 len 8\n"
				 "A>B READ_REQUEST psn 3 len 8\n"
				 "A>B READ_REQUEST psn 4 len 8\n");
	pair_close(&pair);
}

static void
fetch_put__psn_wraps(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.psn[A] = 0xfffffe;
	open_with(&conf);
	post_reads(NB);
	pair_run(&pair);
	expect_placed(NB);
	assert_int_equal(pair.host[A].qpc.req.una_psn, 3);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_READ SUCCESS\n"
			 "send 4 RDMA_READ SUCCESS\n");
	pair_close(&pair);
}

static void
fetch_put__fence_in_its_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++)
		post(IBV_WR_RDMA_READ, i, i == ODD_ONE ? IBV_SEND_FENCE : 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 8\n"
				 "A>B READ_REQUEST psn 1 len 8\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n"
				 "A>B READ_REQUEST psn 2 len 8\n"
				 "A>B READ_REQUEST psn 3 len 8\n"
				 "A>B READ_REQUEST psn 4 len 8\n"
				 "B>A READ_RESPONSE_ONLY psn 2\n"
				 "B>A READ_RESPONSE_ONLY psn 3\n"
				 "B>A READ_RESPONSE_ONLY psn 4\n");
	expect_placed(NB);
}

static void
fetch_put__write_and_atomics_in_its_middle(void **state)
{
	(void)state;
	post(IBV_WR_RDMA_READ, 0, 0);
	post(IBV_WR_RDMA_WRITE, 1, 0);
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	post(IBV_WR_ATOMIC_CMP_AND_SWP, 3, 0);
	post(IBV_WR_RDMA_READ, 4, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 8\n"
				 "A>B WRITE_ONLY psn 1\n"
				 "A>B FETCH_ADD psn 2\n"
				 "A>B CMP_SWAP psn 3\n"
				 "A>B READ_REQUEST psn 4 len 8\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A ATOMIC_ACK psn 2\n"
				 "B>A ATOMIC_ACK psn 3\n"
				 "B>A READ_RESPONSE_ONLY psn 4\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 FETCH_ADD SUCCESS\nsend 3 COMP_SWAP SUCCESS\n"
			 "send 4 RDMA_READ SUCCESS\n");
}

/* max_rd_atomic is 0: no READ may be outstanding, so the READ fails. */
static void
fetch_put__none_agreed(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 0;
	open_with(&conf);
	post_reads(1);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_QP_OP_ERR\n");
	pair_close(&pair);
}

/* --- receiving bursts of responses --- */

static void
fetch_recv__all_are_placed_and_complete(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	request_all();
	arrive_at(A);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(verdicts[i], UROCE_VERDICT_RESPONSE);
	expect_placed(NB);
	assert_int_equal(qpc->req.nb_rd_out, 0);
	assert_int_equal(qpc->req.una_psn, NB);
	assert_int_equal(qpc->stats.rx_packets, NB);
	assert_int_equal(qpc->stats.rx_bytes, NB * LEN);
	assert_true(uroce_qpc_deadline(qpc) == UROCE_NEVER);
	assert_true(uroce_wq_is_empty(&pair.host[A].sq));
}

static void
fetch_recv__some_leave_the_timer_on(void **state)
{
	const struct uroce_qpc *qpc = &pair.host[A].qpc;

	(void)state;
	request_all();
	assert_int_equal(
		uroce_qpc_recv_burst(&pair.host[A].qpc, pkts, NB - 1, verdicts, pair.now_ns),
		NB - 1);
	assert_int_equal(qpc->req.nb_rd_out, 1);
	assert_true(uroce_qpc_deadline(qpc) != UROCE_NEVER);
}

static void
fetch_recv__unsignaled_leave_no_entry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_unsignaled = true;
	open_with(&conf);
	for (unsigned i = 0; i < NB; i++)
		post(IBV_WR_RDMA_READ, i, i == ODD_ONE || i == NB - 1 ? IBV_SEND_SIGNALED : 0);
	pair_run(&pair);
	expect_placed(NB);
	pair_expect_done(&pair, A, "send 2 RDMA_READ SUCCESS\nsend 4 RDMA_READ SUCCESS\n");
	pair_close(&pair);
}

static void
make_gap(void)
{
	pkts[ODD_ONE].psn++;
}

static void
make_repetition(void)
{
	pkts[ODD_ONE].psn--;
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
make_other_length(void)
{
	pkts[ODD_ONE].payload_len--;
}

static void
make_atomic_ack(void)
{
	pkts[ODD_ONE].opcode = UROCE_OP_ATOMIC_ACK;
	pkts[ODD_ONE].op = &uroce_opcode_table[UROCE_OP_ATOMIC_ACK];
}

static void
fetch_recv__what_is_different_is_asked_everything(void **state)
{
	static const struct {
		void (*make)(void);
		enum uroce_verdict verdict;
	} rows[] = {
		{ make_gap, UROCE_VERDICT_RESPONSE_GAP },
		{ make_repetition, UROCE_VERDICT_GHOST },
		{ make_stranger, UROCE_VERDICT_WRONG_PEER },
		{ make_other_partition, UROCE_VERDICT_BAD_PKEY },
		{ make_other_length, UROCE_VERDICT_BAD_RESPONSE },
		{ make_atomic_ack, UROCE_VERDICT_BAD_RESPONSE },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_rc(state);
		request_all();
		rows[i].make();
		assert_int_equal(uroce_qpc_recv_burst(&pair.host[A].qpc, pkts, ODD_ONE + 1,
						      verdicts, pair.now_ns),
				 ODD_ONE + 1);
		for (unsigned j = 0; j < ODD_ONE; j++)
			assert_int_equal(verdicts[j], UROCE_VERDICT_RESPONSE);
		assert_int_equal(verdicts[ODD_ONE], rows[i].verdict);
		expect_placed(ODD_ONE);
		close_pair(state);
	}
}

static void
fetch_recv__marks_are_counted(void **state)
{
	(void)state;
	request_all();
	for (unsigned i = ODD_ONE; i < NB; i++)
		pkts[i].tclass |= UROCE_ECN_CE;
	arrive_at(A);
	expect_placed(NB);
	assert_int_equal(pair.host[A].qpc.stats.ce_marked, NB - ODD_ONE);
}

static void
fetch_recv__one_is_lost_in_its_middle(void **state)
{
	(void)state;
	pair_lose(&pair, B, ODD_ONE);
	post_reads(NB);
	pair_run(&pair);
	expect_placed(NB);
	assert_int_equal(pair.host[A].qpc.req.nb_rd_out, 0);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_READ SUCCESS\n"
			 "send 4 RDMA_READ SUCCESS\n");
}

/*
 * The memory for a response in the middle of the burst may not be written: the READs before it
 * complete, and its own READ fails.
 */
static void
fetch_recv__refused_in_its_middle(void **state)
{
	static uint8_t other[64];

	(void)state;
	const uint32_t key = pair_register(&pair, A, other, sizeof(other), 0);

	for (unsigned i = 0; i < NB; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem + SLOT(i),
				       .length = LEN,
				       .lkey = pair.host[A].key };

		if (i == ODD_ONE)
			sge = (struct ibv_sge){ (uintptr_t)other, LEN, key };
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_READ,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { (uintptr_t)pair.host[B].mem + SLOT(i), pair.host[B].key },
		};

		assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	}
	pair_run(&pair);
	expect_placed(ODD_ONE);
	assert_int_equal(other[0], 0);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 LOC_PROT_ERR\nsend 3 WR_FLUSH_ERR\nsend 4 WR_FLUSH_ERR\n");
}

/* The response in the middle of the burst is placed in the memory of two SGEs. */
static void
fetch_recv__in_pieces_in_its_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++) {
		const uintptr_t at = (uintptr_t)pair.host[A].mem + SLOT(i);
		struct ibv_sge sge[2] = { { at, 3, pair.host[A].key },
					  { at + 3, LEN - 3, pair.host[A].key } };

		if (i != ODD_ONE)
			sge[0].length = LEN;
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_READ,
			.sg_list = sge,
			.num_sge = i == ODD_ONE ? 2 : 1,
			.wr.rdma = { (uintptr_t)pair.host[B].mem + SLOT(i), pair.host[B].key },
		};

		assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	}
	pair_run(&pair);
	expect_placed(NB);
}

/* A bind behind a burst of READs completes together with the burst. */
static void
fetch_recv__local_behind_it_completes(void **state)
{
	struct ibv_mr mr;
	struct ibv_mw window = { .type = IBV_MW_TYPE_2 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	(void)state;
	mr.lkey = pair.host[A].key;
	assert_int_equal(
		uroce_mw_add(pair.host[A].mrs, UROCE_MW_2B, pair.host[A].qpc.pdn, &window.rkey), 0);
	wr.bind_mw.mw = &window;
	wr.bind_mw.rkey = window.rkey + 1;
	wr.bind_mw.bind_info.mr = &mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)pair.host[A].mem;
	wr.bind_mw.bind_info.length = LEN;
	post_reads(2);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	post_reads(3);
	let_answer();
	assert_int_equal(uroce_qpc_recv_burst(&pair.host[A].qpc, pkts, 2, verdicts, pair.now_ns),
			 2);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_READ SUCCESS\n"
			 "send 2 BIND_MW SUCCESS\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetch_put__ends_with_the_window),
		cmocka_unit_test(fetch_put__ends_with_cwnd),
		cmocka_unit_test(fetch_put__ends_with_the_number_agreed),
		cmocka_unit_test(fetch_put__ends_with_the_burst),
		cmocka_unit_test(fetch_put__psn_wraps),
		cmocka_unit_test_setup_teardown(fetch_put__fence_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(fetch_put__write_and_atomics_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test(fetch_put__none_agreed),
		cmocka_unit_test_setup_teardown(fetch_recv__all_are_placed_and_complete, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(fetch_recv__some_leave_the_timer_on, open_rc,
						close_pair),
		cmocka_unit_test(fetch_recv__unsignaled_leave_no_entry),
		cmocka_unit_test(fetch_recv__what_is_different_is_asked_everything),
		cmocka_unit_test_setup_teardown(fetch_recv__marks_are_counted, open_rc, close_pair),
		cmocka_unit_test_setup_teardown(fetch_recv__one_is_lost_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(fetch_recv__refused_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(fetch_recv__in_pieces_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(fetch_recv__local_behind_it_completes, open_rc,
						close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
