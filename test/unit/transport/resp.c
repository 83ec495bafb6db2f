/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The responder of RC [IBA 9.7.4, 9.7.5.1]. The test builds the requests, frame by frame, and
 * compares B's responses. At the beginning B expects PSN 0.
 */

#include "request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

#define MTU 1024u
#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* --- tests of the responder, whose requests are built as a peer builds them --- */

/* --- requests with a past, expected or future PSN --- */

static void
resp_recv__expected_write_is_placed_and_acked(void **state)
{
	(void)state;
	assert_int_equal(write_only(0, 16, 5), UROCE_VERDICT_REQUEST);
	expect_answer("B>A ACK psn 0\n");
	assert_memory_equal(pair.host[B].mem + 16, "\1\2\3\4\5\0", 6);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 1);
	assert_int_equal(pair.host[B].qpc.resp.msn, 1);
}

/* --- responses without requests: uroce_qpc_send_responses() --- */

static unsigned
send_responses(struct uroce_txd *txd, uint8_t hdr[][UROCE_HDR_MAX], unsigned max)
{
	for (unsigned i = 0; i < max; i++)
		txd[i].hdr = hdr[i];
	assert_true(uroce_qpc_is_fast_path(&pair.host[B].qpc));
	return uroce_qpc_send_responses(&pair.host[B].qpc, txd, max, 0);
}

static uint8_t
opcode_of(const struct uroce_txd *txd)
{
	return ((const struct uroce_bth *)(txd->hdr + txd->bth_off))->opcode;
}

static void
qpc_send_responses__is_the_ack_and_no_request(void **state)
{
	struct uroce_txd txd[4];
	uint8_t hdr[4][UROCE_HDR_MAX];

	(void)state;
	pair_post(&pair, B, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	assert_int_equal(send_responses(txd, hdr, 4), 0);
	write_only(0, 16, 5);
	assert_int_equal(send_responses(txd, hdr, 4), 1);
	assert_int_equal(opcode_of(&txd[0]), UROCE_OP_ACK);
	assert_int_equal(send_responses(txd, hdr, 4), 0);
	/* uroce_qpc_send(), which sends requests as well, sends the WRITE */
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, 4, 0), 1);
	assert_int_equal(opcode_of(&txd[0]), UROCE_OP_WRITE_ONLY);
}

static void
qpc_send_responses__is_all_responses_in_turn(void **state)
{
	struct uroce_txd txd[4];
	uint8_t hdr[4][UROCE_HDR_MAX];

	(void)state;
	read_request(0, 0, 3 * MTU);
	assert_int_equal(send_responses(txd, hdr, 2), 2);
	assert_int_equal(opcode_of(&txd[0]), UROCE_OP_READ_RESPONSE_FIRST);
	assert_int_equal(send_responses(txd, hdr, 2), 1);
	assert_int_equal(opcode_of(&txd[0]), UROCE_OP_READ_RESPONSE_LAST);
	assert_int_equal(pair.host[B].qpc.stats.tx_packets, 3);
}

static void
qpc_is_fast_path__ends_with_an_error(void **state)
{
	(void)state;
	assert_true(uroce_qpc_is_fast_path(&pair.host[B].qpc));
	uroce_qpc_fail(&pair.host[B].qpc, 0);
	assert_false(uroce_qpc_is_fast_path(&pair.host[B].qpc));
}

static void
qpc_response_deadline__is_that_of_a_hole(void **state)
{
	(void)state;
	assert_true(uroce_qpc_response_deadline(&pair.host[B].qpc) == UROCE_NEVER);
	pair.host[B].qpc.resp.nak_deadline = 7;
	assert_true(uroce_qpc_response_deadline(&pair.host[B].qpc) == 7);
	assert_true(uroce_qpc_deadline(&pair.host[B].qpc) == 7);
	pair.host[B].qpc.cc.cnp_deadline = 5;
	assert_true(uroce_qpc_response_deadline(&pair.host[B].qpc) == 5);
	pair.host[B].qpc.cc.cnp_deadline = UROCE_NEVER;
	pair.host[B].qpc.resp.nak_deadline = UROCE_NEVER;
}

