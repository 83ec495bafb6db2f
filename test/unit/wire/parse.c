/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser: valid frames of every kind are accepted and give the right fields, and each kind of
 * invalid frame gets its verdict. Frames are in buffers of exactly their size, so that a sanitizer
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
 * Parse the first `len` bytes of a frame, in a buffer of exactly `len` bytes.
 * @return the verdict
 */
static enum uroce_verdict
verdict_of(const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len > 0 ? len : 1);
	struct uroce_pkt pkt;
	enum uroce_verdict verdict;

	assert_non_null(exact);
	memcpy(exact, data, len);
	verdict = uroce_parse(exact, (uint32_t)len, &pkt);
	if (verdict <= UROCE_VERDICT_DATAGRAM) {
		assert_true(pkt.ext >= exact);
		assert_ptr_equal(pkt.payload, pkt.ext + pkt.op->ext_len);
		assert_true(pkt.payload + pkt.payload_len + pkt.pad_len + 4 <= exact + len);
		uroce_pkt_check_icrc(&pkt);
	}
	free(exact);
	return verdict;
}

static enum uroce_verdict
verdict_of_frame(const struct frame *frame)
{
	return verdict_of(frame->data, frame->len);
}

static void
parse__every_opcode_on_every_kind_of_frame(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		for (size_t i = 0; i < spec_nb_opcodes; i++) {
			const struct spec_opcode *spec = &spec_opcodes[i];

			spec_make(&frame, &frame_kinds[k], spec, 17);
			assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt),
					 spec->accepted_as);
			assert_ptr_equal(pkt.op, &uroce_opcode_table[spec->code]);
			assert_int_equal(pkt.opcode, spec->code);
			assert_ptr_equal(pkt.frame, frame.data);
			assert_ptr_equal(pkt.ip, frame.data + frame.ip_off);
			assert_ptr_equal(pkt.bth, frame.data + frame.bth_off);
			assert_ptr_equal(pkt.ext, frame.data + frame.ext_off);
			assert_ptr_equal(pkt.payload, frame.data + frame.payload_off);
			assert_int_equal(pkt.payload_len, spec_payload_len(spec, 17));
			assert_int_equal(pkt.pad_len, -spec_payload_len(spec, 17) & 3);
			assert_int_equal(pkt.has_vlan, frame_kinds[k].has_vlan);
			assert_int_equal(pkt.is_ipv6, frame_kinds[k].is_ipv6);
			assert_true(uroce_pkt_check_icrc(&pkt));
		}
	}
}

static void
parse__decodes_the_fields(void **state)
{
	const struct frame_conf conf = { .opcode = 0x04, .payload_len = 8, .has_vlan = true };
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	frame_make(&frame, &conf);
	assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pkt.psn, FRAME_PSN);
	assert_int_equal(pkt.dest_qpn, FRAME_QPN);
	assert_int_equal(pkt.pkey, FRAME_PKEY);
	assert_int_equal(pkt.udp_sport, FRAME_SPORT);
	assert_int_equal(pkt.vlan_tci, FRAME_VLAN_TCI);
	assert_int_equal(pkt.tclass, 0);
	assert_false(pkt.is_solicited);
	assert_false(pkt.has_ack_req);
	assert_false(pkt.has_becn);
}

static void
parse__vlan_tci_is_0_without_a_tag(void **state)
{
	const struct frame_conf conf = { .opcode = 0x04 };
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	frame_make(&frame, &conf);
	memset(&pkt, 0xff, sizeof(pkt));
	assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt), UROCE_VERDICT_REQUEST);
	assert_false(pkt.has_vlan);
	assert_int_equal(pkt.vlan_tci, 0);
}

/*
 * Each flag of the BTH is parsed from its own bit. Reserved bits, and bits that the parser ignores,
 * must not affect it.
 */
