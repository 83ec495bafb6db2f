/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ICRC: which bytes are masked; computation in parts and as a whole; the table for length
 * fields, compared with the CRC; a frame that Linux (rxe) sent.
 */

#include "wire/icrc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "wire/hdr.h"

/* Compute the CRC state after bytes up to `end` of a frame, with the variant fields masked. */
static uint32_t
masked_crc(const struct frame *frame, size_t end)
{
	const size_t len = end - frame->ip_off;
	uint8_t masked[8 + FRAME_MAX];
	uint8_t *ip = masked + 8;

	memset(masked, 0xff, 8);
	memcpy(ip, frame->data + frame->ip_off, len);
	if (ip[0] >> 4 == 6) {
		ip[0] = 0x6f;
		memset(ip + 1, 0xff, 3);
		ip[7] = 0xff;
	} else {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	}
	memset(ip + (frame->udp_off - frame->ip_off) + 6, 0xff, 2);
	if (end > frame->bth_off)
		ip[frame->bth_off - frame->ip_off + 4] = 0xff;
	return frame_crc32(0, masked, 8 + len);
}

static const struct frame_conf confs[] = {
	{ .opcode = 0x04, .payload_len = 64 },
	{ .opcode = 0x04, .payload_len = 64, .tclass = 0x5a, .has_udp_checksum = true },
	{ .opcode = 0x04, .payload_len = 64, .ip_options_len = 4 },
	{ .opcode = 0x04, .payload_len = 64, .ip_options_len = 40 },
	{ .opcode = 0x04, .payload_len = 64, .is_ipv6 = true },
	{ .opcode = 0x04,
	  .payload_len = 64,
	  .is_ipv6 = true,
	  .tclass = 0xff,
	  .bth_fecn_becn = 0xc1 },
};
#define NB_CONFS (sizeof(confs) / sizeof(confs[0]))

static void
icrc_prefix__masks_what_routers_change(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < NB_CONFS; i++) {
		frame_make(&frame, &confs[i]);
		assert_int_equal(uroce_icrc_prefix(frame.data + frame.ip_off),
				 masked_crc(&frame, frame.bth_off));
	}
}

static void
icrc_bth__masks_byte_4(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < NB_CONFS; i++) {
		uint32_t icrc;

		frame_make(&frame, &confs[i]);
		icrc = uroce_icrc_prefix(frame.data + frame.ip_off);
		icrc = uroce_icrc_bth(icrc, frame.data + frame.bth_off);
		assert_int_equal(icrc, masked_crc(&frame, frame.ext_off));
	}
}

static void
icrc_rest__is_bth_and_what_follows(void **state)
{
	const struct frame_conf conf = { .opcode = 0x04,
					 .payload_len = 400,
					 .bth_fecn_becn = 0x81 };
	struct frame frame;

	(void)state;
	frame_make(&frame, &conf);
	for (size_t len = 12; len <= 400; len += 4) {
		const uint8_t *bth = frame.data + frame.bth_off;
		const uint32_t prefix = masked_crc(&frame, frame.bth_off);

		assert_int_equal(uroce_icrc_rest(prefix, bth, len),
				 masked_crc(&frame, frame.bth_off + len));
	}
}

static void
icrc_frame__is_the_icrc_of_the_whole_frame(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < NB_CONFS; i++) {
		frame_make(&frame, &confs[i]);
		assert_int_equal(
			uroce_icrc_frame(frame.data + frame.ip_off, frame.icrc_off - frame.ip_off),
			uroce_icrc_load(frame.data + frame.icrc_off));
	}
}

static void
icrc_frame__every_length(void **state)
{
	struct frame frame;

	(void)state;
	for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
		for (uint16_t len = 0; len <= 600; len = (uint16_t)(len + 4)) {
			const struct frame_conf conf = { .is_ipv6 = is_ipv6,
							 .opcode = 0x04,
							 .payload_len = len,
							 .bth_fecn_becn = 0x80 };

			frame_make(&frame, &conf);
			assert_int_equal(uroce_icrc_frame(frame.data + frame.ip_off,
							  frame.icrc_off - frame.ip_off),
					 uroce_icrc_load(frame.data + frame.icrc_off));
		}
	}
}

