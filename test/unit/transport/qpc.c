/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The contract of a QP context as a whole: which frames it accepts, what it reports about pending
 * work and timers, and how it ends. In every test pair.c checks uroce_qpc_has_work() and the
 * deadline after each round.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/syndrome.h"

static struct pair pair;

static void
open_pair(enum ibv_qp_type type)
{
	const struct pair_conf conf = pair_conf(type);

	pair_open(&pair, &conf);
}

static const struct pair_wr write_1k = { .opcode = IBV_WR_RDMA_WRITE, .len = 1024 };
static const struct pair_wr send_1k = { .opcode = IBV_WR_SEND, .len = 1024 };

/* --- bursts of received frames --- */

/*
 * One completion queue for both directions: receive completions are published at the end of a
 * burst, while an ACK inside the burst may complete a send request.
 */
static void
qpc_recv_burst__one_queue_for_both_kinds(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	pair.host[B].qpc.recv_cq = &pair.host[B].send_cq;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pair_post_recv(&pair, B, 4096 * i, 4096), 0);
	pair_post(&pair, A, &send_1k);
	pair_post(&pair, B, &write_1k);
	pair_post(&pair, A, &send_1k);
	pair_step(&pair); /* one round: the first packets of both sides are in flight */
	/* this SEND arrives at B in one burst with the ACK of B's WRITE */
	pair_post(&pair, A, &send_1k);
	pair_run(&pair);
	struct ibv_wc wc[8];
	unsigned nb_recv = 0;

	assert_int_equal(uroce_cq_poll(&pair.host[B].send_cq, 8, wc), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		nb_recv += wc[i].opcode == IBV_WC_RECV;
	}
	assert_int_equal(nb_recv, 3);
	pair_close(&pair);
}

/*
 * An error in the middle of a burst: completions before the error are published before the flushed
 * requests, and frames behind the error are not accepted.
 */
static void
qpc_recv_burst__error_in_its_middle(void **state)
{
	static const struct {
		uint64_t wr_id;
		enum ibv_wc_status status;
	} expected[] = {
		{ 0, IBV_WC_SUCCESS },      { 1, IBV_WC_LOC_LEN_ERR },  { 0, IBV_WC_WR_FLUSH_ERR },
		{ 2, IBV_WC_WR_FLUSH_ERR }, { 3, IBV_WC_WR_FLUSH_ERR },
	};
	struct ibv_wc wc[8];

	(void)state;
	open_pair(IBV_QPT_RC);
	pair.host[B].qpc.recv_cq = &pair.host[B].send_cq;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pair_post_recv(&pair, B, 4096 * i, i == 1 ? 10 : 4096), 0);
	pair_lose(&pair, B, 0);
	pair_post(&pair, B, &write_1k);
	for (unsigned i = 0; i < 3; i++)
		pair_post(&pair, A, &send_1k);
	pair_run(&pair);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_int_equal(uroce_cq_poll(&pair.host[B].send_cq, 8, wc), 5);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(wc[i].wr_id, expected[i].wr_id);
		assert_int_equal(wc[i].status, expected[i].status);
	}
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_REQUEST], 1);
	pair_expect_done(&pair, A,
			 "send 0 SEND SUCCESS\nsend 1 REM_INV_REQ_ERR\nsend 2 WR_FLUSH_ERR\n");
	pair_close(&pair);
}

/*
 * A burst ends with a frame that the reorder buffer keeps, because the caller must handle that
 * frame first. The remaining frames are passed in the next call.
 */
static void
qpc_recv_burst__ends_with_a_frame_that_is_held(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.nb_hold = 8;
	pair_open(&pair, &conf);
	pair_lose(&pair, A, 1);
	for (unsigned i = 0; i < 4; i++)
		pair_post(&pair, A, &write_1k);
	pair_run(&pair);
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_OOO_BUFFERED], 2);
	pair_close(&pair);
}

/* --- which frames a QP accepts --- */

static void
qpc_recv__requests_are_taken_from_rtr_to_sqd(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		enum uroce_verdict verdict;
	} rows[] = {
		{ IBV_QPS_INIT, UROCE_VERDICT_NOT_READY }, { IBV_QPS_RTR, UROCE_VERDICT_REQUEST },
		{ IBV_QPS_RTS, UROCE_VERDICT_REQUEST },    { IBV_QPS_SQD, UROCE_VERDICT_REQUEST },
		{ IBV_QPS_ERR, UROCE_VERDICT_NOT_READY },
	};
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const struct pair_pkt pkt = { .opcode = UROCE_OP_WRITE_ONLY };

	(void)state;
	pair_open_reset(&pair, &conf);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_NOT_READY);
	pair_close(&pair);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pair_open_reset(&pair, &conf);
		pair_bring_up(&pair, B, rows[i].state < IBV_QPS_RTS ? rows[i].state : IBV_QPS_RTS);
		if (rows[i].state > IBV_QPS_RTS)
			pair_set_state(&pair, B, rows[i].state);
		assert_int_equal(pair_inject(&pair, B, &pkt), rows[i].verdict);
		pair_close(&pair);
	}
}

