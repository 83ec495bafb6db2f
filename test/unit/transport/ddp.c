/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Direct data placement of WRITEs behind a PSN gap: which packets are placed on arrival, and which
 * are not.
 */

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair.h"
#include "wire/psn.h"

#define MTU 256u

static struct pair pair;

/* A WRITE of full packets, from offset `from` of A's memory to offset `to` of B's memory. */
struct message {
	uint32_t psn;
	uint32_t nb; /* number of packets in the message */
	uint32_t from;
	uint32_t to;
	uint32_t rkey;
};

static void
open_at(uint32_t psn)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = IBV_MTU_256;
	conf.nb_hold = 128;
	conf.psn[A] = psn;
	conf.is_req_gbn = true;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	pair_fill(&pair, A, 0, 262144, 1);
	pair_fill(&pair, B, 0, 262144, 2);
}

static int
open_pair(void **state)
{
	(void)state;
	open_at(0);
	return 0;
}

static int
open_pair_before_the_wrap(void **state)
{
	(void)state;
	open_at(0xfffffb);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static struct message
message(uint32_t psn, uint32_t nb, uint32_t from, uint32_t to)
{
	return (struct message){ psn, nb, from, to, pair.host[B].key };
}

/* Deliver packet `nth` of a message to B. */
static enum uroce_verdict
arrive(const struct message *msg, uint32_t nth)
{
	static const uint8_t opcodes[2][2] = {
		{ UROCE_OP_WRITE_MIDDLE, UROCE_OP_WRITE_LAST },
		{ UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_ONLY },
	};
	const struct pair_pkt pkt = {
		.opcode = opcodes[nth == 0][nth + 1 == msg->nb],
		.psn = uroce_psn_add(pair.conf.psn[A] + msg->psn, nth),
		.payload_len = MTU,
		.payload = pair.host[A].mem + msg->from + nth * MTU,
		.va = (uintptr_t)pair.host[B].mem + msg->to,
		.rkey = msg->rkey,
		.dma_len = msg->nb * MTU,
	};

	return pair_inject(&pair, B, &pkt);
}

static enum uroce_verdict
arrive_opcode(uint8_t opcode, uint32_t psn, uint32_t len)
{
	const struct pair_pkt pkt = {
		.opcode = opcode,
		.psn = psn,
		.payload_len = len,
		.payload = pair.host[A].mem,
		.va = (uintptr_t)pair.host[B].mem,
		.rkey = pair.host[B].key,
		.dma_len = opcode == UROCE_OP_READ_REQUEST ? 4 : len,
	};

	return pair_inject(&pair, B, &pkt);
}

/* Whether the payload of packet `nth` is in B's memory. */
static bool
is_there(const struct message *msg, uint32_t nth)
{
	return pair_is_equal(&pair, msg->from + nth * MTU, msg->to + nth * MTU, MTU);
}

/* Deliver all packets of a message to B, except for packet `hole`. */
static void
arrive_but(const struct message *msg, uint32_t hole)
{
	for (uint32_t nth = 0; nth < msg->nb; nth++) {
		if (nth != hole)
			(void)arrive(msg, nth);
	}
}

static void
expect_nothing_held(uint32_t epsn)
{
	assert_int_equal(pair.host[B].qpc.resp.epsn, uroce_psn_add(pair.conf.psn[A], epsn));
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 0);
	assert_int_equal(uroce_reorder_buffer_count_gaps(pair.host[B].reorder_buffer), 0);
}

static void
ddp__the_middle_is_placed_and_both_ends_wait(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 4096);

	(void)state;
	arrive_but(&first, 1);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(arrive(&second, 2), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(arrive(&second, 3), UROCE_VERDICT_OOO_BUFFERED);
	assert_false(is_there(&second, 0));
	assert_true(is_there(&second, 1) && is_there(&second, 2));
	assert_false(is_there(&second, 3));
	assert_int_equal(arrive(&second, 2), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(pair.host[B].qpc.resp.msn, 0);
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 4 * MTU));
	assert_true(pair_is_equal(&pair, 4096, 4096, 4 * MTU));
	assert_int_equal(pair.host[B].qpc.resp.msn, 2);
	expect_nothing_held(8);
}

/*
 * Two WRITEs to one place: the result is that of the later WRITE, in whatever order the packets
 * arrive.
 */