/*
 * A frame that was not built by this project: an RC ACK with syndrome 0x1f, sent by the Linux
 * driver rxe.
 */
static const uint8_t rxe_ack[] = {
	0x52, 0x54, 0x0a, 0x4d, 0x00, 0x02, 0x52, 0x54, 0x0a, 0x4d, 0x00, 0x01, 0x08,
	0x00, 0x45, 0x00, 0x00, 0x30, 0x40, 0xca, 0x40, 0x00, 0x40, 0x11, 0xe5, 0x56,
	0x0a, 0x4d, 0x00, 0x01, 0x0a, 0x4d, 0x00, 0x02, 0xc1, 0x21, 0x12, 0xb7, 0x00,
	0x1c, 0x00, 0x00, 0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x00, 0x0a,
	0xbc, 0xde, 0x1f, 0x00, 0x00, 0x01, 0xca, 0x7b, 0x4a, 0x9c,
};

static void
icrc__agrees_with_the_kernel_driver(void **state)
{
	const uint8_t *ip = rxe_ack + 14, *bth = ip + 28, *aeth = bth + 12;
	uint32_t icrc = uroce_icrc_bth(uroce_icrc_prefix(ip), bth);

	(void)state;
	icrc = uroce_crc32(icrc, aeth, 4);
	assert_int_equal(icrc, uroce_icrc_load(aeth + 4));
}

static void
icrc_store__least_significant_byte_first(void **state)
{
	uint8_t at[4];

	(void)state;
	uroce_icrc_store(at, 0x11223344);
	assert_int_equal(at[0], 0x44);
	assert_int_equal(at[3], 0x11);
	assert_int_equal(uroce_icrc_load(at), 0x11223344);
}

/* Set the length fields of a frame, and compute the CRC state after its IP and UDP headers. */
static uint32_t
prefix_with_len(struct frame *frame, uint32_t ip_len, uint32_t udp_len)
{
	frame_put16(frame->data + frame->ip_off + (frame->data[frame->ip_off] >> 4 == 6 ? 4 : 2),
		    ip_len);
	frame_put16(frame->data + frame->udp_off + 4, udp_len);
	return uroce_icrc_prefix(frame->data + frame->ip_off);
}

static void
expect_len_terms(bool is_ipv6, uint32_t hdr_len)
{
	const struct frame_conf conf = { .is_ipv6 = is_ipv6, .opcode = 0x04, .payload_len = 4 };
	struct frame frame;
	uint32_t base;

	frame_make(&frame, &conf);
	base = prefix_with_len(&frame, 0, 0);
	for (uint32_t udp_len = 8; udp_len + hdr_len <= 0xffff; udp_len++) {
		const uint32_t direct = prefix_with_len(&frame, udp_len + hdr_len, udp_len);

		assert_int_equal(base ^ uroce_icrc_len_term(is_ipv6, (uint16_t)udp_len), direct);
	}
}

static void
icrc_len_term__ipv4_all_lengths(void **state)
{
	(void)state;
	expect_len_terms(false, sizeof(struct uroce_ipv4));
}

static void
icrc_len_term__ipv6_all_lengths(void **state)
{
	(void)state;
	expect_len_terms(true, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc_prefix__masks_what_routers_change),
		cmocka_unit_test(icrc_bth__masks_byte_4),
		cmocka_unit_test(icrc_rest__is_bth_and_what_follows),
		cmocka_unit_test(icrc_frame__is_the_icrc_of_the_whole_frame),
		cmocka_unit_test(icrc_frame__every_length),
		cmocka_unit_test(icrc__agrees_with_the_kernel_driver),
		cmocka_unit_test(icrc_store__least_significant_byte_first),
		cmocka_unit_test(icrc_len_term__ipv4_all_lengths),
		cmocka_unit_test(icrc_len_term__ipv6_all_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