static void
qpc_recv__responses_are_taken_in_rts_and_sqd(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		enum uroce_verdict verdict;
	} rows[] = {
		{ IBV_QPS_RTR, UROCE_VERDICT_NOT_READY },
		{ IBV_QPS_RTS, UROCE_VERDICT_GHOST },
		{ IBV_QPS_SQD, UROCE_VERDICT_GHOST },
		{ IBV_QPS_ERR, UROCE_VERDICT_NOT_READY },
	};
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const struct pair_pkt pkt = { .opcode = UROCE_OP_ACK, .syndrome = UROCE_SYNDROME_ACK };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pair_open_reset(&pair, &conf);
		pair_bring_up(&pair, A, rows[i].state < IBV_QPS_RTS ? rows[i].state : IBV_QPS_RTS);
		if (rows[i].state > IBV_QPS_RTS)
			pair_set_state(&pair, A, rows[i].state);
		assert_int_equal(pair_inject(&pair, A, &pkt), rows[i].verdict);
		pair_close(&pair);
	}
}

static void
qpc_recv__opcodes_of_another_service_are_refused(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint8_t opcode;
		enum uroce_verdict verdict;
	} rows[] = {
		{ IBV_QPT_RC, 0x2a, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: UC WRITE_ONLY */
		{ IBV_QPT_RC, 0x64, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: UD SEND_ONLY */
		{ IBV_QPT_RC, 0xaa, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: XRC WRITE_ONLY */
		{ IBV_QPT_UC, 0x0a, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: RC WRITE_ONLY */
		{ IBV_QPT_UC, 0x11, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: RC ACK */
		{ IBV_QPT_UD, 0x04, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: RC SEND_ONLY */
		{ IBV_QPT_UD, 0x11, UROCE_VERDICT_WRONG_SERVICE }, /* opcode: RC ACK */
		{ IBV_QPT_UC, 0x2a, UROCE_VERDICT_REQUEST },
		{ IBV_QPT_RC, 0x0a, UROCE_VERDICT_REQUEST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_pair(rows[i].type);
		assert_int_equal(
			pair_inject(&pair, B, &(struct pair_pkt){ .opcode = rows[i].opcode }),
			rows[i].verdict);
		pair_close(&pair);
	}
}

static void
qpc_recv__frames_from_another_address_are_refused(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	for (int is_ipv6 = 0; is_ipv6 <= 1; is_ipv6++) {
		conf.is_ipv6 = is_ipv6;
		pair_open(&pair, &conf);
		assert_int_equal(pair_inject(&pair, B,
					     &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY,
								 .is_from_stranger = true }),
				 UROCE_VERDICT_WRONG_PEER);
		/* let the QP expect a source address of the other IP version */
		pair.host[B].qpc.path.is_ipv6 = !is_ipv6;
		assert_int_equal(
			pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY }),
			UROCE_VERDICT_WRONG_PEER);
		pair_close(&pair);
	}
}

static void
qpc_recv__pkeys_match_when_not_both_are_limited(void **state)
{
	/* the P_Key table of the QP: 0xffff (full member), 0x7fff (limited member), 0x8001 */
	static const struct {
		uint16_t pkey_index;
		uint16_t pkey;
		enum uroce_verdict verdict;
	} rows[] = {
		{ 0, 0xffff, UROCE_VERDICT_REQUEST },  { 0, 0x7fff, UROCE_VERDICT_REQUEST },
		{ 0, 0xfffe, UROCE_VERDICT_BAD_PKEY }, { 0, 0x8001, UROCE_VERDICT_BAD_PKEY },
		{ 1, 0xffff, UROCE_VERDICT_REQUEST },  { 1, 0x7fff, UROCE_VERDICT_BAD_PKEY },
		{ 2, 0x8001, UROCE_VERDICT_REQUEST },  { 2, 0x0001, UROCE_VERDICT_REQUEST },
		{ 2, 0xffff, UROCE_VERDICT_BAD_PKEY },
	};
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_qp_attr attr;

		pair_open_reset(&pair, &conf);
		const int mask = pair_attr(&pair, B, IBV_QPS_INIT, &attr);

		attr.pkey_index = rows[i].pkey_index;
		assert_int_equal(pair_modify(&pair, B, &attr, mask), 0);
		assert_int_equal(
			pair_modify(&pair, B, &attr, pair_attr(&pair, B, IBV_QPS_RTR, &attr)), 0);
		assert_int_equal(pair_inject(&pair, B,
					     &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY,
								 .psn = 0,
								 .pkey = rows[i].pkey }),
				 rows[i].verdict);
		pair_close(&pair);
	}
}

static void
qpc_recv__congestion_notification_is_taken_note_of(void **state)
{
	static const uint8_t zeros[16];
	const struct pair_pkt cnp = { .opcode = UROCE_OPCODE_CNP,
				      .payload_len = sizeof(zeros),
				      .payload = zeros };

	(void)state;
	open_pair(IBV_QPT_RC);
	assert_int_equal(pair_inject(&pair, A, &cnp), UROCE_VERDICT_CNP);
	assert_int_equal(pair.host[A].qpc.stats.cnps_handled, 0);
	pair_post(&pair, A, &write_1k);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
qpc_recv__first_packet_in_rtr_raises_comm_est_once(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	pair_open_reset(&pair, &conf);
	pair_bring_up(&pair, B, IBV_QPS_RTR);
	assert_int_equal(pair_events(&pair, B), 0);
	pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY });
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_COMM_EST);
	pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY, .psn = 1 });
	assert_int_equal(pair_events(&pair, B), 0);
	/*
	 * The QP stays in RTR after COMM_EST. IBA allows a QP to move to RTS by itself; but then
	 * the program's own transition from RTR to RTS would be refused.
	 */
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTR);
	struct ibv_qp_attr attr;
	const int mask = pair_attr(&pair, B, IBV_QPS_RTS, &attr);

	assert_int_equal(pair_modify(&pair, B, &attr, mask), 0);
	/* after a reset the event COMM_EST can occur again */
	pair_set_state(&pair, B, IBV_QPS_RESET);
	pair_bring_up(&pair, B, IBV_QPS_RTR);
	pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY });
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_COMM_EST);
	pair_close(&pair);
}

