/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A parsed frame is built again from its parsed fields. The bytes must be the same, for every
 * opcode and every kind of frame. A wrong value of a field that is computed from other fields is
 * corrected.
 */

#include "wire/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "spec.h"

static const struct frame_conf kinds[] = {
	{ .is_ipv6 = false },
	{ .is_ipv6 = true },
	{ .has_vlan = true, .tclass = 0x6a, .bth_flags = 0x80 },
	{ .is_ipv6 = true, .has_vlan = true, .tclass = 0xc9, .bth_flags = 0x40 },
	{ .ip_options_len = 24, .bth_flags = 0xc0, .bth_fecn_becn = 0x80, .bth_ack_req = 0x80 },
	{ .bth_fecn_becn = 0x7f, .bth_ack_req = 0x7f, .has_udp_checksum = true },
	{ .is_ipv6 = true, .has_udp_checksum = true, .bth_fecn_becn = 0x40 },
};
#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t
rebuild(const struct frame *frame, uint8_t *again)
{
	struct uroce_pkt pkt;

	assert_true(uroce_parse(frame->data, (uint32_t)frame->len, &pkt) <= UROCE_VERDICT_DATAGRAM);
	return uroce_rebuild(&pkt, again, FRAME_MAX);
}

static void
rebuild__every_opcode_on_every_kind_of_frame(void **state)
{
	static const uint16_t lens[] = { 0, 1, 2, 3, 4, 257, 1024 };
	struct frame frame;
	uint8_t again[FRAME_MAX];

	(void)state;
	for (size_t k = 0; k < NB_KINDS; k++) {
		for (size_t i = 0; i < spec_nb_opcodes; i++) {
			for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
				spec_make(&frame, &kinds[k], &spec_opcodes[i], lens[l]);
				memset(again, 0xcc, sizeof(again));
				assert_int_equal(rebuild(&frame, again), frame.len);
				assert_memory_equal(again, frame.data, frame.len);
				assert_int_equal(again[frame.len], 0xcc);
			}
		}
	}
}

static void
rebuild__fields_that_are_not_decoded_stand_as_they_came(void **state)
{
	struct frame frame;
	uint8_t again[FRAME_MAX];

	(void)state;
	spec_make(&frame, &kinds[0], &spec_opcodes[0], 4);
	frame_put16(frame.data + frame.ip_off + 4, 0xbeef);
	frame_put16(frame.data + frame.ip_off + 6, 0x0000);
	frame.data[frame.ip_off + 8] = 1;
	frame_set_len(&frame, frame.len - frame.bth_off);
	assert_int_equal(rebuild(&frame, again), frame.len);
	assert_memory_equal(again, frame.data, frame.len);
}

/*
 * Change a byte of a field that is computed from other fields: the rebuilt frame must have the
 * right value.
 */
static void
expect_correction(const struct frame_conf *kind, size_t (*off)(const struct frame *))
{
	struct frame frame;
	uint8_t again[FRAME_MAX];
	size_t at;
	uint8_t right;

	spec_make(&frame, kind, &spec_opcodes[4], 5);
	at = off(&frame);
	right = frame.data[at];
	frame.data[at] ^= 0x10;
	assert_int_equal(rebuild(&frame, again), frame.len);
	assert_int_equal(again[at], right);
}

static size_t
ip_checksum_off(const struct frame *frame)
{
	return frame->ip_off + 10;
}

static size_t
udp_checksum_off(const struct frame *frame)
{
	return frame->udp_off + 7;
}

static size_t
pad_off(const struct frame *frame)
{
	return frame->payload_off + 6;
}

static size_t
icrc_off(const struct frame *frame)
{
	return frame->icrc_off;
}

static void
rebuild__wrong_derived_fields_come_out_right(void **state)
{
	(void)state;
	expect_correction(&kinds[0], ip_checksum_off);
	expect_correction(&kinds[5], udp_checksum_off);
	expect_correction(&kinds[6], udp_checksum_off);
	expect_correction(&kinds[0], pad_off);
	expect_correction(&kinds[0], icrc_off);
	expect_correction(&kinds[1], icrc_off);
}

/* A UDP checksum whose computed value is 0 is sent as 0xffff [RFC 768]. */
static void
rebuild__udp_checksum_of_0_is_sent_as_ffff(void **state)
{
	const struct frame_conf conf = { .opcode = 0x04,
					 .payload_len = 4,
					 .has_udp_checksum = true };
	const struct spec_opcode *send_only = &spec_opcodes[4];
	struct frame frame;
	uint8_t again[FRAME_MAX];

	(void)state;
	assert_string_equal(send_only->name, "RC_SEND_ONLY");
	for (uint32_t v = 0; v < 0x10000; v++) {
		uint8_t *udp;

		frame_make(&frame, &conf);
		udp = frame.data + frame.udp_off;
		frame_put16(udp, v);
		frame_set_icrc(&frame);
		frame_set_udp_checksum(&frame);
		if (udp[6] != 0xff || udp[7] != 0xff)
			continue;
		assert_int_equal(rebuild(&frame, again), frame.len);
		assert_memory_equal(again, frame.data, frame.len);
		return;
	}
	fail_msg("no source port gives a checksum of 0");
}

static void
rebuild__needs_room_for_the_whole_frame(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;
	uint8_t again[FRAME_MAX];

	(void)state;
	spec_make(&frame, &kinds[2], &spec_opcodes[4], 9);
	uroce_parse(frame.data, (uint32_t)frame.len, &pkt);
	assert_int_equal(uroce_rebuild(&pkt, again, frame.len - 1), 0);
	assert_int_equal(uroce_rebuild(&pkt, again, 0), 0);
	assert_int_equal(uroce_rebuild(&pkt, again, frame.len), frame.len);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rebuild__every_opcode_on_every_kind_of_frame),
		cmocka_unit_test(rebuild__fields_that_are_not_decoded_stand_as_they_came),
		cmocka_unit_test(rebuild__wrong_derived_fields_come_out_right),
		cmocka_unit_test(rebuild__udp_checksum_of_0_is_sent_as_ffff),
		cmocka_unit_test(rebuild__needs_room_for_the_whole_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
