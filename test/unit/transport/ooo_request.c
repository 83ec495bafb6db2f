/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests that arrive out of order: which packets are placed in memory, which wait in the reorder
 * buffer, and when the gap is reported.
 */

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

#include "pair.h"

static struct pair pair;

static void
open_with(uint32_t nb_hold)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = IBV_MTU_256;
	conf.nb_hold = nb_hold;
	conf.is_req_gbn = true;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	pair_fill(&pair, A, 0, 65536, 1);
}

static int
open_pair(void **state)
{
	(void)state;
	open_with(8);
	return 0;
}

/*
 * Setup function: a reorder buffer for 40 frames, so that one call does not execute all of them (a
 * call executes at most 32).
 */
static int
open_pair_that_holds_much(void **state)
{
	(void)state;
	open_with(40);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static struct pair_pkt
write_pkt(uint8_t opcode, uint32_t psn, uint32_t at, uint32_t len, uint32_t message_len)
{
	return (struct pair_pkt){
		.opcode = opcode,
		.psn = psn,
		.payload_len = len,
		.payload = pair.host[A].mem + at,
		.va = (uintptr_t)pair.host[B].mem,
		.rkey = pair.host[B].key,
		.dma_len = message_len,
	};
}

static enum uroce_verdict
inject(uint8_t opcode, uint32_t psn, uint32_t len)
{
	const struct pair_pkt pkt = write_pkt(opcode, psn, psn % 256 * 256, len, len ? 1024 : 0);

	return pair_inject(&pair, B, &pkt);
}

static void
ooo_request__middle_of_the_present_write_is_placed_and_its_last_packet_waits(void **state)
{
	(void)state;
	assert_int_equal(inject(UROCE_OP_WRITE_FIRST, 0, 256), UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_OOO_PLACED);
	assert_true(pair_is_equal(&pair, 512, 512, 256));
	assert_int_equal(inject(UROCE_OP_WRITE_LAST, 3, 256), UROCE_VERDICT_OOO_BUFFERED);
	assert_false(pair_is_equal(&pair, 768, 768, 256));
	assert_int_equal(pair.host[B].qpc.resp.epsn, 1);
	/* this packet fills the gap, so all packets are executed */
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 1, 256), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 1024));
	assert_int_equal(pair.host[B].qpc.resp.epsn, 4);
	assert_int_equal(pair.host[B].qpc.resp.msn, 1);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 3\n");
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
	assert_int_equal(uroce_reorder_buffer_count_gaps(pair.host[B].reorder_buffer), 0);
}

static void
ooo_request__what_was_placed_is_not_placed_again(void **state)
{
	(void)state;
	inject(UROCE_OP_WRITE_FIRST, 0, 256);
	inject(UROCE_OP_WRITE_MIDDLE, 2, 256);
	memset(pair.host[B].mem + 512, 0x55, 256);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(pair.host[B].mem[512], 0x55);
}

static void
ooo_request__nothing_is_placed_beyond_the_present_message(void **state)
{
	(void)state;
	inject(UROCE_OP_WRITE_FIRST, 0, 256);
	/*
	 * PSN 3 ends the announced message, so a Middle packet with this PSN is not placed in
	 * memory
	 */
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 3, 256), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 4, 256), UROCE_VERDICT_OOO_BUFFERED);
	assert_false(pair_is_equal(&pair, 1024, 1024, 256));
}

static void
ooo_request__a_later_write_does_not_lose_to_the_repair_of_an_earlier_one(void **state)
{
	struct pair_pkt late = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 256, 256);
	struct pair_pkt later = write_pkt(UROCE_OP_WRITE_ONLY, 1, 4096, 256, 256);

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &later), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(pair_inject(&pair, B, &late), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 4096, 0, 256));
}

