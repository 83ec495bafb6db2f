/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A 16-bit field of the ICRC: its terms and their inverse, compared with the CRC computed bit by
 * bit; and frames whose identification is unknown to the receiver.
 */

#include "wire/icrc_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "spec.h"
#include "wire/parse.h"

/* CRC of bytes that are all 0 except the field: `before`, the field, and `after` bytes. */
static uint32_t
crc_of_field(size_t before, uint16_t value, size_t after)
{
	static uint8_t data[UINT16_MAX + 16];

	memset(data, 0, before + 2 + after);
	data[before] = (uint8_t)(value >> 8);
	data[before + 1] = (uint8_t)value;
	return frame_crc32(0, data, before + 2 + after);
}

static const uint16_t lens[] = { 0,   1,   2,   3,    22,   34,   255,
				 256, 257, 511, 1058, 4132, 8192, UINT16_MAX };
#define NB_LENS (sizeof(lens) / sizeof(lens[0]))

static void
field_term__is_the_change_of_the_crc(void **state)
{
	struct uroce_icrc_field field;

	(void)state;
	for (size_t i = 0; i < NB_LENS; i++) {
		const uint32_t zero = crc_of_field(5, 0, lens[i]);

		uroce_icrc_field_init(&field, lens[i]);
		assert_int_equal(uroce_icrc_field_term(&field, 0), 0);
		for (unsigned bit = 0; bit < 16; bit++)
			assert_int_equal(uroce_icrc_field_term(&field, (uint16_t)(1u << bit)),
					 crc_of_field(5, (uint16_t)(1u << bit), lens[i]) ^ zero);
		assert_int_equal(uroce_icrc_field_term(&field, 0xbeef),
				 crc_of_field(5, 0xbeef, lens[i]) ^ zero);
	}
}

static void
field_find__finds_every_change(void **state)
{
	struct uroce_icrc_field field;
	uint16_t found;

	(void)state;
	for (size_t i = 0; i < NB_LENS; i++) {
		uroce_icrc_field_init(&field, lens[i]);
		for (unsigned change = 0; change <= UINT16_MAX; change++) {
			const uint32_t term = uroce_icrc_field_term(&field, (uint16_t)change);

			found = (uint16_t)~change;
			assert_true(uroce_icrc_field_find(term, lens[i], &found));
			assert_int_equal(found, change);
		}
	}
}

/*
 * Of the 2^32 terms, 65,536 belong to a change of the field, and all others must be refused. If
 * uroce_icrc_field_find() finds a change, that change must have the term.
 */
static void
field_find__finds_no_change_for_other_terms(void **state)
{
	struct uroce_icrc_field field;
	uint32_t term = 1;
	unsigned nb_found = 0;
	uint16_t change;

	(void)state;
	uroce_icrc_field_init(&field, 1058);
	for (unsigned i = 0; i < 1u << 20; i++) {
		term = term * 1664525 + 1013904223;
		if (!uroce_icrc_field_find(term, 1058, &change))
			continue;
		nb_found++;
		assert_int_equal(uroce_icrc_field_term(&field, change), term);
	}
	assert_in_range(nb_found, 1, 64);
}

static void
make_parsed(struct frame *frame, const struct frame_conf *kind, uint16_t payload_len,
	    struct uroce_pkt *pkt)
{
	spec_make(frame, kind, spec_find("RC_WRITE_ONLY_IMM"), payload_len);
	assert_int_equal(uroce_parse(frame->data, (uint32_t)frame->len, pkt),
			 UROCE_VERDICT_REQUEST);
}

/*
 * The sender computes the ICRC with an identification that the receiver does not see. The receiver
 * has another value in the header.
 */
static void
any_ident__every_identification_of_the_sender_is_accepted(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		make_parsed(&frame, &frame_kinds[k], 9, &pkt);
		assert_true(uroce_pkt_check_icrc_any_ident(&pkt));
		for (unsigned ident = 0; ident <= UINT16_MAX && !frame_kinds[k].is_ipv6;
		     ident += 251) {
			frame_put16(frame.data + frame.ip_off + 4, ident);
			frame_set_icrc(&frame);
			frame_put16(frame.data + frame.ip_off + 4, 3);
			assert_true(uroce_pkt_check_icrc_any_ident(&pkt));
			assert_int_equal(uroce_pkt_check_icrc(&pkt), ident == 3);
		}
	}
}

/*
 * Count the single-bit errors in the UDP payload of a frame that the check of the ICRC does not
 * detect if the identification is unknown.
 */
static unsigned
count_unnoticed(struct frame *frame, const struct uroce_pkt *pkt)
{
	unsigned nb = 0;

	for (size_t bit = frame->bth_off * 8; bit < frame->len * 8; bit++) {
		if (bit / 8 == frame->bth_off + 4) /* the ICRC does not cover this byte */
			continue;
		frame->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		nb += uroce_pkt_check_icrc_any_ident(pkt);
		frame->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return nb;
}

/*
 * A flipped bit together with a wrong identification may leave the ICRC valid: a CRC of 32 bits
 * does not detect all pairs of errors. The check misses a share of 2^-16 of the flips, which is
 * none of the flips in a frame of 1 KiB.
 */
static void
any_ident__a_flipped_bit_is_noticed(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		make_parsed(&frame, &frame_kinds[k], 1024, &pkt);
		assert_int_equal(count_unnoticed(&frame, &pkt), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field_term__is_the_change_of_the_crc),
		cmocka_unit_test(field_find__finds_every_change),
		cmocka_unit_test(field_find__finds_no_change_for_other_terms),
		cmocka_unit_test(any_ident__every_identification_of_the_sender_is_accepted),
		cmocka_unit_test(any_ident__a_flipped_bit_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