static void
ddp__the_repair_of_an_earlier_write_loses(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 0);

	(void)state;
	arrive_but(&first, 1);
	arrive_but(&second, 2);
	/*
	 * the gap is filled: the packets of the first WRITE must not overwrite what was placed of
	 * the second
	 */
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(is_there(&second, 0) && is_there(&second, 1));
	assert_true(is_there(&first, 2));
	assert_true(is_there(&first, 3));
	assert_int_equal(arrive(&second, 2), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 4096, 0, 4 * MTU));
	expect_nothing_held(8);
}

static void
ddp__the_repair_loses_no_more_than_what_is_covered(void **state)
{
	/*
	 * the second WRITE begins at offset 100: its packets 1 and 2, which are placed on arrival,
	 * are at offsets 356..868
	 */
	const struct message first = message(0, 5, 0, 0), second = message(5, 4, 4096, 100);

	(void)state;
	arrive_but(&first, 1);
	arrive_but(&second, 4);
	pair_fill(&pair, B, 0, 356, 3);
	assert_int_equal(uroce_reorder_buffer_count(pair.host[B].reorder_buffer), 3);
	/*
	 * packets 1 and 2 of the second WRITE are already in bytes 356..868 of B's memory; the
	 * first WRITE, which is executed now, is older and must not change these bytes
	 */
	assert_int_equal(arrive(&first, 3), UROCE_VERDICT_DUPLICATE);
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 4096, 100, 4 * MTU));
	assert_true(pair_is_equal(&pair, 100 + 4 * MTU, 100 + 4 * MTU, 5 * MTU - 4 * MTU - 100));
	expect_nothing_held(9);
}

static void
ddp__what_is_placed_late_leaves_out_what_is_covered(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 100);

	(void)state;
	arrive(&first, 0);
	arrive(&first, 3);
	arrive_but(&second, 4);
	/*
	 * packet 2 of the first WRITE, at offsets 512..768, must not change the bytes of the second
	 * WRITE, which were placed before it
	 */
	assert_int_equal(arrive(&first, 2), UROCE_VERDICT_OOO_PLACED);
	assert_true(pair_is_equal(&pair, 4096 + MTU, 100 + MTU, 2 * MTU));
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 100));
	assert_true(pair_is_equal(&pair, 4096, 100, 4 * MTU));
	expect_nothing_held(8);
}

/*
 * A packet that arrives before the First packet of its message waits in the reorder buffer, so it
 * does not protect its bytes.
 */
static void
ddp__before_the_first_packet_nothing_is_placed(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 0);

	(void)state;
	arrive_but(&first, 1);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 2), UROCE_VERDICT_OOO_PLACED);
	assert_true(!is_there(&first, 2) && is_there(&second, 2));
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 4096, 0, 3 * MTU));
	assert_true(is_there(&first, 3));
	assert_int_equal(arrive(&second, 3), UROCE_VERDICT_REQUEST);
	assert_true(is_there(&second, 3));
	expect_nothing_held(8);
}

static void
ddp__a_hole_at_the_first_packet(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 4096),
			     third = message(8, 4, 8192, 8192);

	(void)state;
	arrive_but(&first, 4);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_BUFFERED);
	arrive_but(&third, 1);
	assert_int_equal(arrive(&third, 1), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_REQUEST);
	/* epsn is in the second message; the First packet of the third one has arrived */
	assert_int_equal(pair.host[B].qpc.resp.epsn, 6);
	const struct message fourth = message(12, 4, 12288, 12288);

	arrive_but(&fourth, 1);
	assert_int_equal(arrive(&fourth, 1), UROCE_VERDICT_OOO_PLACED);
	arrive(&second, 3);
	assert_int_equal(arrive(&second, 2), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 0, 0, 4 * MTU));
	assert_true(pair_is_equal(&pair, 4096, 4096, 4 * MTU));
	assert_true(pair_is_equal(&pair, 8192, 8192, 4 * MTU));
	assert_true(pair_is_equal(&pair, 12288, 12288, 4 * MTU));
	expect_nothing_held(16);
}

