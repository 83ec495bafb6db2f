/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser's fast path: for a frame that matches the template of an earlier frame, it must give
 * the result of the full parser. Frames are in buffers of exactly their size, so that a sanitizer
 * detects any read behind the end.
 */

#include "wire/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "spec.h"

/*
 * Whether the first `len` bytes of `data`, in a buffer of exactly this size, match the template of
 * the earlier frame `model`. If so, the full parser must give the same result.
 */
static bool
matches_template(const struct uroce_pkt *model, enum uroce_verdict accepted_as, const uint8_t *data,
		 size_t len)
{
	uint8_t *exact = malloc(len > 0 ? len : 1);
	struct uroce_pkt fast = { .owner = NULL }, parsed = { .owner = NULL };
	bool is;

	assert_non_null(exact);
	memcpy(exact, data, len);
	is = uroce_parse_by_template(exact, (uint32_t)len, model, &fast);
	if (is) {
		assert_int_equal(uroce_parse(exact, (uint32_t)len, &parsed), accepted_as);
		assert_memory_equal(&fast, &parsed, sizeof(parsed));
	}
	free(exact);
	return is;
}

/*
 * Change each bit of a frame of every opcode: the frame must still match the template if the bit is
 * in the Ethernet addresses, in the byte of the AckReq bit or behind it, and not otherwise.
 */
static void
parse_by_template__every_byte_of_every_opcode(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		struct uroce_pkt model = { .owner = NULL };
		struct frame frame, other;

		spec_make(&frame, &frame_kinds[0], &spec_opcodes[i], 17);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &model),
				 spec_opcodes[i].accepted_as);
		for (size_t at = 0; at < frame.len; at++) {
			const bool is_free = at < 12 || at >= frame.bth_off + 8;

			spec_make(&other, &frame_kinds[0], &spec_opcodes[i], 17);
			for (unsigned bit = 0; bit < 8; bit++) {
				other.data[at] = (uint8_t)(frame.data[at] ^ 1u << bit);
				assert_int_equal(matches_template(&model,
								  spec_opcodes[i].accepted_as,
								  other.data, other.len),
						 is_free);
			}
		}
	}
}

static void
parse_by_template__only_of_the_plain_kind(void **state)
{
	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		struct uroce_pkt model;
		struct frame frame;

		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 8);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &model),
				 UROCE_VERDICT_REQUEST);
		struct uroce_pkt pkt;

		assert_int_equal(
			uroce_parse_by_template(frame.data, (uint32_t)frame.len, &model, &pkt),
			k == 0);
	}
}

static void
parse_make_template__outlives_the_frame(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt = { .owner = NULL }, model, fast = { .owner = NULL },
			 parsed = { .owner = NULL };
	uint8_t hdr[UROCE_TEMPLATE_LEN], gone[sizeof(frame.data)];

	(void)state;
	spec_make(&frame, &frame_kinds[0], spec_find("RC_WRITE_ONLY"), 8);
	memcpy(gone, frame.data, frame.len);
	assert_int_equal(uroce_parse(gone, (uint32_t)frame.len, &pkt), UROCE_VERDICT_REQUEST);
	uroce_parse_make_template(&pkt, hdr, &model);
	memset(gone, 0xff, sizeof(gone));
	assert_true(uroce_parse_by_template(frame.data, (uint32_t)frame.len, &model, &fast));
	assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &parsed),
			 UROCE_VERDICT_REQUEST);
	assert_memory_equal(&fast, &parsed, sizeof(parsed));
	frame.data[UROCE_TEMPLATE_LEN - 1] ^= 1;
	assert_false(uroce_parse_by_template(frame.data, (uint32_t)frame.len, &model, &fast));
}

static void
parse_by_template__length_of_the_frame(void **state)
{
	struct uroce_pkt model = { .owner = NULL };
	uint8_t padded[2048] = { 0 };
	struct frame frame;

	(void)state;
	spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 8);
	assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &model),
			 UROCE_VERDICT_REQUEST);
	memcpy(padded, frame.data, frame.len);
	for (size_t len = 0; len < frame.len + 20; len++)
		assert_int_equal(matches_template(&model, UROCE_VERDICT_REQUEST, padded, len),
				 len >= frame.len);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_by_template__every_byte_of_every_opcode),
		cmocka_unit_test(parse_by_template__only_of_the_plain_kind),
		cmocka_unit_test(parse_by_template__length_of_the_frame),
		cmocka_unit_test(parse_make_template__outlives_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