static void
resp_recv__past_write_is_acked_not_rewritten(void **state)
{
	(void)state;
	write_only(0, 16, 5);
	write_only(1, 0, 0);
	expect_answer("B>A ACK psn 1\n");
	memset(pair.host[B].mem, 0, 100);
	assert_int_equal(write_only(0, 16, 5), UROCE_VERDICT_DUPLICATE);
	/* the ACK of a duplicate has the newest PSN, not the PSN of the duplicate */
	expect_answer("B>A ACK psn 1\n");
	assert_int_equal(pair.host[B].mem[16], 0);
	assert_int_equal(pair.host[B].qpc.resp.msn, 2);
}

static void
resp_recv__write_ahead_gets_one_nak(void **state)
{
	(void)state;
	assert_int_equal(write_only(2, 0, 5), UROCE_VERDICT_PSN_GAP);
	expect_answer("B>A NAK_SEQ psn 0\n");
	/* until the missing packet arrives, no second NAK is sent */
	assert_int_equal(write_only(3, 0, 5), UROCE_VERDICT_PSN_GAP);
	expect_answer("");
	assert_int_equal(pair.host[B].mem[0], 0);
	assert_int_equal(write_only(0, 0, 5), UROCE_VERDICT_REQUEST);
	expect_answer("B>A ACK psn 0\n");
	/* the missing PSN 1 is a new gap, so a new NAK is sent */
	assert_int_equal(write_only(2, 0, 5), UROCE_VERDICT_PSN_GAP);
	expect_answer("B>A NAK_SEQ psn 1\n");
}

