/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the filter of frames. Frames as an engine sends and receives them pass. A frame that names
 * another sender does not pass. A frame that is cut off is parsed as FRAME_OTHER, and the parser
 * reads no byte behind its end.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "uroced/frame.h"

#define MAC  2, 0, 0, 0, 0, 1
#define PEER 2, 0, 0, 0, 0, 9
#define IP4  192, 0, 2, 1
#define IP4_ 192, 0, 2, 9
#define IP6  0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1
#define IP6_ 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 9
#define ALL  0xff, 0xff, 0xff, 0xff, 0xff, 0xff

#define UDP_BTH(opcode, q2, q1, q0)                                                                \
	0xc3, 0x50, 0x12, 0xb7, 0, 40, 0, 0, (opcode), 0, 0xff, 0xff, 0, (q2), (q1), (q0), 0, 0,   \
		0, 0
#define DETH 0, 0, 0, 1, 0, 0, 2, 3

/* clang-format off */
static const uint8_t rc4[] = {
	PEER, MAC, 8, 0, 0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, IP4, IP4_, UDP_BTH(4, 1, 2, 3),
	1, 2, 3, 4, 5, 6, 7, 8,
};
static const uint8_t rc6[] = {
	PEER, MAC, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 17, 64, IP6, IP6_, UDP_BTH(4, 1, 2, 3),
};
static const uint8_t ud4[] = {
	1, 0, 0x5e, 1, 2, 3, MAC, 8, 0, 0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, IP4, 239, 1, 2, 3,
	UDP_BTH(0x64, 0xff, 0xff, 0xff), DETH,
};
static const uint8_t arp[] = {
	ALL, MAC, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, MAC, IP4, 0, 0, 0, 0, 0, 0, IP4_,
};
static const uint8_t solicit[] = {
	0x33, 0x33, 0xff, 0, 0, 9, MAC, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255, IP6, IP6_,
	135, 0, 0, 0, 0, 0, 0, 0, IP6_, 1, 1, MAC,
};
static const uint8_t igmp[] = {
	1, 0, 0x5e, 1, 2, 3, MAC, 8, 0, 0x46, 0, 0, 32, 0, 0, 0, 0, 1, 2, 0, 0, IP4, 239, 1, 2, 3,
	148, 4, 0, 0, 0x16, 0, 0, 0, 239, 1, 2, 3,
};
static const uint8_t mld[] = {
	0x33, 0x33, 0, 0, 0, 5, MAC, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 0, 1, IP6, IP6_,
	58, 0, 5, 2, 0, 0, 1, 0, 131, 0, 0, 0, 0, 0, 0, 0, IP6_,
};
/* clang-format on */

static const struct row {
	const char *name;
	const uint8_t *bytes;
	uint32_t len;
	uint32_t needed; /* the length below which the frame is parsed as FRAME_OTHER */
} rows[] = {
	{ "rc4", rc4, sizeof(rc4), 54 },
	{ "rc6", rc6, sizeof(rc6), 74 },
	{ "ud4", ud4, sizeof(ud4), 62 },
	{ "arp", arp, sizeof(arp), 42 },
	{ "solicit", solicit, sizeof(solicit), 86 },
	{ "igmp", igmp, sizeof(igmp), 39 },
	{ "mld", mld, sizeof(mld), 63 },
};
#define NB_ROWS (sizeof(rows) / sizeof(rows[0]))

static struct uroce_mux_host told = {
	.mac = { MAC },
	.frame_limit = 4400,
	.nb_addr = 2,
	.addr = { { { IP6 }, 64, 0 },
		  { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, IP4 }, 120, 0 } },
};

/*
 * Parse and filter the first `len` bytes. They are copied to memory of this length, so that a
 * sanitizer finds a read behind the end.
 */
static enum frame_drop
filter(const uint8_t *bytes, uint32_t len, bool is_up)
{
	uint8_t *exact = malloc(len);
	struct frame_host host;
	struct frame frame;
	enum frame_drop drop;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	frame_host_set(&host, &told);
	frame_read(exact, len, &frame);
	drop = is_up ? frame_filter_up(&frame, &host) : frame_filter_wire(&frame, &host);
	free(exact);
	return drop;
}