static void
parse__flag_bits_one_by_one(void **state)
{
	static const struct {
		uint8_t flags, fecn_becn, ack_req;
		bool is_solicited, has_becn, has_ack_req;
	} rows[] = {
		{ 0x80, 0x00, 0x00, true, false, false }, { 0x00, 0x40, 0x00, false, true, false },
		{ 0x00, 0x00, 0x80, false, false, true }, { 0x40, 0xbf, 0x7f, false, false, false },
		{ 0xc0, 0xff, 0xff, true, true, true },
	};
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct frame_conf conf = { .opcode = 0x04,
						 .bth_flags = rows[i].flags,
						 .bth_fecn_becn = rows[i].fecn_becn,
						 .bth_ack_req = rows[i].ack_req };

		frame_make(&frame, &conf);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt),
				 UROCE_VERDICT_REQUEST);
		assert_int_equal(pkt.is_solicited, rows[i].is_solicited);
		assert_int_equal(pkt.has_becn, rows[i].has_becn);
		assert_int_equal(pkt.has_ack_req, rows[i].has_ack_req);
		assert_int_equal(pkt.psn, FRAME_PSN);
		assert_int_equal(pkt.dest_qpn, FRAME_QPN);
		assert_int_equal(pkt.pad_len, 0);
	}
}

static void
parse__traffic_class_of_both_families(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
		const struct frame_conf conf = { .is_ipv6 = is_ipv6,
						 .opcode = 0x04,
						 .tclass = 0xa7 };

		frame_make(&frame, &conf);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt),
				 UROCE_VERDICT_REQUEST);
		assert_int_equal(pkt.tclass, 0xa7);
	}
}

/* Parse a frame of the opcode `name`, whose extension headers have the bytes 0x40, 0x41 ... */
static void
parse_ext(struct frame *frame, const char *name, struct uroce_pkt *pkt)
{
	spec_make(frame, &frame_kinds[0], spec_find(name), 8);
	assert_true(uroce_parse(frame->data, (uint32_t)frame->len, pkt) <= UROCE_VERDICT_DATAGRAM);
}

static void
pkt_ext__accessors_find_their_headers(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	parse_ext(&frame, "XRC_WRITE_ONLY_IMM", &pkt);
	assert_true(be64_get(uroce_pkt_reth(&pkt)->va) == UINT64_C(0x4445464748494a4b));
	assert_int_equal(be32_get(uroce_pkt_reth(&pkt)->rkey), 0x4c4d4e4f);
	assert_int_equal(be32_get(uroce_pkt_reth(&pkt)->dma_len), 0x50515253);
	assert_int_equal(uroce_pkt_immdt(&pkt)->data[0], 0x54);

	parse_ext(&frame, "RC_CMP_SWAP", &pkt);
	assert_true(be64_get(uroce_pkt_atomiceth(&pkt)->va) == UINT64_C(0x4041424344454647));
	assert_int_equal(be32_get(uroce_pkt_atomiceth(&pkt)->rkey), 0x48494a4b);
	assert_true(be64_get(uroce_pkt_atomiceth(&pkt)->swap_add) == UINT64_C(0x4c4d4e4f50515253));
	assert_true(be64_get(uroce_pkt_atomiceth(&pkt)->compare) == UINT64_C(0x5455565758595a5b));

	parse_ext(&frame, "RC_ATOMIC_ACK", &pkt);
	assert_int_equal(uroce_pkt_aeth(&pkt)->syndrome, 0x40);
	assert_int_equal(be24_get(uroce_pkt_aeth(&pkt)->msn), 0x414243);
	assert_true(be64_get(uroce_pkt_atomicacketh(&pkt)->orig) == UINT64_C(0x4445464748494a4b));

	parse_ext(&frame, "UD_SEND_ONLY_IMM", &pkt);
	assert_int_equal(be32_get(uroce_pkt_deth(&pkt)->qkey), 0x40414243);
	assert_int_equal(be24_get(uroce_pkt_deth(&pkt)->src_qpn), 0x454647);
	assert_int_equal(uroce_pkt_immdt(&pkt)->data[3], 0x4b);

	parse_ext(&frame, "RC_SEND_ONLY_INV", &pkt);
	assert_int_equal(be32_get(uroce_pkt_ieth(&pkt)->rkey), 0x40414243);
}