static void
resp_recv__half_of_the_circle_is_past_half_is_ahead(void **state)
{
	(void)state;
	assert_int_equal(write_only(0x7fffff, 0, 5), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(write_only(0x800000, 0, 5), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(write_only(0xffffff, 0, 5), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(write_only(1, 0, 5), UROCE_VERDICT_PSN_GAP);
}

static void
resp_recv__nak_that_did_not_leave_asks_for_what_is_still_missing(void **state)
{
	(void)state;
	write_only(1, 0, 5);
	write_only(0, 0, 5);
	/* the packet with PSN 1 was dropped behind the gap, so a NAK must report PSN 1 */
	expect_answer("B>A NAK_SEQ psn 1\n");
	write_only(1, 0, 5);
	expect_answer("B>A ACK psn 1\n");
}

static void
resp_recv__nak_that_left_is_answered_by_all_that_was_dropped(void **state)
{
	(void)state;
	write_only(2, 0, 5);
	expect_answer("B>A NAK_SEQ psn 0\n");
	write_only(0, 0, 5);
	expect_answer("B>A ACK psn 0\n");
}

static void
resp_recv__nak_goes_instead_of_the_ack_before_it(void **state)
{
	(void)state;
	write_only(0, 0, 5);
	write_only(2, 0, 5);
	/* no ACK of PSN 0 is sent, because the NAK of PSN 1 acknowledges PSN 0 */
	expect_answer("B>A NAK_SEQ psn 1\n");
}

static void
resp_recv__nak_that_did_not_leave_is_not_forgotten_for_an_ack(void **state)
{
	(void)state;
	write_only(1, 0, 5);
	write_only(0xffffff, 0, 5);
	expect_answer("B>A NAK_SEQ psn 0\n");
}

static void
resp_recv__duplicate_behind_a_nak_is_acked(void **state)
{
	(void)state;
	write_only(0, 0, 5);
	write_only(2, 0, 5);
	expect_answer("B>A NAK_SEQ psn 1\n");
	write_only(0, 0, 5);
	expect_answer("B>A ACK psn 0\n");
	write_only(3, 0, 5);
	expect_answer("");
}

static void
resp_send__one_ack_for_many(void **state)
{
	(void)state;
	for (uint32_t psn = 0; psn < 20; psn++)
		write_only(psn, 0, 5);
	expect_answer("B>A ACK psn 19\n");
	expect_answer("");
}

static void
resp_recv__no_ack_without_being_asked(void **state)
{
	(void)state;
	write_packet(UROCE_OP_WRITE_FIRST, 0, 2 * MTU, MTU);
	write_packet(UROCE_OP_WRITE_LAST, 1, 0, MTU);
	expect_answer("");
}

/* --- NAKs that end the QP --- */

static void
resp_recv__opcode_out_of_sequence_is_an_invalid_request(void **state)
{
	static const struct {
		uint8_t first; /* opcode of the packet before the bad one; 0xff: there is none */
		uint8_t second;
	} rows[] = {
		{ 0xff, UROCE_OP_SEND_MIDDLE },
		{ 0xff, UROCE_OP_SEND_LAST },
		{ 0xff, UROCE_OP_SEND_LAST_IMM },
		{ 0xff, UROCE_OP_WRITE_MIDDLE },
		{ 0xff, UROCE_OP_WRITE_LAST },
		{ 0xff, UROCE_OP_WRITE_LAST_IMM },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_SEND_FIRST },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_SEND_ONLY },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_WRITE_FIRST },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_WRITE_MIDDLE },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_WRITE_LAST },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_READ_REQUEST },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_FETCH_ADD },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_SEND_MIDDLE },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_SEND_ONLY },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_FIRST },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_ONLY },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_READ_REQUEST },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_CMP_SWAP },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char trace[64];
		uint32_t psn = 0;
		const bool has_payload =
			uroce_opcode_table[rows[i].second].flags & UROCE_OPF_PAYLOAD;

		open_pair(state);
		pair_post_recv(&pair, B, 0, 8192);
		if (rows[i].first != 0xff)
			assert_int_equal(write_packet(rows[i].first, psn++, 3 * MTU, MTU),
					 UROCE_VERDICT_REQUEST);
		assert_int_equal(write_packet(rows[i].second, psn, MTU, has_payload ? MTU : 0),
				 UROCE_VERDICT_BAD_SEQUENCE);
		snprintf(trace, sizeof(trace), "B>A NAK_INV_REQUEST psn %u\n", psn);
		expect_answer(trace);
		expect_err(UROCE_QPC_REQ_ERR);
		pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
		close_pair(state);
	}
}

