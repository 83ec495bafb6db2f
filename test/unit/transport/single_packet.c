/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fast path for bursts of single-packet messages. The frames of five messages arrive as one
 * burst. The first frame takes the general path. The following frames must be handled as if they
 * had taken the general path, whatever is different about them.
 */

#include "burst.h"

static void
post_recvs(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(pair_post_recv(&pair, B, SLOT(i), 64), 0);
}

/* Let A send five messages, and parse their frames. */
static void
send_all(enum ibv_wr_opcode opcode)
{
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_post(&pair, A,
					   &(struct pair_wr){ .opcode = opcode,
							      .len = LEN,
							      .local = SLOT(i),
							      .remote = SLOT(i) }),
				 0);
	pair_run_for(&pair, 0);
	parse_flights(UROCE_VERDICT_REQUEST);
}

static void
expect_executed(unsigned nb)
{
	const struct uroce_qpc *qpc = &pair.host[B].qpc;

	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(verdicts[i], UROCE_VERDICT_REQUEST);
	assert_int_equal(qpc->resp.epsn, nb);
	assert_int_equal(qpc->resp.msn, nb);
	assert_int_equal(qpc->stats.rx_bytes, nb * LEN);
	expect_placed(nb);
}

/* --- bursts whose frames are of one kind --- */

static void
single_packet__sends_fill_receives_in_order(void **state)
{
	(void)state;
	post_recvs(NB + 1);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	expect_executed(NB);
	assert_int_equal(pair.host[B].qpc.stats.rx_packets, NB);
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 8\nrecv 1 RECV SUCCESS 8\nrecv 2 RECV SUCCESS 8\n"
			 "recv 3 RECV SUCCESS 8\nrecv 4 RECV SUCCESS 8\n");
	assert_int_equal(
		uroce_ring_head(&pair.host[B].rq.ring) - uroce_ring_tail(&pair.host[B].rq.ring), 1);
}

static void
single_packet__writes_land(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_WRITE);
	arrive_at(B);
	expect_executed(NB);
	assert_int_equal(pair.host[B].qpc.stats.rx_packets, NB);
	pair_expect_done(&pair, B, "");
}

static void
single_packet__of_ipv6(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_ipv6 = true;
	open_with(&conf);
	post_recvs(NB);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	expect_executed(NB);
	pair_close(&pair);
}

static void
single_packet__psn_wraps(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.psn[A] = 0xfffffe;
	open_with(&conf);
	send_all(IBV_WR_RDMA_WRITE);
	arrive_at(B);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 3);
	expect_placed(NB);
	pair_close(&pair);
}

static void
single_packet__owes_no_ack_that_nobody_asked_for(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_WRITE);
	for (unsigned i = 0; i < NB; i++)
		pkts[i].has_ack_req = false;
	arrive_at(B);
	assert_false(uroce_qpc_has_work(&pair.host[B].qpc));
}

static void
single_packet__owes_an_ack_for_its_middle(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_WRITE);
	for (unsigned i = 0; i < NB; i++)
		pkts[i].has_ack_req = i == ODD_ONE;
	arrive_at(B);
	assert_true(uroce_qpc_has_work(&pair.host[B].qpc));
}

static void
single_packet__solicited_in_its_middle(void **state)
{
	struct pair_host *b = &pair.host[B];

	(void)state;
	post_recvs(NB);
	send_all(IBV_WR_SEND);
	pkts[ODD_ONE].is_solicited = true;
	uroce_cq_arm(&b->recv_cq, true);
	arrive_at(B);
	assert_int_equal(b->qpc.events & UROCE_QPC_RECV_CQ_EVENT, UROCE_QPC_RECV_CQ_EVENT);
}

/* --- bursts with one frame that differs from the others --- */

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
make_misaddressed(void)
{
	((struct uroce_ipv4 *)pkts[ODD_ONE].ip)->dst[3] ^= 1;
}

static void
make_other_partition(void)
{
	pkts[ODD_ONE].pkey ^= 1;
}

static void
make_other_service(void)
{
	pkts[ODD_ONE].op =
		&uroce_opcode_table[uroce_opcode_make(UROCE_SERVICE_UC, UROCE_OP_WRITE_ONLY)];
}