static void
ooo_request__read_and_atomic_wait_behind_the_hole(void **state)
{
	struct pair_pkt read = { .opcode = UROCE_OP_READ_REQUEST,
				 .psn = 1,
				 .va = (uintptr_t)pair.host[B].mem,
				 .rkey = pair.host[B].key,
				 .dma_len = 512 };
	struct pair_pkt atomic = { .opcode = UROCE_OP_FETCH_ADD,
				   .psn = 3,
				   .va = (uintptr_t)pair.host[B].mem + 4096,
				   .rkey = pair.host[B].key,
				   .swap_add = 1 };

	(void)state;
	memset(pair.host[B].mem + 4096, 0, 8);
	assert_int_equal(pair_inject(&pair, B, &atomic), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_OOO_BUFFERED);
	pair_flush(&pair, B);
	assert_int_equal(pair.host[B].mem[4096], 0);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 0\n");
	struct pair_pkt write = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	write.has_ack_req = true;
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].mem[4096], 1);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A READ_RESPONSE_FIRST psn 1\nB>A READ_RESPONSE_LAST psn 2\n"
				 "B>A ATOMIC_ACK psn 3\n");
	/*
	 * the READ and the atomic behind PSN 0 get responses of their own, so the ACK must not have
	 * a PSN of theirs
	 */
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_DUPLICATE);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 0\n");
	/* without saved resources of the READ and the atomic, the ACK may have the newest PSN */
	struct uroce_resp *resp = &pair.host[B].qpc.resp;
	struct uroce_rd_res *res = resp->res;

	resp->res = NULL;
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_DUPLICATE);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 3\n");
	/* resources that are all zero must not count as a READ with PSN 0 */
	resp->passed_head = 0;
	resp->res = (struct uroce_rd_res[UROCE_RD_ATOMIC_MAX]){ 0 };
	resp->epsn = 1;
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_DUPLICATE);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 0\n");
	resp->res = res;
}

/*
 * After 2^24 packets a WRITE has the PSN of an old READ: its ACK must not be taken for a response
 * to that READ.
 */
static void
ooo_request__a_read_that_was_passed_by_is_not_found_again(void **state)
{
	struct pair_pkt read = { .opcode = UROCE_OP_READ_REQUEST,
				 .va = (uintptr_t)pair.host[B].mem,
				 .rkey = pair.host[B].key,
				 .dma_len = 4 };

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_REQUEST);
	for (uint32_t psn = 1; psn < 3; psn++) {
		struct pair_pkt write = write_pkt(UROCE_OP_WRITE_ONLY, psn % 2, 0, 4, 4);

		write.has_ack_req = true;
		assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_REQUEST);
		pair_flush(&pair, B);
		pair.host[B].qpc.resp.epsn = 0;
	}
	pair_expect_trace(&pair, "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A ACK psn 1\n"
				 "B>A ACK psn 0\n");
}

static void
ooo_request__a_full_pool_drops(void **state)
{
	(void)state;
	for (uint32_t psn = 1; psn <= 8; psn++)
		assert_int_equal(inject(UROCE_OP_SEND_ONLY, psn, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 9, 4), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, UROCE_PSN_GAP_SPAN, 4), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 8);
	/* in ERR the QP releases all frames of the reorder buffer */
	pair_set_state(&pair, B, IBV_QPS_ERR);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
}

static void
expire(void)
{
	pair.now_ns = uroce_qpc_deadline(&pair.host[B].qpc);
	uroce_qpc_expire(&pair.host[B].qpc, pair.now_ns);
}

/* Whether the QP accepts an empty WRITE whose PSN is `ahead` PSNs behind epsn. */
static bool
is_taken(uint32_t ahead)
{
	const uint64_t *nb_beyond = &pair.host[B].counters.nb[UROCE_COUNTER_RX_BEYOND_WINDOW];
	const uint64_t before = *nb_beyond;
	const uint32_t psn = uroce_psn_add(pair.host[B].qpc.resp.epsn, ahead);
	const bool is_buffered = inject(UROCE_OP_WRITE_ONLY, psn, 0) == UROCE_VERDICT_OOO_BUFFERED;

	assert_int_equal(*nb_beyond - before, !is_buffered);
	return is_buffered;
}

