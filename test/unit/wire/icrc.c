/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ICRC: the vectorised CRC against the scalar, and both against one written here; lengths and
 * alignments around every block size; the table of length terms against the CRC itself.
 */

#include "wire/icrc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "wire/hdr.h"

#define LEN_MAX    300
#define ALIGNMENTS 64
#define CANARY     0xa5

static const size_t long_lens[] = { 511,  512,  513,  1023, 1024,  1025,  2047,  2048, 2049,
				    4095, 4096, 4097, 8191, 10000, 16384, 65535, 65553 };
#define NB_LONG_LENS (sizeof(long_lens) / sizeof(long_lens[0]))
#define LONG_MAX     65553

/* Bytes without a pattern that a CRC could miss. */
static void
fill(uint8_t *data, size_t len)
{
	uint32_t x = 0x12345678;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(x >> 24);
	}
}

/* A buffer that ends where its bytes end, so that a sanitiser sees a read behind it. */
static uint8_t *
exact_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

static void
crc32__check_value_of_the_catalogues(void **state)
{
	(void)state;
	assert_int_equal(uroce_crc32_scalar(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(uroce_crc32(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(frame_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
}

static void
crc32__no_bytes_leave_the_state(void **state)
{
	uint8_t byte = 0;

	(void)state;
	assert_int_equal(uroce_crc32(0x01020304, &byte, 0), 0x01020304);
	assert_int_equal(uroce_crc32_scalar(0x01020304, &byte, 0), 0x01020304);
	assert_int_equal(uroce_crc32_copy(0x01020304, &byte, &byte, 0), 0x01020304);
}

static void
crc32__agrees_with_scalar_for_all_lengths_and_alignments(void **state)
{
	uint8_t data[ALIGNMENTS + LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t at = 0; at < ALIGNMENTS; at++) {
		for (size_t len = 0; len <= LEN_MAX; len++) {
			const uint32_t expected = uroce_crc32_scalar(0xdeadbeef, data + at, len);

			assert_int_equal(uroce_crc32(0xdeadbeef, data + at, len), expected);
		}
	}
}

static void
crc32__agrees_with_scalar_for_long_data(void **state)
{
	uint8_t *data = malloc(LONG_MAX + 1);

	(void)state;
	assert_non_null(data);
	fill(data, LONG_MAX + 1);
	for (size_t i = 0; i < NB_LONG_LENS; i++) {
		const uint32_t expected = uroce_crc32_scalar(7, data + 1, long_lens[i]);

		assert_int_equal(uroce_crc32(7, data + 1, long_lens[i]), expected);
	}
	free(data);
}

static void
crc32__reads_no_byte_outside(void **state)
{
	uint8_t data[LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		uint8_t *exact = exact_copy(data, len);

		assert_int_equal(uroce_crc32(1, exact, len), uroce_crc32_scalar(1, data, len));
		free(exact);
	}
}

static void
crc32__chains_at_every_cut(void **state)
{
	uint8_t data[LEN_MAX];
	uint32_t whole;

	(void)state;
	fill(data, sizeof(data));
	whole = frame_crc32(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut++) {
		const uint32_t first = uroce_crc32(0, data, cut);

		assert_int_equal(uroce_crc32(first, data + cut, sizeof(data) - cut), whole);
	}
}

/* Copy `len` bytes and check result, copy and the bytes around it. */
static void
expect_copy(const uint8_t *src, uint8_t *dst, size_t at, size_t len)
{
	memset(dst, CANARY, at + len + ALIGNMENTS);
	assert_int_equal(uroce_crc32_copy(99, dst + at, src, len),
			 uroce_crc32_scalar(99, src, len));
	assert_memory_equal(dst + at, src, len);
	for (size_t i = 0; i < at; i++)
		assert_int_equal(dst[i], CANARY);
	for (size_t i = at + len; i < at + len + ALIGNMENTS; i++)
		assert_int_equal(dst[i], CANARY);
}

static void
crc32_copy__copies_and_sums_all_lengths_and_alignments(void **state)
{
	uint8_t src[LEN_MAX + ALIGNMENTS], dst[LEN_MAX + 2 * ALIGNMENTS];

	(void)state;
	fill(src, sizeof(src));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		expect_copy(src, dst, len % 17, len);
		expect_copy(src + len % 13, dst, len % ALIGNMENTS, len);
	}
}

static void
crc32_copy__copies_and_sums_long_data(void **state)
{
	uint8_t *src = malloc(LONG_MAX + 3), *dst = malloc(LONG_MAX + 3 + ALIGNMENTS);

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	fill(src, LONG_MAX + 3);
	for (size_t i = 0; i < NB_LONG_LENS; i++)
		expect_copy(src + 3, dst, 2, long_lens[i]);
	free(src);
	free(dst);
}

static void
crc32_copy__reads_no_byte_outside(void **state)
{
	uint8_t data[LEN_MAX], dst[LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		uint8_t *exact = exact_copy(data, len);
		uint8_t *exact_dst = exact_copy(dst, len);

		uroce_crc32_copy(0, exact_dst, exact, len);
		assert_memory_equal(exact_dst, data, len);
		free(exact);
		free(exact_dst);
	}
}

/* State after the masked headers of a frame, from its own bytes. */
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

/* A frame of the kernel's driver: RC ACK, syndrome 0x1f; not made by this project. */
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

/* Prefix of a frame whose length fields are as given. */
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
		cmocka_unit_test(crc32__check_value_of_the_catalogues),
		cmocka_unit_test(crc32__no_bytes_leave_the_state),
		cmocka_unit_test(crc32__agrees_with_scalar_for_all_lengths_and_alignments),
		cmocka_unit_test(crc32__agrees_with_scalar_for_long_data),
		cmocka_unit_test(crc32__reads_no_byte_outside),
		cmocka_unit_test(crc32__chains_at_every_cut),
		cmocka_unit_test(crc32_copy__copies_and_sums_all_lengths_and_alignments),
		cmocka_unit_test(crc32_copy__copies_and_sums_long_data),
		cmocka_unit_test(crc32_copy__reads_no_byte_outside),
		cmocka_unit_test(icrc_prefix__masks_what_routers_change),
		cmocka_unit_test(icrc_bth__masks_byte_4),
		cmocka_unit_test(icrc__agrees_with_the_kernel_driver),
		cmocka_unit_test(icrc_store__least_significant_byte_first),
		cmocka_unit_test(icrc_len_term__ipv4_all_lengths),
		cmocka_unit_test(icrc_len_term__ipv6_all_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