static void
ddp__goes_on_behind_the_next_hole(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 4, 4096, 0),
			     third = message(8, 4, 8192, 0);

	(void)state;
	arrive_but(&first, 1);
	arrive_but(&second, 1);
	arrive(&first, 1);
	assert_int_equal(pair.host[B].qpc.resp.epsn, 5);
	assert_int_equal(arrive(&third, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&third, 1), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(arrive(&third, 2), UROCE_VERDICT_OOO_PLACED);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_REQUEST);
	assert_true(is_there(&third, 0) && is_there(&second, 3));
	assert_int_equal(arrive(&third, 3), UROCE_VERDICT_REQUEST);
	assert_true(pair_is_equal(&pair, 8192, 0, 4 * MTU));
	expect_nothing_held(12);
}

static void
ddp__single_packets_wait_and_lead_on(void **state)
{
	const struct message first = message(0, 4, 0, 0), flag = message(4, 1, 4096, 4096),
			     third = message(6, 3, 8192, 8192);

	(void)state;
	arrive_but(&first, 1);
	assert_int_equal(arrive(&flag, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive_opcode(UROCE_OP_WRITE_ONLY, 5, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&third, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&third, 1), UROCE_VERDICT_OOO_PLACED);
	assert_false(is_there(&flag, 0));
	assert_int_equal(arrive(&third, 2), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&first, 1), UROCE_VERDICT_REQUEST);
	assert_true(is_there(&flag, 0));
	assert_true(pair_is_equal(&pair, 8192, 8192, 3 * MTU));
	expect_nothing_held(9);
}

/*
 * A WRITE behind a READ or SEND is not placed early, because the READ or SEND may use the same
 * memory.
 */
static void
ddp__nothing_is_placed_behind_another_request(void **state)
{
	const uint8_t opcodes[] = { UROCE_OP_READ_REQUEST, UROCE_OP_SEND_ONLY };

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		const struct message first = message(16 * i, 4, 0, 0),
				     third = message(16 * i + 5, 4, 8192, 8192);

		pair_post_recv(&pair, B, 65536, 4096);
		arrive_but(&first, 1);
		assert_int_equal(arrive_opcode(opcodes[i], 16 * i + 4, i ? 4 : 0),
				 UROCE_VERDICT_OOO_BUFFERED);
		assert_int_equal(arrive(&third, 0), UROCE_VERDICT_OOO_BUFFERED);
		assert_int_equal(arrive(&third, 1), UROCE_VERDICT_OOO_BUFFERED);
		assert_int_equal(arrive(&third, 3), UROCE_VERDICT_OOO_BUFFERED);
		arrive(&first, 1);
		arrive(&third, 2);
		assert_true(pair_is_equal(&pair, 8192, 8192, 4 * MTU));
		expect_nothing_held(16 * i + 9);
		const struct message rest = message(16 * i + 9, 7, 0, 0);

		arrive_but(&rest, 7);
	}
}

static void
ddp__nothing_is_placed_behind_a_send_that_was_begun(void **state)
{
	const struct message second = message(3, 4, 4096, 4096);

	(void)state;
	pair_post_recv(&pair, B, 65536, 4096);
	assert_int_equal(arrive_opcode(UROCE_OP_SEND_FIRST, 0, MTU), UROCE_VERDICT_REQUEST);
	assert_int_equal(arrive_opcode(UROCE_OP_SEND_LAST, 2, MTU), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_BUFFERED);
}

static void
ddp__a_key_that_is_refused_places_nothing(void **state)
{
	const struct message first = message(0, 4, 0, 0);
	struct message second = message(4, 4, 4096, 4096);

	(void)state;
	second.rkey = pair_register(&pair, B, pair.host[B].mem, 65536, 0);
	arrive_but(&first, 1);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_BUFFERED);
	assert_false(is_there(&second, 1));
	/*
	 * when the gap is filled, the packet is refused and requested again; its repetition moves
	 * the QP to ERR
	 */
	arrive(&first, 1);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_NO_ACCESS);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_false(is_there(&second, 1));
	assert_int_equal(uroce_reorder_buffer_count_gaps(pair.host[B].reorder_buffer), 0);
}

static void
ddp__a_range_that_is_refused_places_nothing(void **state)
{
	const struct message first = message(0, 4, 0, 0),
			     second = message(4, 4, 0, pair.conf.mem_len - 3 * MTU);

	(void)state;
	arrive_but(&first, 1);
	assert_int_equal(arrive(&second, 0), UROCE_VERDICT_OOO_BUFFERED);
	/* this packet would be inside the region, but the range of its message is not */
	assert_int_equal(arrive(&second, 1), UROCE_VERDICT_OOO_BUFFERED);
}