static void
parse__every_truncation_is_truncated(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		for (size_t i = 0; i < spec_nb_opcodes; i++) {
			spec_make(&frame, &frame_kinds[k], &spec_opcodes[i], 5);
			for (size_t len = 0; len < frame.len; len++)
				assert_int_equal(verdict_of(frame.data, len),
						 UROCE_VERDICT_TRUNCATED);
			assert_int_equal(verdict_of_frame(&frame), spec_opcodes[i].accepted_as);
		}
	}
}

static void
parse__ethernet_padding_is_ignored(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 0);
		memset(frame.data + frame.len, 0xee, 46);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len + 46, &pkt),
				 UROCE_VERDICT_REQUEST);
		assert_int_equal(pkt.payload_len, 0);
		assert_true(uroce_pkt_check_icrc(&pkt));
	}
}

static void
parse__other_traffic_is_not_roce(void **state)
{
	static const uint16_t types[] = { 0x0806, 0x88cc, 0x8915, 0x88a8, 0x002e, 0x8100 };
	struct frame frame;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 4);
			/*
			 * a second VLAN tag is refused; in an untagged frame 0x8100 is no error,
			 * but makes the following bytes a VLAN tag
			 */
			if (types[i] == 0x8100 && !frame_kinds[k].has_vlan)
				continue;
			frame_put16(frame.data + frame.ip_off - 2, types[i]);
			assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_NOT_ROCE);
		}
		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 4);
		frame.data[frame.ip_off + (frame_kinds[k].is_ipv6 ? 6 : 9)] = 6;
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_NOT_ROCE);

		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 4);
		frame_put16(frame.data + frame.udp_off + 2, 4790);
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_NOT_ROCE);
	}
}

static void
parse__other_ports_are_not_judged(void **state)
{
	struct frame frame;

	(void)state;
	spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 4);
	frame_put16(frame.data + frame.udp_off + 2, 53);
	frame_put16(frame.data + frame.ip_off + 2, 21);
	assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_NOT_ROCE);
}

static void
parse_ipv4__version_and_header_length(void **state)
{
	static const uint8_t bad[] = { 0x05, 0x35, 0x55, 0x65, 0xf5, 0x40, 0x41, 0x44 };
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(bad); i++) {
		spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 4);
		frame.data[frame.ip_off] = bad[i];
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_BAD_IP);
	}
}

static void
parse_ipv4__header_length_past_the_frame(void **state)
{
	struct frame frame;

	(void)state;
	spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 0);
	frame.data[frame.ip_off] = 0x4f;
	assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_TRUNCATED);
}

static void
parse_ipv4__fragments(void **state)
{
	static const struct {
		uint16_t frag;
		enum uroce_verdict verdict;
	} rows[] = {
		{ 0x0000, UROCE_VERDICT_REQUEST },  { 0x4000, UROCE_VERDICT_REQUEST },
		{ 0x2000, UROCE_VERDICT_BAD_IP },   { 0x6000, UROCE_VERDICT_BAD_IP },
		{ 0x0001, UROCE_VERDICT_NOT_ROCE }, { 0x2001, UROCE_VERDICT_NOT_ROCE },
		{ 0x1fff, UROCE_VERDICT_NOT_ROCE }, { 0x1000, UROCE_VERDICT_NOT_ROCE },
	};
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 4);
		frame_put16(frame.data + frame.ip_off + 6, rows[i].frag);
		assert_int_equal(verdict_of_frame(&frame), rows[i].verdict);
	}
}