static void
frame__of_an_engine_passes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_ROWS; i++) {
		if (filter(rows[i].bytes, rows[i].len, true) != FRAME_PASSES)
			fail_msg("%s", rows[i].name);
	}
}

static void
frame__that_is_cut_off_does_not_pass(void **state)
{
	(void)state;
	for (size_t i = 0; i < NB_ROWS; i++) {
		for (uint32_t len = 14; len <= rows[i].len; len++) {
			if ((filter(rows[i].bytes, len, true) == FRAME_PASSES) !=
			    (len >= rows[i].needed))
				fail_msg("%s of %u bytes", rows[i].name, len);
		}
	}
}

/*
 * Change bytes that name the sender: its MAC, its IP address, and its address in an ARP or ND
 * message. With any such change the frame is dropped.
 */
static void
frame__of_another_sender_does_not_pass(void **state)
{
	static const struct {
		size_t row;
		uint32_t at[4];
	} places[] = {
		{ 0, { 6, 11, 26, 29 } }, { 1, { 6, 11, 22, 37 } }, { 2, { 6, 11, 26, 29 } },
		{ 3, { 6, 22, 28, 31 } }, { 4, { 6, 22, 80, 85 } }, { 5, { 6, 11, 26, 29 } },
		{ 6, { 6, 11, 22, 37 } },
	};
	uint8_t bytes[128];

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct row *row = &rows[places[i].row];

		for (unsigned j = 0; j < 4; j++) {
			memcpy(bytes, row->bytes, row->len);
			bytes[places[i].at[j]] ^= 4;
			if (filter(bytes, row->len, true) != FRAME_DROP_SOURCE)
				fail_msg("%s, byte %u", row->name, places[i].at[j]);
		}
	}
}

/*
 * The filter returns a valid result for a frame in which any byte was changed. Random bytes are
 * parsed as FRAME_OTHER.
 */
static void
frame__of_any_bytes_is_judged(void **state)
{
	uint8_t bytes[128];

	(void)state;
	for (size_t i = 0; i < NB_ROWS; i++) {
		for (uint32_t at = 0; at < rows[i].len; at++) {
			for (unsigned value = 0; value < 256; value++) {
				memcpy(bytes, rows[i].bytes, rows[i].len);
				bytes[at] = (uint8_t)value;
				assert_true(filter(bytes, rows[i].len, true) <= FRAME_PASSES);
				assert_true(filter(bytes, rows[i].len, false) <= FRAME_PASSES);
			}
		}
	}
	srandom(1);
	for (unsigned i = 0; i < 200000; i++) {
		for (size_t at = 0; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)random();
		assert_int_equal(filter(bytes, 14 + (uint32_t)random() % 114, true),
				 FRAME_DROP_KIND);
	}
}

static void
frame__has_our_tag(void **state)
{
	uint8_t tagged[sizeof(rc4) + 4];

	(void)state;
	memcpy(tagged, rc4, 12);
	memcpy(tagged + 12, (const uint8_t[]){ 0x81, 0, 0x20, 7 }, 4);
	memcpy(tagged + 16, rc4 + 12, sizeof(rc4) - 12);
	assert_int_equal(filter(tagged, sizeof(tagged), true), FRAME_DROP_SOURCE);
	told.has_vlan = 1;
	told.vlan_tci = 7;
	assert_int_equal(filter(tagged, sizeof(tagged), true), FRAME_PASSES);
	assert_int_equal(filter(rc4, sizeof(rc4), true), FRAME_DROP_SOURCE);
	told.has_vlan = 0;
	tagged[14] = tagged[15] = 0; /* a priority tag (VLAN ID 0) counts as no tag */
	assert_int_equal(filter(tagged, sizeof(tagged), true), FRAME_PASSES);
}