static void
qpc_recv__in_rts_there_is_no_comm_est(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	pair_inject(&pair, B, &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY });
	assert_int_equal(pair_events(&pair, B), 0);
	pair_close(&pair);
}

/* --- uroce_qpc_has_work() --- */

static void
qpc_has_work__idle_is_idle_in_every_state(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct pair_conf conf = pair_conf(types[i]);
		const struct uroce_qpc *qpc = &pair.host[A].qpc;

		pair_open(&pair, &conf);
		assert_false(uroce_qpc_has_work(qpc));
		/* send a few messages, so that no index of a queue is 0 */
		for (unsigned nb = 0; nb < 3; nb++) {
			pair_post_recv(&pair, B, 0, 2048);
			pair_post(&pair, A, &send_1k);
			assert_true(uroce_qpc_has_work(qpc));
		}
		pair_run(&pair);
		assert_false(uroce_qpc_has_work(qpc));
		pair_set_state(&pair, A, IBV_QPS_SQD);
		assert_false(uroce_qpc_has_work(qpc));
		pair_set_state(&pair, A, IBV_QPS_ERR);
		assert_false(uroce_qpc_has_work(qpc));
		pair_set_state(&pair, A, IBV_QPS_RESET);
		assert_false(uroce_qpc_has_work(qpc));
		pair_close(&pair);
	}
}

static void
qpc_has_work__request_posted_while_drained_waits(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	pair_post(&pair, A, &write_1k);
	assert_false(uroce_qpc_has_work(&pair.host[A].qpc));
	pair_set_state(&pair, A, IBV_QPS_RTS);
	assert_true(uroce_qpc_has_work(&pair.host[A].qpc));
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
qpc_send__posts_in_err_are_flushed(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		open_pair(types[i]);
		pair_set_state(&pair, B, IBV_QPS_ERR);
		/* post a receive request to a QP in ERR that has never sent a frame */
		pair_post_recv(&pair, B, 0, 100);
		assert_true(uroce_qpc_has_work(&pair.host[B].qpc));
		pair_run(&pair);
		pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
		pair_post(&pair, B, &send_1k);
		pair_post_recv(&pair, B, 0, 100);
		pair_run(&pair);
		pair_expect_done(&pair, B, "send 0 WR_FLUSH_ERR\nrecv 1 WR_FLUSH_ERR\n");
		assert_false(uroce_qpc_has_work(&pair.host[B].qpc));
		pair_expect_trace(&pair, "");
		pair_close(&pair);
	}
}