/*
 * Packets far ahead of epsn are dropped, so an attacker who guesses PSNs must guess one close to
 * epsn.
 */
static void
ooo_request__far_ahead_of_all_else_is_dropped(void **state)
{
	(void)state;
	assert_false(is_taken(UROCE_PSN_GAP_SPAN - 1));
	assert_false(is_taken(128));
	assert_true(is_taken(127));
	/* each accepted packet extends the range of accepted PSNs by two */
	assert_false(is_taken(130));
	assert_true(is_taken(129));
	assert_false(is_taken(132));
	/* the gap is reported by a NAK, so that the peer retransmits the dropped packets */
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 0\n");
}

/* Packets that follow a lost packet in order are all accepted, however many they are. */
static void
ooo_request__all_that_follows_a_loss_is_taken(void **state)
{
	(void)state;
	for (uint32_t ahead = 1; ahead <= 39; ahead++)
		assert_true(is_taken(ahead));
	assert_false(is_taken(128 + 2 * 39));
	/* when this gap is filled, the range of accepted PSNs keeps its width */
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 0, 0), UROCE_VERDICT_REQUEST);
	expire();
	assert_int_equal(pair.host[B].qpc.resp.epsn, 40);
	assert_false(is_taken(128 + 2 * 39));
	assert_true(is_taken(128 + 2 * 39 - 1));
}

/*
 * An accepted READ extends the range of accepted PSNs by twice the number of its responses, because
 * the next request has a PSN behind these.
 */
static void
ooo_request__reads_widen_what_is_taken(void **state)
{
	struct pair_pkt read = write_pkt(UROCE_OP_READ_REQUEST, 1, 0, 0, 100 * 256);

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_OOO_BUFFERED);
	assert_false(is_taken(128 + 2 * 101));
	assert_true(is_taken(128 + 2 * 101 - 1));
	/* PSN 0 fills the gap, so the READ is executed */
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 0, 0), UROCE_VERDICT_REQUEST);
	pair_set_state(&pair, B, IBV_QPS_ERR);
}

/*
 * A forged READ without a valid key must not extend the range of accepted PSNs by its length:
 * otherwise one packet would let the QP accept any PSN.
 */
static void
ooo_request__a_forged_read_widens_nothing(void **state)
{
	struct pair_pkt read = write_pkt(UROCE_OP_READ_REQUEST, 1, 0, 0, 1u << 31);

	(void)state;
	read.rkey++;
	assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_OOO_BUFFERED);
	/* the READ extends the range by only two PSNs, like any packet */
	assert_false(is_taken(128 + 2));
	assert_true(is_taken(128 + 1));
}

static void
ooo_request__a_long_read_is_remembered(void **state)
{
	const struct pair_pkt read = write_pkt(UROCE_OP_READ_REQUEST, 0, 0, 0, 100 * 256);

	(void)state;
	assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_REQUEST);
	assert_false(is_taken(128 + 2 * 100));
	assert_true(is_taken(128 + 2 * 100 - 1));
}

static void
ooo_request__much_that_is_held_is_executed_in_slices(void **state)
{
	struct uroce_reorder_buffer *reorder_buffer = pair.host[B].reorder_buffer;

	(void)state;
	for (uint32_t psn = 1; psn <= 39; psn++)
		assert_int_equal(inject(UROCE_OP_WRITE_ONLY, psn, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 0, 0), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 33);
	assert_true(uroce_reorder_buffer_has_ready(reorder_buffer));
	/*
	 * frames in the reorder buffer that wait for execution count as received, and later frames
	 * wait behind them
	 */
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 33, 0), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 40, 0), UROCE_VERDICT_OOO_BUFFERED);
	pair_flush(&pair, B);
	expire();
	assert_int_equal(pair.host[B].qpc.resp.epsn, 41);
	assert_false(uroce_reorder_buffer_has_ready(reorder_buffer));
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 32\nB>A ACK psn 40\n");
	assert_int_equal(uroce_reorder_buffer_count(reorder_buffer), 0);
	assert_int_equal(uroce_reorder_buffer_count_gaps(reorder_buffer), 0);
	assert_true(uroce_qpc_deadline(&pair.host[B].qpc) == UROCE_NEVER);
}