static void
make_too_long_for_the_mtu(void)
{
	pkts[ODD_ONE].payload_len = 1025;
}

static void
make_other_length_than_announced(void)
{
	((struct uroce_reth *)uroce_pkt_reth(&pkts[ODD_ONE]))->dma_len = be32_make(LEN + 1);
}

static void
make_key_of_nothing(void)
{
	((struct uroce_reth *)uroce_pkt_reth(&pkts[ODD_ONE]))->rkey =
		be32_make(pair.host[B].key ^ 1 << 20);
}

static void
make_out_of_range(void)
{
	((struct uroce_reth *)uroce_pkt_reth(&pkts[ODD_ONE]))->va =
		be64_make((uintptr_t)pair.host[B].mem - 4);
}

static void
single_packet__what_is_different_is_asked_everything(void **state)
{
	static const struct {
		void (*make)(void);
		enum uroce_verdict verdict;
	} rows[] = {
		{ make_gap, UROCE_VERDICT_PSN_GAP },
		{ make_stranger, UROCE_VERDICT_WRONG_PEER },
		{ make_misaddressed, UROCE_VERDICT_WRONG_PEER },
		{ make_other_partition, UROCE_VERDICT_BAD_PKEY },
		{ make_other_service, UROCE_VERDICT_WRONG_SERVICE },
		{ make_too_long_for_the_mtu, UROCE_VERDICT_BAD_REQUEST },
		{ make_other_length_than_announced, UROCE_VERDICT_BAD_REQUEST },
		{ make_key_of_nothing, UROCE_VERDICT_NO_ACCESS },
		{ make_out_of_range, UROCE_VERDICT_NO_ACCESS },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_rc(state);
		send_all(IBV_WR_RDMA_WRITE);
		rows[i].make();
		arrive_at(B);
		assert_int_equal(verdicts[ODD_ONE], rows[i].verdict);
		expect_executed(ODD_ONE);
		close_pair(state);
	}
}

static void
single_packet__marks_are_counted(void **state)
{
	(void)state;
	send_all(IBV_WR_RDMA_WRITE);
	for (unsigned i = ODD_ONE; i < NB; i++)
		pkts[i].tclass |= UROCE_ECN_CE;
	arrive_at(B);
	expect_executed(NB);
	assert_int_equal(pair.host[B].qpc.stats.ce_marked, NB - ODD_ONE);
}

static void
single_packet__goes_on_behind_another_opcode(void **state)
{
	(void)state;
	post_recvs(1);
	send_all(IBV_WR_RDMA_WRITE);
	pkts[ODD_ONE].op = &uroce_opcode_table[UROCE_OP_SEND_ONLY];
	pkts[ODD_ONE].opcode = UROCE_OP_SEND_ONLY;
	arrive_at(B);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(verdicts[i], UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.resp.epsn, NB);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 8\n");
}

/* --- bursts of SENDs that need receive requests --- */

static void
single_packet__receives_run_out(void **state)
{
	(void)state;
	post_recvs(ODD_ONE);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_NO_RECEIVE);
	expect_executed(ODD_ONE);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 8\nrecv 1 RECV SUCCESS 8\n");
}

static void
single_packet__receive_too_short(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_post_recv(&pair, B, SLOT(i), i == ODD_ONE ? LEN - 1 : LEN),
				 0);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_TOO_LONG);
	expect_placed(ODD_ONE);
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 8\nrecv 1 RECV SUCCESS 8\nrecv 2 LOC_LEN_ERR\n"
			 "recv 3 WR_FLUSH_ERR\nrecv 4 WR_FLUSH_ERR\n");
}

/* Post a receive request of 64 bytes for message `i`, whose memory is named by `key`. */
static void
post_under(uint32_t key, unsigned i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)pair.host[B].mem + SLOT(i),
		.length = 64,
		.lkey = key,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(pair_post_recv_raw(&pair, B, &wr), 0);
}

static void
single_packet__keys_take_turns(void **state)
{
	(void)state;
	const uint32_t other =
		pair_register(&pair, B, pair.host[B].mem, SLOT(NB), IBV_ACCESS_LOCAL_WRITE);

	for (unsigned i = 0; i < NB; i++)
		post_under(i % 2 ? other : pair.host[B].key, i);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	expect_executed(NB);
}