static void
parse_ipv4__total_length(void **state)
{
	struct frame frame;
	size_t ip_len;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		if (frame_kinds[k].is_ipv6)
			continue;
		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 4);
		ip_len = frame.len - frame.ip_off;
		for (size_t len = 0; len < ip_len + 3; len++) {
			enum uroce_verdict expected = UROCE_VERDICT_BAD_UDP_LEN;

			if (len < 28u + frame_kinds[k].ip_options_len)
				expected = UROCE_VERDICT_BAD_IP;
			if (len == ip_len)
				expected = UROCE_VERDICT_REQUEST;
			if (len > ip_len)
				expected = UROCE_VERDICT_TRUNCATED;
			frame_put16(frame.data + frame.ip_off + 2, (uint32_t)len);
			assert_int_equal(verdict_of_frame(&frame), expected);
		}
		frame_put16(frame.data + frame.ip_off + 2, 0xffff);
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_TRUNCATED);
	}
}

static void
parse_ipv6__version(void **state)
{
	struct frame frame;

	(void)state;
	for (uint8_t version = 0; version < 16; version++) {
		spec_make(&frame, &frame_kinds[1], spec_find("RC_SEND_ONLY"), 4);
		frame.data[frame.ip_off] = (uint8_t)(version << 4);
		assert_int_equal(verdict_of_frame(&frame),
				 version == 6 ? UROCE_VERDICT_REQUEST : UROCE_VERDICT_BAD_IP);
	}
}

static void
parse_ipv6__extension_headers_are_not_roce(void **state)
{
	static const uint8_t next[] = { 0, 43, 44, 59, 60 };
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(next); i++) {
		spec_make(&frame, &frame_kinds[1], spec_find("RC_SEND_ONLY"), 4);
		frame.data[frame.ip_off + 6] = next[i];
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_NOT_ROCE);
	}
}

static void
parse_ipv6__payload_length(void **state)
{
	struct frame frame;
	size_t payload_len;

	(void)state;
	spec_make(&frame, &frame_kinds[1], spec_find("RC_SEND_ONLY"), 4);
	payload_len = frame.len - frame.udp_off;
	for (size_t len = 0; len < payload_len + 3; len++) {
		enum uroce_verdict expected = UROCE_VERDICT_BAD_UDP_LEN;

		if (len < 8)
			expected = UROCE_VERDICT_BAD_IP;
		if (len == payload_len)
			expected = UROCE_VERDICT_REQUEST;
		if (len > payload_len)
			expected = UROCE_VERDICT_TRUNCATED;
		frame_put16(frame.data + frame.ip_off + 4, (uint32_t)len);
		assert_int_equal(verdict_of_frame(&frame), expected);
	}
}

static void
parse_udp__length_must_be_the_ip_length(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		spec_make(&frame, &frame_kinds[k], spec_find("RC_SEND_ONLY"), 4);
		for (size_t len = 0; len < frame.len + 100; len++) {
			frame_put16(frame.data + frame.udp_off + 4, (uint32_t)len);
			assert_int_equal(verdict_of_frame(&frame),
					 len == frame.len - frame.udp_off
						 ? UROCE_VERDICT_REQUEST
						 : UROCE_VERDICT_BAD_UDP_LEN);
		}
	}
}

/*
 * If the IP and UDP lengths are consistent, but the UDP payload is too short for the headers of its
 * opcode, the frame is refused.
 */
static void
parse_bth__headers_must_fit_the_udp_payload(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		for (size_t i = 0; i < spec_nb_opcodes; i++) {
			const struct spec_opcode *spec = &spec_opcodes[i];
			const size_t least = 12u + spec->ext_len + 4 + spec_payload_len(spec, 0);

			spec_make(&frame, &frame_kinds[k], spec, 0);
			for (size_t len = 0; len < least; len++) {
				frame_set_len(&frame, len);
				assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_BAD_LEN);
			}
			spec_make(&frame, &frame_kinds[k], spec, 0);
			assert_int_equal(verdict_of_frame(&frame), spec->accepted_as);
		}
	}
}