static void
resp_recv__length_that_does_not_fit_its_place_is_an_invalid_request(void **state)
{
	static const struct {
		uint8_t first;
		uint8_t second;
		uint32_t dma_len;
		uint32_t len;
	} rows[] = {
		/*
		 * wrong lengths: First and Middle must be full; Last and Only must not exceed the
		 * MTU; Last must not be empty
		 */
		{ 0xff, UROCE_OP_SEND_FIRST, 0, MTU - 4 },
		{ 0xff, UROCE_OP_SEND_FIRST, 0, MTU + 4 },
		{ 0xff, UROCE_OP_SEND_ONLY, 0, MTU + 1 },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_SEND_MIDDLE, 0, MTU - 4 },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_SEND_LAST, 0, MTU + 1 },
		{ UROCE_OP_SEND_FIRST, UROCE_OP_SEND_LAST, 0, 0 },
		{ 0xff, UROCE_OP_WRITE_FIRST, 3 * MTU, MTU - 4 },
		{ 0xff, UROCE_OP_WRITE_ONLY, MTU + 4, MTU + 4 },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_LAST, 0, 0 },
		/* the payload of these WRITEs does not have the length that the RETH announces */
		{ 0xff, UROCE_OP_WRITE_ONLY, 5, 4 },
		{ 0xff, UROCE_OP_WRITE_ONLY, 3, 4 },
		{ 0xff, UROCE_OP_WRITE_ONLY, 0, 4 },
		{ 0xff, UROCE_OP_WRITE_ONLY, 4, 0 },
		{ 0xff, UROCE_OP_WRITE_FIRST, MTU, MTU },
		{ 0xff, UROCE_OP_WRITE_FIRST, MTU - 1, MTU },
		{ 0xff, UROCE_OP_WRITE_FIRST, 0, MTU },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_MIDDLE, 0, MTU },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_LAST, 0, 99 },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_LAST, 0, 101 },
		/* messages of more than 2^31 bytes */
		{ 0xff, UROCE_OP_WRITE_FIRST, 0x80000001, MTU },
		{ 0xff, UROCE_OP_WRITE_FIRST, UINT32_MAX, MTU },
		{ 0xff, UROCE_OP_READ_REQUEST, 0x80000001, 0 },
		{ 0xff, UROCE_OP_READ_REQUEST, UINT32_MAX, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t psn = 0;

		open_pair(state);
		pair_post_recv(&pair, B, 0, 8192);
		if (rows[i].first != 0xff)
			assert_int_equal(write_packet(rows[i].first, psn++, MTU + 100, MTU),
					 UROCE_VERDICT_REQUEST);
		assert_int_equal(write_packet(rows[i].second, psn, rows[i].dma_len, rows[i].len),
				 UROCE_VERDICT_BAD_REQUEST);
		expect_answer(psn ? "B>A NAK_INV_REQUEST psn 1\n" : "B>A NAK_INV_REQUEST psn 0\n");
		expect_err(UROCE_QPC_REQ_ERR);
		close_pair(state);
	}
}

/* Requests are refused for each reason: the key, the range, and the access right. */
static void
resp_recv__refused_memory_is_a_remote_access_error(void **state)
{
	static const uint8_t opcodes[] = { UROCE_OP_WRITE_ONLY, UROCE_OP_WRITE_FIRST,
					   UROCE_OP_READ_REQUEST, UROCE_OP_CMP_SWAP,
					   UROCE_OP_FETCH_ADD };
	enum way { BAD_KEY, BEFORE, BEHIND, PARTLY, NO_RIGHT, OTHER_PD, GONE, QP_DENIES, NB_WAYS };

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		const uint8_t opcode = opcodes[i];
		const bool is_first = opcode == UROCE_OP_WRITE_FIRST;
		const uint32_t len = is_first ? MTU + 8 : 8;

		for (int way = 0; way < NB_WAYS; way++) {
			struct pair_conf conf = pair_conf(IBV_QPT_RC);
			struct pair_pkt pkt = { .opcode = opcode, .dma_len = len };

			if (way == QP_DENIES)
				conf.access = 0;
			pair_open(&pair, &conf);
			pkt.va = va(0);
			pkt.rkey = pair.host[B].key;
			if (opcode <= UROCE_OP_WRITE_ONLY)
				pkt.payload_len = is_first ? MTU : len;
			if (way == BAD_KEY)
				pkt.rkey++;
			if (way == BEFORE)
				pkt.va = va(0) - 8;
			if (way == BEHIND)
				pkt.va = va(conf.mem_len);
			if (way == PARTLY)
				pkt.va = va(conf.mem_len - len + 1);
			if (way == NO_RIGHT)
				pkt.rkey = pair_register(&pair, B, pair.host[B].mem, 4096,
							 IBV_ACCESS_LOCAL_WRITE);
			if (way == OTHER_PD)
				pair.host[B].qpc.pdn++;
			if (way == GONE)
				uroce_mr_invalidate(pair.host[B].mrs, pair.host[B].key);
			pair_post_recv(&pair, B, 0, 10);
			assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_NO_ACCESS);
			expect_answer("B>A NAK_REM_ACCESS psn 0\n");
			expect_err(UROCE_QPC_ACCESS_ERR);
			pair_expect_done(&pair, B, "recv 0 WR_FLUSH_ERR\n");
			close_pair(state);
		}
	}
}