static void
single_packet__key_without_the_right_to_write(void **state)
{
	(void)state;
	const uint32_t other = pair_register(&pair, B, pair.host[B].mem, SLOT(NB), 0);

	for (unsigned i = 0; i < NB; i++)
		post_under(i == ODD_ONE ? other : pair.host[B].key, i);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_LOCAL_FAULT);
	expect_placed(ODD_ONE);
}

/*
 * Receive requests with two SGEs, and with none. A message of eight bytes continues in the second
 * SGE, or is too long.
 */
static void
single_packet__receive_of_two_elements(void **state)
{
	struct ibv_sge sge[2];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 };

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)pair.host[B].mem + SLOT(ODD_ONE) + 4 * i,
			.length = 4,
			.lkey = pair.host[B].key,
		};
	post_recvs(ODD_ONE);
	assert_int_equal(pair_post_recv_raw(&pair, B, &wr), 0);
	for (unsigned i = ODD_ONE + 1; i < NB; i++)
		assert_int_equal(pair_post_recv(&pair, B, SLOT(i), 64), 0);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	expect_executed(NB);
}

/* --- a burst that overruns the completion queue --- */

static void
single_packet__overruns_the_completion_queue(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.cq_len = ODD_ONE;
	open_with(&conf);
	post_recvs(NB);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	assert_int_equal(pair.host[B].qpc.events & UROCE_QPC_RECV_CQ_OVERRUN,
			 UROCE_QPC_RECV_CQ_OVERRUN);
	expect_executed(NB);
	pair_close(&pair);
}

/* --- bursts behind a PSN gap, on UC, and with a shared receive queue --- */

/* The frames behind a PSN gap must not be executed by the fast path. */
static void
single_packet__behind_a_hole(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.nb_hold = 8;
	open_with(&conf);
	post_recvs(NB);
	pair_lose(&pair, A, 1);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_post(&pair, A,
					   &(struct pair_wr){ .opcode = IBV_WR_SEND,
							      .len = LEN,
							      .local = SLOT(i) }),
				 0);
	pair_run(&pair);
	expect_placed(NB);
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_OOO_BUFFERED], NB - 2);
	pair_close(&pair);
}

static void
single_packet__of_an_unreliable_queue_pair(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

	(void)state;
	open_with(&conf);
	post_recvs(NB);
	send_all(IBV_WR_SEND);
	make_gap();
	arrive_at(B);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.resp.epsn, NB);
	pair_close(&pair);
}

static void
single_packet__of_a_shared_queue(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.has_srq = true;
	open_with(&conf);
	post_recvs(NB);
	send_all(IBV_WR_SEND);
	arrive_at(B);
	expect_executed(NB);
	assert_true(uroce_srq_is_empty(&pair.host[B].srq));
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(single_packet__sends_fill_receives_in_order,
						open_rc, close_pair),
		cmocka_unit_test_setup_teardown(single_packet__writes_land, open_rc, close_pair),
		cmocka_unit_test(single_packet__of_ipv6),
		cmocka_unit_test(single_packet__psn_wraps),
		cmocka_unit_test_setup_teardown(single_packet__owes_no_ack_that_nobody_asked_for,
						open_rc, close_pair),
		cmocka_unit_test_setup_teardown(single_packet__owes_an_ack_for_its_middle, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(single_packet__solicited_in_its_middle, open_rc,
						close_pair),
		cmocka_unit_test(single_packet__what_is_different_is_asked_everything),
		cmocka_unit_test_setup_teardown(single_packet__marks_are_counted, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(single_packet__goes_on_behind_another_opcode,
						open_rc, close_pair),
		cmocka_unit_test_setup_teardown(single_packet__receives_run_out, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(single_packet__receive_too_short, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(single_packet__keys_take_turns, open_rc,
						close_pair),
		cmocka_unit_test_setup_teardown(single_packet__key_without_the_right_to_write,
						open_rc, close_pair),
		cmocka_unit_test_setup_teardown(single_packet__receive_of_two_elements, open_rc,
						close_pair),
		cmocka_unit_test(single_packet__overruns_the_completion_queue),
		cmocka_unit_test(single_packet__behind_a_hole),
		cmocka_unit_test(single_packet__of_an_unreliable_queue_pair),
		cmocka_unit_test(single_packet__of_a_shared_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