static void
parse_bth__version_must_be_0(void **state)
{
	struct frame frame;

	(void)state;
	for (uint8_t version = 1; version < 16; version++) {
		spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 4);
		frame.data[frame.bth_off + 1] |= version;
		assert_int_equal(verdict_of_frame(&frame), UROCE_VERDICT_BAD_BTH_VERSION);
	}
}

static void
parse_bth__unknown_opcodes(void **state)
{
	struct frame frame;

	(void)state;
	for (int code = 0; code < 256; code++) {
		spec_make(&frame, &frame_kinds[0], spec_find("RC_SEND_ONLY"), 64);
		frame.data[frame.bth_off] = (uint8_t)code;
		assert_int_equal(verdict_of_frame(&frame) == UROCE_VERDICT_BAD_OPCODE,
				 uroce_opcode_table[code].flags == 0);
	}
}

/*
 * Whether an opcode allows a payload with padding of `len` bytes in total, of which `pad_len` are
 * padding.
 */
static bool
may_have(const struct spec_opcode *spec, uint16_t len, uint8_t pad_len)
{
	if (len % 4 != 0)
		return false;
	switch (spec->payload) {
	case NO_PAYLOAD:
		return len == 0 && pad_len == 0;
	case ANY_PAYLOAD:
		return pad_len < 4 && (len > 0 || pad_len == 0);
	case FULL_PAYLOAD:
		return len > 0 && pad_len == 0;
	case PAYLOAD_8:
		return len == 8 && pad_len == 0;
	case PAYLOAD_16:
		return len == 16 && pad_len == 0;
	}
	return false;
}

static void
parse_payload__lengths_and_pads_of_every_opcode(void **state)
{
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];

		for (uint16_t len = 0; len <= 24; len++) {
			for (uint8_t pad_len = 0; pad_len < 4; pad_len++) {
				const struct frame_conf conf = { .opcode = spec->code,
								 .ext_len = spec->ext_len,
								 .payload_len = len };

				frame_make(&frame, &conf);
				frame.data[frame.bth_off + 1] |= (uint8_t)(pad_len << 4);
				assert_int_equal(verdict_of_frame(&frame),
						 may_have(spec, len, pad_len)
							 ? spec->accepted_as
							 : UROCE_VERDICT_BAD_LEN);
			}
		}
	}
}

static void
parse_payload__largest_path_mtu(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	spec_make(&frame, &frame_kinds[3], spec_find("XRC_WRITE_ONLY_IMM"), 4096);
	assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt), UROCE_VERDICT_REQUEST);
	assert_int_equal(pkt.payload_len, 4096);
	assert_true(uroce_pkt_check_icrc(&pkt));
}

/*
 * Whether the ICRC does not cover this byte: a byte of the Ethernet header, or of a field that
 * routers change.
 */
static bool
is_masked(const struct frame *frame, const struct frame_conf *kind, size_t off)
{
	const size_t in_ip = off - frame->ip_off;

	if (off < frame->ip_off || off == frame->bth_off + 4)
		return true;
	if (off == frame->udp_off + 6 || off == frame->udp_off + 7)
		return true;
	if (off >= frame->udp_off)
		return false;
	if (kind->is_ipv6)
		return (in_ip >= 1 && in_ip <= 3) || in_ip == 7;
	return in_ip == 1 || in_ip == 8 || in_ip == 10 || in_ip == 11;
}