static void
ooo_request__a_hole_behind_the_slices_is_reported_after_them(void **state)
{
	(void)state;
	for (uint32_t psn = 1; psn <= 40; psn++)
		assert_int_equal(inject(UROCE_OP_WRITE_ONLY, psn, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 41, 0), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, 0, 0), UROCE_VERDICT_REQUEST);
	pair_flush(&pair, B);
	expire();
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 32\nB>A NAK_SEQ psn 41\n");
}

static void
ooo_request__slices_end_with_the_qp(void **state)
{
	(void)state;
	for (uint32_t psn = 1; psn <= 40; psn++)
		assert_int_equal(inject(UROCE_OP_WRITE_ONLY, psn, 0), UROCE_VERDICT_OOO_BUFFERED);
	inject(UROCE_OP_WRITE_ONLY, 0, 0);
	pair_set_state(&pair, B, IBV_QPS_ERR);
	assert_false(uroce_reorder_buffer_has_ready(pair.host[B].reorder_buffer));
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
}

static uint64_t
nb_conflicts(void)
{
	return pair.host[B].counters.nb[UROCE_COUNTER_RX_PSN_CONFLICT];
}

static void
ooo_request__what_is_held_is_checked_when_its_turn_comes(void **state)
{
	(void)state;
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 1, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 2, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_WRITE_FIRST, 0, 256), UROCE_VERDICT_REQUEST);
	/*
	 * the SEND inside a WRITE is refused when PSN 0 fills the gap; it may be forged, so its PSN
	 * is requested again
	 */
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 1);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 1\n");
	/* the peer sends the same packet again, so it was not forged, and the QP enters ERR */
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 1, 4), UROCE_VERDICT_BAD_SEQUENCE);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
	assert_int_equal(nb_conflicts(), 0);
}

/*
 * A refused packet was forged: the peer's packet with this PSN replaces it, and the QP stays in
 * RTS.
 */
static void
ooo_request__a_forged_packet_that_is_refused_costs_one_repetition(void **state)
{
	(void)state;
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 1, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_WRITE_FIRST, 0, 256), UROCE_VERDICT_REQUEST);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 1\n");
	for (uint32_t psn = 1; psn < 3; psn++)
		assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, psn, 256), UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_WRITE_LAST, 3, 256), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 1024));
	assert_int_equal(nb_conflicts(), 1);
}

/*
 * Two different packets with one PSN: one of them is forged, so both are dropped, and the PSN is
 * requested again.
 */
static void
ooo_request__two_that_differ_are_both_forgotten(void **state)
{
	struct pair_pkt forged = write_pkt(UROCE_OP_WRITE_ONLY, 1, 8192, 256, 256);
	struct pair_pkt right = write_pkt(UROCE_OP_WRITE_ONLY, 1, 256, 256, 256);
	struct pair_pkt first = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 256, 256);

	(void)state;
	right.va += 256;
	forged.va += 256;
	assert_int_equal(pair_inject(&pair, B, &forged), UROCE_VERDICT_OOO_BUFFERED);
	/* a second packet with the same content is a duplicate and no conflict */
	assert_int_equal(pair_inject(&pair, B, &forged), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(nb_conflicts(), 0);
	assert_int_equal(pair_inject(&pair, B, &right), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(nb_conflicts(), 1);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 0\n");
	assert_int_equal(pair_inject(&pair, B, &first), UROCE_VERDICT_REQUEST);
	assert_int_equal(pair_inject(&pair, B, &right), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 512));
}