/* --- uroce_qpc_fail() and the transition to RESET --- */

static void
qpc_fail__flushes_both_queues_in_order(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	for (unsigned i = 0; i < 3; i++) {
		pair_post(&pair, A, &write_1k);
		pair_post_recv(&pair, A, 0, 10);
	}
	pair_flush(&pair, A);
	uroce_qpc_fail(&pair.host[A].qpc, pair.now_ns);
	pair_expect_done(&pair, A,
			 "send 0 WR_FLUSH_ERR\nsend 1 WR_FLUSH_ERR\nsend 2 WR_FLUSH_ERR\n"
			 "recv 0 WR_FLUSH_ERR\nrecv 1 WR_FLUSH_ERR\nrecv 2 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_ERR);
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	/* a second call of uroce_qpc_fail() has no effect */
	uroce_qpc_fail(&pair.host[A].qpc, pair.now_ns);
	pair_expect_done(&pair, A, "");
	pair_close(&pair);
}

static void
qpc_fail__what_was_owed_is_not_sent(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY, .has_ack_req = true });
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
					.psn = 1,
					.va = (uintptr_t)pair.host[B].mem,
					.rkey = pair.host[B].key,
					.dma_len = 10 });
	uroce_qpc_fail(&pair.host[B].qpc, pair.now_ns);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "");
	pair_close(&pair);
}

static void
qpc_fail__in_reset_nothing_happens(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	pair_open_reset(&pair, &conf);
	uroce_qpc_fail(&pair.host[A].qpc, pair.now_ns);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RESET);
	pair_close(&pair);
}

/* --- sharing the link between requests and responses --- */

static void
qpc_send__responses_do_not_starve_requests(void **state)
{
	struct uroce_txd txd[8];
	uint8_t hdr[8][UROCE_HDR_MAX];
	bool has_sent_write = false;

	(void)state;
	open_pair(IBV_QPT_RC);
	pair_inject(&pair, A,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
					.psn = 1000,
					.va = (uintptr_t)pair.host[A].mem,
					.rkey = pair.host[A].key,
					.dma_len = 1 << 20 });
	pair_post(&pair, A, &write_1k);
	for (unsigned i = 0; i < 8; i++)
		txd[i] = (struct uroce_txd){ .hdr = hdr[i] };
	/*
	 * READ responses and one request are more than the burst has room for: the burst must be
	 * full, and must contain the request
	 */
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, 8, 0), 8);
	for (unsigned i = 0; i < 8; i++)
		has_sent_write |= txd[i].hdr[txd[i].bth_off] == UROCE_OP_WRITE_ONLY;
	assert_true(has_sent_write);
	pair_close(&pair);
}

static void
qpc_send__responses_do_not_starve_requests_one_frame_at_a_time(void **state)
{
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];
	unsigned nb_writes = 0;

	(void)state;
	open_pair(IBV_QPT_RC);
	pair_inject(&pair, A,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
					.psn = 1000,
					.va = (uintptr_t)pair.host[A].mem,
					.rkey = pair.host[A].key,
					.dma_len = 1 << 20 });
	for (unsigned i = 0; i < 8; i++)
		pair_post(&pair, A, &write_1k);
	txd.hdr = hdr;
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, &txd, 1, 0), 1);
		uroce_qpc_sent(&pair.host[A].qpc, 0);
		nb_writes += txd.hdr[txd.bth_off] == UROCE_OP_WRITE_ONLY;
	}
	assert_int_equal(nb_writes, 4);
	pair_close(&pair);
}

/* --- congestion marks and CNPs --- */

static void
qpc_recv__marked_packet_is_answered_by_a_cnp_before_all_else(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_cc_conf cc;
	struct uroce_txd txd[2];
	uint8_t hdr[2][UROCE_HDR_MAX];

	(void)state;
	uroce_cc_conf_init(&cc);
	assert_true(uroce_cc_find("dcqcn", &cc.ops));
	conf.cc = &cc;
	conf.tclass = UROCE_ECN_CE;
	pair_open(&pair, &conf);
	assert_int_equal(pair_inject(&pair, B,
				     &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY,
							 .has_ack_req = true,
							 .va = (uintptr_t)pair.host[B].mem,
							 .rkey = pair.host[B].key,
							 .payload_len = 8,
							 .dma_len = 8 }),
			 UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.stats.ce_marked, 1);
	for (unsigned i = 0; i < 2; i++)
		txd[i] = (struct uroce_txd){ .hdr = hdr[i] };
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, 2, 0), 2);
	const struct uroce_bth *cnp = (const struct uroce_bth *)(hdr[0] + txd[0].bth_off);

	assert_int_equal(cnp->opcode, UROCE_OPCODE_CNP);
	assert_int_equal(cnp->fecn_becn, UROCE_BTH_BECN);
	assert_int_equal(be24_get(cnp->psn), 0);
	assert_int_equal(hdr[1][txd[1].bth_off], UROCE_OP_ACK);
	assert_int_equal(pair.host[B].qpc.stats.cnps_sent, 1);
	pair_close(&pair);
}