/* A frame from the wire passes if its destination is this host and its source is another host. */
static void
frame__from_the_wire_is_for_us(void **state)
{
	uint8_t bytes[128];

	(void)state;
	for (size_t i = 0; i < NB_ROWS; i++)
		assert_int_not_equal(filter(rows[i].bytes, rows[i].len, false), FRAME_PASSES);
	memcpy(bytes, rc4, sizeof(rc4));
	memcpy(bytes, (const uint8_t[]){ MAC, PEER }, 12);
	memcpy(bytes + 26, (const uint8_t[]){ IP4_, IP4 }, 8);
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_PASSES);
	bytes[33] ^= 4;
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_DROP_NOT_OURS);
	bytes[33] ^= 4;
	bytes[29] = 1;
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_DROP_OUR_SOURCE);
	bytes[29] = 9;
	bytes[11] = 1;
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_DROP_OUR_SOURCE);
	bytes[11] = 9;
	bytes[5] ^= 4;
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_DROP_NOT_OURS);
	bytes[5] ^= 4;
	bytes[47] = bytes[48] = 0;
	bytes[49] = 1;
	assert_int_equal(filter(bytes, sizeof(rc4), false), FRAME_DROP_MANAGEMENT);
	memcpy(bytes, ud4, sizeof(ud4));
	bytes[11] = bytes[29] = 9;
	assert_int_equal(filter(bytes, sizeof(ud4), false), FRAME_PASSES);
	bytes[0] = 2;
	assert_int_equal(filter(bytes, sizeof(ud4), false), FRAME_DROP_NOT_OURS);
	memcpy(bytes, arp, sizeof(arp));
	bytes[11] = bytes[27] = 9;
	assert_int_equal(filter(bytes, sizeof(arp), false), FRAME_DROP_OUR_SOURCE);
	bytes[31] = 9;
	assert_int_equal(filter(bytes, sizeof(arp), false), FRAME_PASSES);
}

/* A host without a link-local address reports groups of IPv6 from the unspecified address. */
static void
report__has_no_source_or_ours(void **state)
{
	uint8_t bytes[sizeof(mld)];

	(void)state;
	memcpy(bytes, mld, sizeof(mld));
	memset(bytes + 22, 0, 16);
	assert_int_equal(filter(bytes, sizeof(mld), true), FRAME_PASSES);
	bytes[62] = 135; /* 135 is a neighbour solicitation, which is no report */
	assert_int_equal(filter(bytes, sizeof(mld), true), FRAME_DROP_KIND);
	memcpy(bytes, rc6, sizeof(rc6));
	memset(bytes + 22, 0, 16);
	assert_int_equal(filter(bytes, sizeof(rc6), true), FRAME_DROP_SOURCE);
}

static void
report__names_its_group(void **state)
{
	uint8_t bytes[sizeof(mld)];
	struct frame frame;

	(void)state;
	frame_read(igmp, sizeof(igmp), &frame);
	assert_ptr_equal(frame.group, igmp + 42);
	assert_false(frame.is_leave);
	frame_read(igmp, sizeof(igmp) - 1, &frame);
	assert_null(frame.group);
	frame_read(mld, sizeof(mld), &frame);
	assert_ptr_equal(frame.group, mld + 70);
	assert_false(frame.is_leave);
	frame_read(mld, sizeof(mld) - 1, &frame);
	assert_null(frame.group);
	memcpy(bytes, mld, sizeof(mld));
	bytes[62] = 132;
	frame_read(bytes, sizeof(mld), &frame);
	assert_true(frame.group && frame.is_leave);
	bytes[62] = 143; /* 143 is a report of MLDv2, which has another form */
	frame_read(bytes, sizeof(mld), &frame);
	assert_null(frame.group);
	frame_read(rc4, sizeof(rc4), &frame);
	assert_null(frame.group);
}

/* On the port `udp` the kernel resolves neighbours, and clients send no ARP or ND requests. */
static void
request__does_not_leave_by_udp(void **state)
{
	(void)state;
	told.is_udp = 1;
	for (size_t i = 0; i < NB_ROWS; i++) {
		const bool is_request = rows[i].bytes == arp || rows[i].bytes == solicit;

		assert_int_equal(filter(rows[i].bytes, rows[i].len, true),
				 is_request ? FRAME_DROP_KIND : FRAME_PASSES);
	}
	told.is_udp = 0;
}