static void
resp_recv__region_that_goes_in_the_middle_of_a_write(void **state)
{
	(void)state;
	write_packet(UROCE_OP_WRITE_FIRST, 0, 2 * MTU, MTU);
	uroce_mr_invalidate(pair.host[B].mrs, pair.host[B].key);
	assert_int_equal(write_packet(UROCE_OP_WRITE_LAST, 1, 0, MTU), UROCE_VERDICT_NO_ACCESS);
	expect_answer("B>A NAK_REM_ACCESS psn 1\n");
	expect_err(UROCE_QPC_ACCESS_ERR);
}

static void
resp_recv__nothing_needs_no_key(void **state)
{
	(void)state;
	for (uint32_t psn = 0; psn < 2; psn++) {
		const struct pair_pkt pkt = {
			.opcode = psn ? UROCE_OP_READ_REQUEST : UROCE_OP_WRITE_ONLY,
			.psn = psn,
			.rkey = 0xdeadbeef,
			.va = UINT64_MAX,
		};

		assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	}
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
}

static void
resp_recv__misaligned_atomic_is_an_invalid_request(void **state)
{
	(void)state;
	assert_int_equal(fetch_add(0, va(4), 1), UROCE_VERDICT_BAD_REQUEST);
	expect_answer("B>A NAK_INV_REQUEST psn 0\n");
	expect_err(UROCE_QPC_REQ_ERR);
	assert_int_equal(pair.host[B].mem[4], 0);
}

static void
resp_recv__atomic_misaligned_in_our_own_memory_only(void **state)
{
	struct uroce_mr_conf conf = {
		.addr = pair.host[B].mem + 1,
		.iova = 0x1000,
		.len = 64,
		.pdn = pair.host[B].qpc.pdn,
		.access = ACCESS_ALL,
	};
	struct pair_pkt pkt = { .opcode = UROCE_OP_FETCH_ADD, .va = 0x1000, .swap_add = 1 };

	(void)state;
	assert_int_equal(uroce_mr_add(pair.host[B].mrs, &conf, &pkt.rkey), 0);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_BAD_REQUEST);
}

static void
resp_recv__message_longer_than_its_buffer(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, MTU + 99);
	pair_post_recv(&pair, B, 0, 10);
	send_packet(UROCE_OP_SEND_FIRST, 0, MTU);
	assert_int_equal(send_packet(UROCE_OP_SEND_LAST, 1, 100), UROCE_VERDICT_TOO_LONG);
	expect_answer("B>A NAK_INV_REQUEST psn 1\n");
	expect_err(0);
	pair_expect_done(&pair, B, "recv 0 LOC_LEN_ERR\nrecv 1 WR_FLUSH_ERR\n");
}