static void
qpc_set_cc__only_of_what_has_a_peer_and_has_not_begun(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_UD);
	struct uroce_cc_conf cc;

	(void)state;
	uroce_cc_conf_init(&cc);
	pair_open_reset(&pair, &conf);
	assert_int_equal(uroce_qpc_set_cc(&pair.host[A].qpc, &cc), -EINVAL);
	pair_close(&pair);
	conf = pair_conf(IBV_QPT_RC);
	pair_open_reset(&pair, &conf);
	assert_int_equal(uroce_qpc_set_cc(&pair.host[A].qpc, &cc), 0);
	pair_bring_up(&pair, A, IBV_QPS_RTR);
	assert_int_equal(uroce_qpc_set_cc(&pair.host[A].qpc, &cc), -EINVAL);
	pair_close(&pair);
}

static void
qpc_send__both_directions_at_once(void **state)
{
	(void)state;
	open_pair(IBV_QPT_RC);
	for (unsigned side = A; side <= B; side++) {
		pair_fill(&pair, (enum pair_side)side, 0, 300000, side);
		for (uint32_t i = 0; i < 3; i++) {
			pair_post(&pair, (enum pair_side)side,
				  &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ,
						     .len = 90000,
						     .local = 400000 + i * 100000,
						     .remote = i * 100000 });
			pair_post(&pair, (enum pair_side)side,
				  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE,
						     .len = 90000,
						     .local = i * 100000,
						     .remote = 700000 + i * 100000 });
		}
	}
	pair_run(&pair);
	for (unsigned side = A; side <= B; side++) {
		pair_expect_done(&pair, (enum pair_side)side,
				 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
				 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n"
				 "send 4 RDMA_READ SUCCESS\nsend 5 RDMA_WRITE SUCCESS\n");
		assert_int_equal(pair.host[side].qpc.stats.retransmits, 0);
		assert_int_equal(pair.host[side].qpc.stats.tx_bytes, 6 * 90000);
		assert_int_equal(pair.host[side].qpc.stats.rx_bytes, 6 * 90000);
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(pair_is_equal(&pair, 400000 + i * 100000, i * 100000, 90000));
		assert_true(pair_is_equal(&pair, i * 100000, 700000 + i * 100000, 90000));
	}
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qpc_recv_burst__one_queue_for_both_kinds),
		cmocka_unit_test(qpc_recv_burst__error_in_its_middle),
		cmocka_unit_test(qpc_recv_burst__ends_with_a_frame_that_is_held),
		cmocka_unit_test(qpc_recv__requests_are_taken_from_rtr_to_sqd),
		cmocka_unit_test(qpc_recv__responses_are_taken_in_rts_and_sqd),
		cmocka_unit_test(qpc_recv__opcodes_of_another_service_are_refused),
		cmocka_unit_test(qpc_recv__frames_from_another_address_are_refused),
		cmocka_unit_test(qpc_recv__pkeys_match_when_not_both_are_limited),
		cmocka_unit_test(qpc_recv__congestion_notification_is_taken_note_of),
		cmocka_unit_test(qpc_recv__first_packet_in_rtr_raises_comm_est_once),
		cmocka_unit_test(qpc_recv__in_rts_there_is_no_comm_est),
		cmocka_unit_test(qpc_has_work__idle_is_idle_in_every_state),
		cmocka_unit_test(qpc_has_work__request_posted_while_drained_waits),
		cmocka_unit_test(qpc_send__posts_in_err_are_flushed),
		cmocka_unit_test(qpc_fail__flushes_both_queues_in_order),
		cmocka_unit_test(qpc_fail__what_was_owed_is_not_sent),
		cmocka_unit_test(qpc_fail__in_reset_nothing_happens),
		cmocka_unit_test(qpc_send__responses_do_not_starve_requests),
		cmocka_unit_test(qpc_send__responses_do_not_starve_requests_one_frame_at_a_time),
		cmocka_unit_test(qpc_recv__marked_packet_is_answered_by_a_cnp_before_all_else),
		cmocka_unit_test(qpc_set_cc__only_of_what_has_a_peer_and_has_not_begun),
		cmocka_unit_test(qpc_send__both_directions_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