static void
ddp__a_length_that_is_no_firsts_places_nothing(void **state)
{
	const struct message first = message(0, 4, 0, 0);
	const struct pair_pkt begin = {
		.opcode = UROCE_OP_WRITE_FIRST,
		.psn = 4,
		.payload_len = MTU,
		.payload = pair.host[A].mem,
		.va = (uintptr_t)pair.host[B].mem,
		.rkey = pair.host[B].key,
		.dma_len = MTU,
	};
	const struct message third = message(5, 4, 8192, 8192);

	(void)state;
	arrive_but(&first, 1);
	assert_int_equal(pair_inject(&pair, B, &begin), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&third, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&third, 1), UROCE_VERDICT_OOO_BUFFERED);
}

static void
ddp__as_many_are_known_as_there_is_room_for(void **state)
{
	const struct message first = message(0, 4, 0, 0);

	(void)state;
	arrive_but(&first, 1);
	for (uint32_t i = 0; i <= UROCE_DDP_WRITES_MAX; i++) {
		const struct message msg = message(4 + 3 * i, 3, 4096 + 768 * i, 4096 + 768 * i);

		assert_int_equal(arrive(&msg, 0), UROCE_VERDICT_OOO_BUFFERED);
		assert_int_equal(arrive(&msg, 1), i < UROCE_DDP_WRITES_MAX
							  ? UROCE_VERDICT_OOO_PLACED
							  : UROCE_VERDICT_OOO_BUFFERED);
		assert_int_equal(arrive(&msg, 2), UROCE_VERDICT_OOO_BUFFERED);
	}
	arrive(&first, 1);
	while (uroce_reorder_buffer_has_ready(pair.host[B].reorder_buffer)) {
		pair.now_ns = uroce_qpc_deadline(&pair.host[B].qpc);
		uroce_qpc_expire(&pair.host[B].qpc, pair.now_ns);
	}
	assert_true(pair_is_equal(&pair, 4096, 4096, 768 * (UROCE_DDP_WRITES_MAX + 1)));
	expect_nothing_held(4 + 3 * (UROCE_DDP_WRITES_MAX + 1));
}

/* A gap entry that is used for another gap has no state of the earlier gap. */
static void
ddp__is_forgotten_with_its_gap(void **state)
{
	const struct message first = message(0, 4, 0, 0), second = message(4, 3, 4096, 4096);

	(void)state;
	arrive_but(&first, 1);
	arrive_but(&second, 3);
	arrive(&first, 1);
	expect_nothing_held(7);
	const struct message third = message(7, 4, 0, 0), fourth = message(11, 3, 8192, 8192);

	arrive_but(&third, 1);
	assert_int_equal(arrive(&fourth, 0), UROCE_VERDICT_OOO_BUFFERED);
	assert_int_equal(arrive(&fourth, 1), UROCE_VERDICT_OOO_PLACED);
	assert_true(is_there(&fourth, 1));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(ddp__the_middle_is_placed_and_both_ends_wait, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__the_middle_is_placed_and_both_ends_wait,
					open_pair_before_the_wrap, close_pair),
	cmocka_unit_test_setup_teardown(ddp__the_repair_of_an_earlier_write_loses, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__the_repair_loses_no_more_than_what_is_covered,
					open_pair, close_pair),
	cmocka_unit_test_setup_teardown(ddp__what_is_placed_late_leaves_out_what_is_covered,
					open_pair, close_pair),
	cmocka_unit_test_setup_teardown(ddp__before_the_first_packet_nothing_is_placed, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__a_hole_at_the_first_packet, open_pair, close_pair),
	cmocka_unit_test_setup_teardown(ddp__goes_on_behind_the_next_hole, open_pair, close_pair),
	cmocka_unit_test_setup_teardown(ddp__single_packets_wait_and_lead_on, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__nothing_is_placed_behind_another_request, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__nothing_is_placed_behind_a_send_that_was_begun,
					open_pair, close_pair),
	cmocka_unit_test_setup_teardown(ddp__a_key_that_is_refused_places_nothing, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__a_range_that_is_refused_places_nothing, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__a_length_that_is_no_firsts_places_nothing, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__as_many_are_known_as_there_is_room_for, open_pair,
					close_pair),
	cmocka_unit_test_setup_teardown(ddp__is_forgotten_with_its_gap, open_pair, close_pair),
};

int
main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