static void
resp_recv__receive_whose_memory_is_refused(void **state)
{
	struct ibv_sge sge = { .addr = va(0), .length = 100, .lkey = pair.host[B].key + 1 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	(void)state;
	pair_post_recv_raw(&pair, B, &wr);
	pair_post_recv(&pair, B, 0, 10);
	assert_int_equal(send_packet(UROCE_OP_SEND_ONLY, 0, 100), UROCE_VERDICT_LOCAL_FAULT);
	expect_answer("B>A NAK_REM_OP psn 0\n");
	expect_err(0);
	pair_expect_done(&pair, B, "recv 0 LOC_PROT_ERR\nrecv 1 WR_FLUSH_ERR\n");
}

static void
resp_recv__in_err_nothing_is_taken(void **state)
{
	(void)state;
	write_packet(UROCE_OP_SEND_MIDDLE, 0, 0, MTU);
	expect_answer("B>A NAK_INV_REQUEST psn 0\n");
	assert_int_equal(write_only(0, 0, 4), UROCE_VERDICT_NOT_READY);
	expect_answer("");
}

/* --- RNR NAKs --- */

static void
resp_recv__send_without_a_receive_gets_rnr_nak(void **state)
{
	(void)state;
	assert_int_equal(send_packet(UROCE_OP_SEND_ONLY, 0, 10), UROCE_VERDICT_NO_RECEIVE);
	expect_answer("B>A RNR_NAK psn 0\n");
	/* after an RNR NAK the next packet is out of order, and gets no response */
	assert_int_equal(write_only(1, 0, 4), UROCE_VERDICT_PSN_GAP);
	expect_answer("");
	/* the repeated SEND gets another RNR NAK, because there is still no receive request */
	assert_int_equal(send_packet(UROCE_OP_SEND_ONLY, 0, 10), UROCE_VERDICT_NO_RECEIVE);
	expect_answer("B>A RNR_NAK psn 0\n");
	pair_post_recv(&pair, B, 0, 10);
	assert_int_equal(send_packet(UROCE_OP_SEND_ONLY, 0, 10), UROCE_VERDICT_REQUEST);
	expect_answer("B>A ACK psn 0\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10\n");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

static void
resp_recv__rnr_nak_that_did_not_leave_is_overtaken(void **state)
{
	(void)state;
	send_packet(UROCE_OP_SEND_ONLY, 0, 10);
	pair_post_recv(&pair, B, 0, 10);
	send_packet(UROCE_OP_SEND_ONLY, 0, 10);
	expect_answer("B>A ACK psn 0\n");
}

static void
resp_recv__rnr_nak_carries_the_timer(void **state)
{
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];

	(void)state;
	send_packet(UROCE_OP_SEND_ONLY, 0, 10);
	txd.hdr = hdr;
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, &txd, 1, 0), 1);
	assert_int_equal(hdr[txd.bth_off + 12], 1 << 5 | 12);
}

static void
resp_recv__write_with_imm_without_a_receive_places_nothing(void **state)
{
	const struct pair_pkt pkt = { .opcode = UROCE_OP_WRITE_ONLY_IMM,
				      .va = va(0),
				      .rkey = pair.host[B].key,
				      .dma_len = 4,
				      .payload_len = 4 };

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_NO_RECEIVE);
	expect_answer("B>A RNR_NAK psn 0\n");
	assert_int_equal(pair.host[B].mem[0], 0);
	pair_post_recv(&pair, B, 0, 0);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].mem[0], 1);
	pair_expect_done(&pair, B, "recv 0 RECV_RDMA_WITH_IMM SUCCESS 4 imm 00000000\n");
}

static void
resp_recv__last_of_a_write_with_imm_waits_for_a_receive(void **state)
{
	(void)state;
	write_packet(UROCE_OP_WRITE_FIRST, 0, MTU + 4, MTU);
	assert_int_equal(write_packet(UROCE_OP_WRITE_LAST_IMM, 1, 0, 4), UROCE_VERDICT_NO_RECEIVE);
	expect_answer("B>A RNR_NAK psn 1\n");
	pair_post_recv(&pair, B, 0, 0);
	assert_int_equal(write_packet(UROCE_OP_WRITE_LAST_IMM, 1, 0, 4), UROCE_VERDICT_REQUEST);
	pair_expect_done(&pair, B, "recv 0 RECV_RDMA_WITH_IMM SUCCESS 1028 imm 00000000\n");
}

/* --- READ responses --- */

static void
resp_send__read_spans_its_psns(void **state)
{
	(void)state;
	assert_int_equal(read_request(0, 0, 2 * MTU + 1), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 3);
	assert_int_equal(write_only(3, 0, 4), UROCE_VERDICT_REQUEST);
	/*
	 * responses are sent in the order of PSNs, although the WRITE arrived before the READ
	 * responses were sent
	 */
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\n"
		      "B>A READ_RESPONSE_MIDDLE psn 1\n"
		      "B>A READ_RESPONSE_LAST psn 2\n"
		      "B>A ACK psn 3\n");
}