static void
pkt_check_icrc__sees_every_bit_but_the_masked(void **state)
{
	struct frame frame;
	struct uroce_pkt pkt;

	(void)state;
	for (size_t k = 0; k < FRAME_NB_KINDS; k++) {
		spec_make(&frame, &frame_kinds[k], spec_find("RC_WRITE_ONLY_IMM"), 9);
		assert_int_equal(uroce_parse(frame.data, (uint32_t)frame.len, &pkt),
				 UROCE_VERDICT_REQUEST);
		for (size_t bit = 0; bit < frame.len * 8; bit++) {
			const size_t off = bit / 8;
			const uint8_t flip = (uint8_t)(1 << bit % 8);

			/*
			 * skip the byte with the IP version and header length: the way in which the
			 * ICRC is computed depends on it, and the parser checks it
			 */
			if (off == frame.ip_off)
				continue;
			frame.data[off] ^= flip;
			assert_int_equal(uroce_pkt_check_icrc(&pkt),
					 is_masked(&frame, &frame_kinds[k], off));
			frame.data[off] ^= flip;
		}
	}
}

/*
 * Hostile frames: valid frames in which a few bytes are changed, and which are truncated at random.
 * The seed is fixed.
 */
static void
parse__mutated_frames_are_never_read_past_their_end(void **state)
{
	static unsigned nb_verdicts[UROCE_VERDICT_NB];
	uint32_t x = 20240229;
	struct frame frame;

	(void)state;
	for (unsigned round = 0; round < 60000; round++) {
		size_t len;

		x = x * 1664525 + 1013904223;
		spec_make(&frame, &frame_kinds[(x >> 24) % FRAME_NB_KINDS],
			  &spec_opcodes[(x >> 16) % spec_nb_opcodes], (uint16_t)(x >> 8 & 0x3f));
		len = frame.len;
		for (unsigned nb = 1 + (x >> 5) % 4; nb > 0; nb--) {
			x = x * 1664525 + 1013904223;
			frame.data[(x >> 8) % frame.len] = (uint8_t)(x >> 24);
		}
		if (x >> 30 == 0)
			len = (x >> 4) % (frame.len + 1);
		nb_verdicts[verdict_of(frame.data, len)]++;
	}
	for (int v = UROCE_VERDICT_REQUEST; v < UROCE_VERDICT_BAD_ICRC; v++)
		assert_true(nb_verdicts[v] > 0);
	for (int v = UROCE_VERDICT_BAD_ICRC; v < UROCE_VERDICT_NB; v++)
		assert_int_equal(nb_verdicts[v], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__every_opcode_on_every_kind_of_frame),
		cmocka_unit_test(parse__decodes_the_fields),
		cmocka_unit_test(parse__vlan_tci_is_0_without_a_tag),
		cmocka_unit_test(parse__flag_bits_one_by_one),
		cmocka_unit_test(parse__traffic_class_of_both_families),
		cmocka_unit_test(pkt_ext__accessors_find_their_headers),
		cmocka_unit_test(parse__every_truncation_is_truncated),
		cmocka_unit_test(parse__ethernet_padding_is_ignored),
		cmocka_unit_test(parse__other_traffic_is_not_roce),
		cmocka_unit_test(parse__other_ports_are_not_judged),
		cmocka_unit_test(parse_ipv4__version_and_header_length),
		cmocka_unit_test(parse_ipv4__header_length_past_the_frame),
		cmocka_unit_test(parse_ipv4__fragments),
		cmocka_unit_test(parse_ipv4__total_length),
		cmocka_unit_test(parse_ipv6__version),
		cmocka_unit_test(parse_ipv6__extension_headers_are_not_roce),
		cmocka_unit_test(parse_ipv6__payload_length),
		cmocka_unit_test(parse_udp__length_must_be_the_ip_length),
		cmocka_unit_test(parse_bth__headers_must_fit_the_udp_payload),
		cmocka_unit_test(parse_bth__version_must_be_0),
		cmocka_unit_test(parse_bth__unknown_opcodes),
		cmocka_unit_test(parse_payload__lengths_and_pads_of_every_opcode),
		cmocka_unit_test(parse_payload__largest_path_mtu),
		cmocka_unit_test(pkt_check_icrc__sees_every_bit_but_the_masked),
		cmocka_unit_test(parse__mutated_frames_are_never_read_past_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