/* A packet that was placed in memory is compared with a second packet of its PSN by a checksum. */
static void
ooo_request__a_placed_one_that_differs_is_asked_for_again(void **state)
{
	struct pair_pkt forged = write_pkt(UROCE_OP_WRITE_MIDDLE, 2, 8192, 256, 0);

	(void)state;
	inject(UROCE_OP_WRITE_FIRST, 0, 256);
	assert_int_equal(pair_inject(&pair, B, &forged), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_PSN_GAP);
	assert_int_equal(nb_conflicts(), 1);
	for (uint32_t psn = 1; psn < 3; psn++)
		assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, psn, 256), UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_WRITE_LAST, 3, 256), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 1024));
}

/*
 * A forged packet was executed before the peer's packet with its PSN arrives: memory stays wrong,
 * but the conflict is counted.
 */
static void
ooo_request__a_forged_packet_that_was_executed_is_counted(void **state)
{
	struct pair_pkt forged = write_pkt(UROCE_OP_WRITE_MIDDLE, 2, 8192, 256, 0);

	(void)state;
	inject(UROCE_OP_WRITE_FIRST, 0, 256);
	assert_int_equal(pair_inject(&pair, B, &forged), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 1, 256), UROCE_VERDICT_REQUEST);
	assert_int_equal(nb_conflicts(), 0);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(nb_conflicts(), 1);
	/* a third packet with this PSN is not counted as another conflict */
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(nb_conflicts(), 1);
}

/* A packet that the network duplicates is no conflict. */
static void
ooo_request__a_repetition_of_what_came_ahead_is_none(void **state)
{
	(void)state;
	inject(UROCE_OP_WRITE_FIRST, 0, 256);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 1, 256), UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_WRITE_MIDDLE, 2, 256), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(nb_conflicts(), 0);
}

static void
ooo_request__held_send_without_a_receive_is_an_rnr_nak(void **state)
{
	struct pair_pkt write = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 1, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 2, 4), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(pair_inject(&pair, B, &write), UROCE_VERDICT_REQUEST);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
	assert_int_equal(inject(UROCE_OP_SEND_ONLY, 3, 4), UROCE_VERDICT_PSN_GAP);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A RNR_NAK psn 1\n");
}

/*
 * When a READ cannot be sent, epsn goes back to its PSN, here over more PSNs than a gap can span.
 * The frames in the reorder buffer must be released nevertheless.
 */
static void
ooo_request__what_is_held_is_given_back_when_a_long_read_fails(void **state)
{
	struct pair_host *host = &pair.host[B];
	const uint32_t nb_psn = pair.conf.mem_len / 256;
	struct pair_pkt read = {
		.opcode = UROCE_OP_READ_REQUEST,
		.va = (uintptr_t)host->mem,
		.rkey = host->key,
		.dma_len = pair.conf.mem_len,
	};

	(void)state;
	for (; read.psn <= UROCE_PSN_GAP_SPAN; read.psn += nb_psn)
		assert_int_equal(pair_inject(&pair, B, &read), UROCE_VERDICT_REQUEST);
	assert_int_equal(inject(UROCE_OP_WRITE_ONLY, read.psn + 1, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(uroce_mr_invalidate(host->mrs, host->key), 0);
	pair_flush(&pair, B);
	assert_int_equal(host->qpc.state, IBV_QPS_ERR);
	assert_int_equal(uroce_reorder_buffer_count(host->reorder_buffer), 0);
	assert_int_equal(uroce_reorder_buffer_count_gaps(host->reorder_buffer), 0);
}

static void
ooo_request__a_loss_is_reported_at_once_until_a_packet_was_late(void **state)
{
	struct pair_pkt late = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	inject(UROCE_OP_WRITE_ONLY, 1, 0);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 0\n");
	/* the missing packet was not lost: it arrives 100 ns late */
	pair.now_ns += 100;
	pair_inject(&pair, B, &late);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A ACK psn 1\n");
	/* after a late packet the next gap is reported with a delay */
	inject(UROCE_OP_WRITE_ONLY, 3, 0);
	inject(UROCE_OP_WRITE_ONLY, 4, 0);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "");
	assert_true(uroce_qpc_deadline(&pair.host[B].qpc) == pair.now_ns + 800);
	pair.now_ns += 800;
	uroce_qpc_expire(&pair.host[B].qpc, pair.now_ns);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 2\n");
}

/*
 * The delay before a gap is reported has a limit. An attacker can forge a packet long before the
 * peer sends it: the peer's packets then look late by a second, and without a limit each loss would
 * be reported a second late.
 */
static void
ooo_request__a_hole_waits_10_ms_at_most(void **state)
{
	struct pair_pkt late = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	inject(UROCE_OP_WRITE_ONLY, 2, 0);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A NAK_SEQ psn 0\n");
	pair.now_ns += 1000000000;
	pair_inject(&pair, B, &late);
	late.psn = 1;
	pair_inject(&pair, B, &late);
	pair_flush(&pair, B);
	text_clear(&pair.trace);
	/* this packet opens a new gap at PSN 3, which is reported 10 ms later */
	inject(UROCE_OP_WRITE_ONLY, 4, 0);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "");
	assert_true(uroce_qpc_deadline(&pair.host[B].qpc) == pair.now_ns + 10000000);
}