static void
resp_send__read_response_acknowledges_what_is_before_it(void **state)
{
	(void)state;
	write_only(0, 0, 4);
	read_request(1, 0, MTU);
	expect_answer("B>A READ_RESPONSE_ONLY psn 1\n");
}

static void
resp_send__nak_waits_for_the_responses_before_it(void **state)
{
	(void)state;
	read_request(0, 0, 2 * MTU);
	write_only(3, 0, 4);
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\n"
		      "B>A READ_RESPONSE_LAST psn 1\n"
		      "B>A NAK_SEQ psn 2\n");
}

static void
resp_send__what_is_owed_is_sent_in_err(void **state)
{
	(void)state;
	read_request(0, 0, 2 * MTU);
	assert_int_equal(write_packet(UROCE_OP_WRITE_ONLY, 2, 9, 8), UROCE_VERDICT_BAD_REQUEST);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_true(uroce_qpc_has_work(&pair.host[B].qpc));
	expect_answer("B>A READ_RESPONSE_FIRST psn 0\n"
		      "B>A READ_RESPONSE_LAST psn 1\n"
		      "B>A NAK_INV_REQUEST psn 2\n");
	assert_false(uroce_qpc_has_work(&pair.host[B].qpc));
}

static void
resp_send__region_that_goes_in_the_middle_of_a_read(void **state)
{
	struct uroce_txd txd[2];
	uint8_t hdr[2][UROCE_HDR_MAX];

	(void)state;
	read_request(0, 0, 4 * MTU);
	write_only(4, 0, 4);
	txd[0].hdr = hdr[0];
	txd[1].hdr = hdr[1];
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, txd, 2, 0), 2);
	uroce_mr_invalidate(pair.host[B].mrs, pair.host[B].key);
	/* the NAK has the PSN of the first READ response that cannot be sent */
	expect_answer("B>A NAK_REM_ACCESS psn 2\n");
	expect_err(UROCE_QPC_ACCESS_ERR);
}

/* --- messages of 2^31 bytes, for which no memory is needed --- */

static void
resp_recv__read_of_2_to_the_31_bytes_spans_half_of_the_circle(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];
	struct uroce_mr_conf mr = { .len = 1u << 31, .iova = 0, .access = ACCESS_ALL };
	struct pair_pkt pkt = { .opcode = UROCE_OP_READ_REQUEST, .dma_len = 1u << 31 };

	conf.mtu = IBV_MTU_256;
	conf.psn[A] = 0xfffff0;
	pair_open(&pair, &conf);
	/* the region has 2 GiB, but less memory exists, because the test reads no byte of it */
	mr.addr = pair.host[B].mem;
	mr.pdn = pair.host[B].qpc.pdn;
	assert_int_equal(uroce_mr_add(pair.host[B].mrs, &mr, &pkt.rkey), 0);
	pkt.psn = 0xfffff0;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 0x7ffff0);
	/*
	 * a READ of 2^23 packets: its duplicate counts as a past request, and its saved resource is
	 * found
	 */
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_DUPLICATE);
	pkt.psn = 0x7fffef;
	pkt.va = (1u << 31) - 256;
	pkt.dma_len = 256;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_DUPLICATE);
	txd.hdr = hdr;
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, &txd, 1, 0), 1);
	assert_int_equal(txd.payload_len, 256);
	/*
	 * the duplicate of the last packet does not shorten the responses that are still to be sent
	 */
	assert_ptr_equal(txd.slice[0].addr, pair.host[B].mem);
	assert_int_equal(pair.host[B].qpc.resp.res[0].end, 1u << 23);
	close_pair(state);
}