/* Make a UD datagram to one host, with these QPNs. */
static void
make_unicast(uint8_t bytes[sizeof(ud4)], uint32_t dest_qpn, uint32_t src_qpn)
{
	memcpy(bytes, ud4, sizeof(ud4));
	memcpy(bytes, (const uint8_t[]){ PEER }, 6);
	memcpy(bytes + 30, (const uint8_t[]){ IP4_ }, 4);
	for (unsigned i = 0; i < 3; i++) {
		bytes[47 + i] = (uint8_t)(dest_qpn >> (16 - 8 * i));
		bytes[59 + i] = (uint8_t)(src_qpn >> (16 - 8 * i));
	}
}

/*
 * A datagram from a client passes if both of its QPs are QP 1, or neither is. The filter does not
 * check whether the client holds the source QP: forward.c checks this.
 */
static void
datagram__of_qp_1_goes_to_qp_1(void **state)
{
	static const uint32_t qpns[] = { 0, 1, 2, 255, 256, 0xfffffe, 0xffffff };
	uint8_t bytes[sizeof(ud4)];

	(void)state;
	for (unsigned i = 0; i < sizeof(qpns) / sizeof(qpns[0]); i++) {
		make_unicast(bytes, qpns[i], 1);
		assert_int_equal(filter(bytes, sizeof(ud4), true),
				 qpns[i] == 1 ? FRAME_PASSES : FRAME_DROP_MANAGEMENT);
		make_unicast(bytes, 1, qpns[i]);
		assert_int_equal(filter(bytes, sizeof(ud4), true),
				 qpns[i] == 1 ? FRAME_PASSES : FRAME_DROP_MANAGEMENT);
		make_unicast(bytes, 0x10203, qpns[i]);
		assert_int_equal(filter(bytes, sizeof(ud4), true),
				 qpns[i] <= 1 ? FRAME_DROP_MANAGEMENT : FRAME_PASSES);
	}
	/* an RC packet to QP 1 is dropped */
	make_unicast(bytes, 1, 1);
	bytes[42] = 4;
	assert_int_equal(filter(bytes, sizeof(ud4), true), FRAME_DROP_MANAGEMENT);
}

static void
datagram__from_the_wire_may_be_for_qp_1(void **state)
{
	uint8_t bytes[sizeof(ud4)];

	(void)state;
	for (uint32_t src_qpn = 0; src_qpn < 3; src_qpn++) {
		make_unicast(bytes, 1, src_qpn);
		memcpy(bytes, (const uint8_t[]){ MAC, PEER }, 12);
		memcpy(bytes + 26, (const uint8_t[]){ IP4_, IP4 }, 8);
		assert_int_equal(filter(bytes, sizeof(ud4), false), FRAME_PASSES);
		bytes[42] = 4;
		assert_int_equal(filter(bytes, sizeof(ud4), false), FRAME_DROP_MANAGEMENT);
		bytes[42] = 0x64;
		bytes[49] = 0;
		assert_int_equal(filter(bytes, sizeof(ud4), false), FRAME_DROP_MANAGEMENT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame__of_an_engine_passes),
		cmocka_unit_test(frame__that_is_cut_off_does_not_pass),
		cmocka_unit_test(frame__of_another_sender_does_not_pass),
		cmocka_unit_test(frame__of_any_bytes_is_judged),
		cmocka_unit_test(frame__has_our_tag),
		cmocka_unit_test(frame__from_the_wire_is_for_us),
		cmocka_unit_test(report__has_no_source_or_ours),
		cmocka_unit_test(report__names_its_group),
		cmocka_unit_test(request__does_not_leave_by_udp),
		cmocka_unit_test(datagram__of_qp_1_goes_to_qp_1),
		cmocka_unit_test(datagram__from_the_wire_may_be_for_qp_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