static void
ooo_request__a_repair_does_not_count_as_late(void **state)
{
	struct pair_pkt again = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	/*
	 * a packet that fills a gap is no late packet if it has an ACK request, or if the packets
	 * behind it are repeated: then it is a retransmission
	 */
	inject(UROCE_OP_WRITE_ONLY, 1, 0);
	pair_flush(&pair, B);
	again.has_ack_req = true;
	pair.now_ns += 100;
	pair_inject(&pair, B, &again);
	assert_int_equal(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window), 0);
	again.has_ack_req = false;
	again.psn = 2;
	inject(UROCE_OP_WRITE_ONLY, 3, 0);
	pair_flush(&pair, B);
	pair_inject(&pair, B, &again);
	inject(UROCE_OP_WRITE_ONLY, 3, 0);
	assert_int_equal(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window), 0);
}

static void
ooo_request__a_late_packet_is_not_taken_for_a_rewind_by_the_repair_that_follows_it(void **state)
{
	struct pair_pkt late = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	inject(UROCE_OP_WRITE_ONLY, 1, 0);
	pair_flush(&pair, B);
	pair.now_ns += 100;
	pair_inject(&pair, B, &late);
	late.has_ack_req = true;
	pair_inject(&pair, B, &late);
	assert_false(pair.host[B].qpc.resp.is_peer_gbn);
	assert_int_equal(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window), 800);
}

static void
ooo_request__a_probe_does_not_count_as_late_when_no_nak_was_sent(void **state)
{
	struct pair_pkt late = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);
	struct pair_pkt probe = write_pkt(UROCE_OP_WRITE_ONLY, 3, 0, 4, 4);

	(void)state;
	/* one packet is 100 ns late, so the next gap is reported after 800 ns */
	inject(UROCE_OP_WRITE_ONLY, 1, 0);
	pair_flush(&pair, B);
	pair.now_ns += 100;
	pair_inject(&pair, B, &late);
	inject(UROCE_OP_WRITE_ONLY, 2, 0);
	assert_int_equal(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window), 800);
	/*
	 * before the gap is reported, the peer sends the missing packet as a probe, with an ACK
	 * request
	 */
	inject(UROCE_OP_WRITE_ONLY, 4, 0);
	pair.now_ns += 500;
	probe.has_ack_req = true;
	pair_inject(&pair, B, &probe);
	inject(UROCE_OP_WRITE_ONLY, 5, 0);
	assert_true(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window) < 800);
	assert_false(pair.host[B].qpc.resp.is_peer_gbn);
}