static void
resp_recv__write_of_2_to_the_31_bytes(void **state)
{
	struct uroce_mr_conf mr = { .len = 1u << 31, .access = ACCESS_ALL };
	struct pair_pkt pkt = { .opcode = UROCE_OP_WRITE_FIRST,
				.dma_len = 1u << 31,
				.payload_len = MTU };

	(void)state;
	mr.addr = pair.host[B].mem;
	mr.pdn = pair.host[B].qpc.pdn;
	assert_int_equal(uroce_mr_add(pair.host[B].mrs, &mr, &pkt.rkey), 0);
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	/*
	 * set the state as if all packets but the last one had arrived, and the message had begun
	 * at another address
	 */
	pair.host[B].qpc.resp.msg_len = (1u << 31) - MTU;
	pair.host[B].qpc.resp.write_va = (uint64_t)0 - ((1u << 31) - MTU);
	pkt.opcode = UROCE_OP_WRITE_LAST;
	pkt.psn = 1;
	assert_int_equal(pair_inject(&pair, B, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

#define RESP_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RESP_TEST(resp_recv__expected_write_is_placed_and_acked),
		RESP_TEST(qpc_send_responses__is_the_ack_and_no_request),
		RESP_TEST(qpc_send_responses__is_all_responses_in_turn),
		RESP_TEST(qpc_is_fast_path__ends_with_an_error),
		RESP_TEST(qpc_response_deadline__is_that_of_a_hole),
		RESP_TEST(resp_recv__past_write_is_acked_not_rewritten),
		RESP_TEST(resp_recv__write_ahead_gets_one_nak),
		RESP_TEST(resp_recv__half_of_the_circle_is_past_half_is_ahead),
		RESP_TEST(resp_recv__nak_that_did_not_leave_asks_for_what_is_still_missing),
		RESP_TEST(resp_recv__nak_that_left_is_answered_by_all_that_was_dropped),
		RESP_TEST(resp_recv__nak_goes_instead_of_the_ack_before_it),
		RESP_TEST(resp_recv__nak_that_did_not_leave_is_not_forgotten_for_an_ack),
		RESP_TEST(resp_recv__duplicate_behind_a_nak_is_acked),
		RESP_TEST(resp_send__one_ack_for_many),
		RESP_TEST(resp_recv__no_ack_without_being_asked),
		cmocka_unit_test(resp_recv__opcode_out_of_sequence_is_an_invalid_request),
		cmocka_unit_test(
			resp_recv__length_that_does_not_fit_its_place_is_an_invalid_request),
		cmocka_unit_test(resp_recv__refused_memory_is_a_remote_access_error),
		RESP_TEST(resp_recv__region_that_goes_in_the_middle_of_a_write),
		RESP_TEST(resp_recv__nothing_needs_no_key),
		RESP_TEST(resp_recv__misaligned_atomic_is_an_invalid_request),
		RESP_TEST(resp_recv__atomic_misaligned_in_our_own_memory_only),
		RESP_TEST(resp_recv__message_longer_than_its_buffer),
		RESP_TEST(resp_recv__receive_whose_memory_is_refused),
		RESP_TEST(resp_recv__in_err_nothing_is_taken),
		RESP_TEST(resp_recv__send_without_a_receive_gets_rnr_nak),
		RESP_TEST(resp_recv__rnr_nak_that_did_not_leave_is_overtaken),
		RESP_TEST(resp_recv__rnr_nak_carries_the_timer),
		RESP_TEST(resp_recv__write_with_imm_without_a_receive_places_nothing),
		RESP_TEST(resp_recv__last_of_a_write_with_imm_waits_for_a_receive),
		RESP_TEST(resp_send__read_spans_its_psns),
		RESP_TEST(resp_send__read_response_acknowledges_what_is_before_it),
		RESP_TEST(resp_send__nak_waits_for_the_responses_before_it),
		RESP_TEST(resp_send__what_is_owed_is_sent_in_err),
		RESP_TEST(resp_send__region_that_goes_in_the_middle_of_a_read),
		cmocka_unit_test(resp_recv__read_of_2_to_the_31_bytes_spans_half_of_the_circle),
		RESP_TEST(resp_recv__write_of_2_to_the_31_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