static void
ooo_request__a_rewind_does_not_count_as_late_when_no_nak_was_sent(void **state)
{
	struct pair_pkt again = write_pkt(UROCE_OP_WRITE_ONLY, 0, 0, 4, 4);

	(void)state;
	/* one packet is 100 ns late, so the next gap is reported after 800 ns */
	inject(UROCE_OP_WRITE_ONLY, 1, 0);
	pair_flush(&pair, B);
	pair.now_ns += 100;
	pair_inject(&pair, B, &again);
	inject(UROCE_OP_WRITE_ONLY, 2, 0);
	/*
	 * before the gap is reported, the peer retransmits the missing packet and the packets
	 * behind it
	 */
	inject(UROCE_OP_WRITE_ONLY, 4, 0);
	pair.now_ns += 500;
	inject(UROCE_OP_WRITE_ONLY, 3, 0);
	inject(UROCE_OP_WRITE_ONLY, 4, 0);
	assert_true(pair.host[B].qpc.resp.is_peer_gbn);
	assert_true(uroce_reorder_window_delay_ns(&pair.host[B].qpc.resp.reorder_window) <= 800);
}

#define PAIR_TEST(f)  cmocka_unit_test_setup_teardown(f, open_pair, close_pair)
#define LARGE_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair_that_holds_much, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(
			ooo_request__middle_of_the_present_write_is_placed_and_its_last_packet_waits),
		PAIR_TEST(ooo_request__what_was_placed_is_not_placed_again),
		PAIR_TEST(ooo_request__nothing_is_placed_beyond_the_present_message),
		PAIR_TEST(ooo_request__a_later_write_does_not_lose_to_the_repair_of_an_earlier_one),
		PAIR_TEST(ooo_request__read_and_atomic_wait_behind_the_hole),
		PAIR_TEST(ooo_request__a_read_that_was_passed_by_is_not_found_again),
		PAIR_TEST(ooo_request__a_full_pool_drops),
		PAIR_TEST(ooo_request__far_ahead_of_all_else_is_dropped),
		LARGE_TEST(ooo_request__all_that_follows_a_loss_is_taken),
		PAIR_TEST(ooo_request__reads_widen_what_is_taken),
		PAIR_TEST(ooo_request__a_forged_read_widens_nothing),
		PAIR_TEST(ooo_request__a_long_read_is_remembered),
		LARGE_TEST(ooo_request__much_that_is_held_is_executed_in_slices),
		LARGE_TEST(ooo_request__a_hole_behind_the_slices_is_reported_after_them),
		LARGE_TEST(ooo_request__slices_end_with_the_qp),
		PAIR_TEST(ooo_request__what_is_held_is_checked_when_its_turn_comes),
		PAIR_TEST(ooo_request__a_forged_packet_that_is_refused_costs_one_repetition),
		PAIR_TEST(ooo_request__two_that_differ_are_both_forgotten),
		PAIR_TEST(ooo_request__a_placed_one_that_differs_is_asked_for_again),
		PAIR_TEST(ooo_request__a_forged_packet_that_was_executed_is_counted),
		PAIR_TEST(ooo_request__a_repetition_of_what_came_ahead_is_none),
		PAIR_TEST(ooo_request__held_send_without_a_receive_is_an_rnr_nak),
		PAIR_TEST(ooo_request__what_is_held_is_given_back_when_a_long_read_fails),
		PAIR_TEST(ooo_request__a_loss_is_reported_at_once_until_a_packet_was_late),
		PAIR_TEST(ooo_request__a_hole_waits_10_ms_at_most),
		PAIR_TEST(ooo_request__a_repair_does_not_count_as_late),
		PAIR_TEST(
			ooo_request__a_late_packet_is_not_taken_for_a_rewind_by_the_repair_that_follows_it),
		PAIR_TEST(ooo_request__a_probe_does_not_count_as_late_when_no_nak_was_sent),
		PAIR_TEST(ooo_request__a_rewind_does_not_count_as_late_when_no_nak_was_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
