/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Paths: a frame that is built from the headers of a path equals, byte for byte, the frame that the
 * specification describes.
 */

#include "wire/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "frame.h"
#include "wire/icrc.h"

#define CANARY 0x5a

/* Create a path with the header fields of the frames that frame_make() writes. */
static void
init_path(struct uroce_path *path, const struct frame_conf *frame)
{
	struct uroce_path_conf conf = {
		.flow_label = FRAME_FLOW,
		.udp_sport = FRAME_SPORT,
		.vlan_tci = FRAME_VLAN_TCI,
		.tclass = frame->tclass,
		.hop_limit = FRAME_HOP_LIMIT,
		.has_vlan = frame->has_vlan,
	};

	memcpy(conf.smac, frame_smac, sizeof(conf.smac));
	memcpy(conf.dmac, frame_dmac, sizeof(conf.dmac));
	memcpy(conf.sip, frame_sip[frame->is_ipv6], sizeof(conf.sip));
	memcpy(conf.dip, frame_dip[frame->is_ipv6], sizeof(conf.dip));
	uroce_path_init(path, &conf);
}

static const struct frame_conf kinds[] = {
	{ .is_ipv6 = false, .tclass = 0x6a },
	{ .is_ipv6 = true, .tclass = 0x6a },
	{ .is_ipv6 = false, .has_vlan = true, .tclass = 0xff },
	{ .is_ipv6 = true, .has_vlan = true, .tclass = 0xff },
};
#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/*
 * Build an RC WRITE_ONLY frame as a sender does: path, BTH, RETH, payload, padding, ICRC.
 * @param like  the expected frame, from which extension headers and payload are copied
 */
static size_t
send_frame(const struct frame_conf *conf, const struct frame *like, uint8_t *out)
{
	const uint8_t *ext = like->data + like->ext_off;
	struct uroce_path path;
	struct uroce_bth *bth;
	uint8_t *at;
	uint32_t icrc;

	init_path(&path, conf);
	bth = uroce_path_put(&path, out,
			     12u + conf->ext_len + conf->payload_len + conf->pad_len + 4, &icrc);
	uroce_bth_put(bth, conf->opcode, conf->pad_len, FRAME_PKEY, FRAME_QPN, FRAME_PSN);
	icrc = uroce_icrc_bth(icrc, (const uint8_t *)bth);
	at = (uint8_t *)(bth + 1);
	memcpy(at, ext, conf->ext_len);
	icrc = uroce_crc32(icrc, at, conf->ext_len);
	at += conf->ext_len;
	icrc = uroce_crc32_copy(icrc, at, ext + conf->ext_len, conf->payload_len);
	at += conf->payload_len;
	memset(at, 0, conf->pad_len);
	icrc = uroce_crc32(icrc, at, conf->pad_len);
	uroce_icrc_store(at + conf->pad_len, icrc);
	return (size_t)(at + conf->pad_len + 4 - out);
}

static void
path_put__frames_are_as_specified(void **state)
{
	struct frame expected;
	uint8_t out[FRAME_MAX];

	(void)state;
	for (size_t k = 0; k < NB_KINDS; k++) {
		for (uint16_t len = 0; len < 4097;
		     len = (uint16_t)(len < 70 ? len + 1 : len * 2 + 3)) {
			struct frame_conf conf = kinds[k];
			size_t out_len;

			conf.opcode = 0x0a;
			conf.ext_len = 16;
			conf.payload_len = len;
			conf.pad_len = (uint8_t)(-len & 3);
			conf.bth_flags = 0x40; /* the bit MigReq */
			frame_make(&expected, &conf);
			out_len = send_frame(&conf, &expected, out);
			assert_int_equal(out_len, expected.len);
			assert_memory_equal(out, expected.data, expected.len);
		}
	}
}

static void
path_put__writes_the_headers_and_nothing_else(void **state)
{
	uint8_t out[UROCE_HDR_MAX];
	struct uroce_path path;
	uint32_t icrc;

	(void)state;
	for (size_t k = 0; k < NB_KINDS; k++) {
		memset(out, CANARY, sizeof(out));
		init_path(&path, &kinds[k]);
		uroce_path_put(&path, out, 16, &icrc);
		assert_true(path.hdr_len <= UROCE_PATH_HDR_MAX);
		for (size_t i = path.hdr_len; i < sizeof(out); i++)
			assert_int_equal(out[i], CANARY);
	}
}

static void
path_put__offsets_and_empty_bth(void **state)
{
	static const struct {
		uint8_t ip, udp, bth, len;
	} offs[] = {
		{ 14, 34, 42, 54 }, { 14, 54, 62, 74 }, { 18, 38, 46, 58 }, { 18, 58, 66, 78 }
	};
	const struct uroce_bth empty = { .flags = UROCE_BTH_MIGREQ };
	uint8_t out[UROCE_HDR_MAX];
	struct uroce_path path;
	struct uroce_bth *bth;
	uint32_t icrc;

	(void)state;
	for (size_t k = 0; k < NB_KINDS; k++) {
		init_path(&path, &kinds[k]);
		assert_int_equal(path.is_ipv6, kinds[k].is_ipv6);
		assert_int_equal(path.ip_off, offs[k].ip);
		assert_int_equal(path.udp_off, offs[k].udp);
		assert_int_equal(path.bth_off, offs[k].bth);
		assert_int_equal(path.hdr_len, offs[k].len);
		bth = uroce_path_put(&path, out, 16, &icrc);
		assert_ptr_equal(bth, out + offs[k].bth);
		assert_memory_equal(bth, &empty, sizeof(empty));
	}
}

static void
path_put__ipv4_id_0_and_no_fragments(void **state)
{
	uint8_t out[UROCE_HDR_MAX];
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)(out + 14);
	const struct uroce_udp *udp = (const struct uroce_udp *)(ip + 1);
	struct uroce_path path;
	uint32_t icrc;

	(void)state;
	init_path(&path, &kinds[0]);
	uroce_path_put(&path, out, 16, &icrc);
	assert_int_equal(be16_get(ip->id), 0);
	assert_int_equal(be16_get(ip->frag), 0x4000);
	assert_int_equal(be16_get(udp->checksum), 0);
}

/*
 * The checksum of the IPv4 header is updated incrementally for the length: for every length the
 * 16-bit words of the header must sum to 0xffff.
 */
static void
path_put__ipv4_checksum_for_all_lengths(void **state)
{
	uint8_t out[UROCE_HDR_MAX];
	struct uroce_path path;
	uint32_t icrc;

	(void)state;
	init_path(&path, &kinds[0]);
	for (uint32_t len = 16; len <= 0xffff - 28; len++) {
		uint32_t sum = 0;

		uroce_path_put(&path, out, len, &icrc);
		for (size_t i = 0; i < 20; i += 2)
			sum += (uint32_t)out[14 + i] << 8 | out[15 + i];
		assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	}
}

static void
path_put__same_path_different_lengths_in_turn(void **state)
{
	static const uint32_t lens[] = { 4124, 16, 36, 4124, 1052, 16 };
	struct uroce_path path;
	uint8_t out[UROCE_HDR_MAX];
	uint32_t icrc;

	(void)state;
	for (size_t k = 0; k < NB_KINDS; k++) {
		init_path(&path, &kinds[k]);
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			uroce_path_put(&path, out, lens[i], &icrc);
			assert_int_equal(icrc, uroce_icrc_prefix(out + path.ip_off));
		}
	}
}

static void
path_set_len__copies_are_what_put_writes(void **state)
{
	static const uint32_t lens[] = { 16, 4096 + 32, 40, 16, 256, 255 };

	(void)state;
	for (size_t kind = 0; kind < NB_KINDS; kind++) {
		uint8_t put[UROCE_HDR_MAX], copied[UROCE_HDR_MAX];
		struct uroce_path plain, set;

		init_path(&plain, &kinds[kind]);
		set = plain;
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			uint32_t icrc, icrc_put_again;
			const uint32_t icrc_set = uroce_path_set_len(&set, lens[i]);
			const struct uroce_bth *bth = uroce_path_copy(&set, copied);

			uroce_path_put(&plain, put, lens[i], &icrc);
			assert_memory_equal(copied, put, plain.hdr_len);
			assert_int_equal(icrc_set, icrc);
			assert_ptr_equal(bth, copied + plain.bth_off);
			/*
			 * after uroce_path_set_len() the path can still be used for other lengths
			 */
			uroce_path_put(&plain, put, 1000, &icrc);
			uroce_path_put(&set, copied, 1000, &icrc_put_again);
			assert_memory_equal(copied, put, plain.hdr_len);
			assert_int_equal(icrc_put_again, icrc);
		}
	}
}

/*
 * uroce_path_set_tclass() gives the same headers as the creation of a path with this traffic class.
 */
static void
path_set_tclass__is_as_if_made_with_it(void **state)
{
	static const uint8_t tclasses[] = { 0x00, 0x02, 0x03, 0x6a, 0xc0, 0xff };

	(void)state;
	for (size_t i = 0; i < NB_KINDS; i++) {
		for (size_t k = 0; k < sizeof(tclasses); k++) {
			struct frame_conf kind = kinds[i];
			struct uroce_path path, other;
			uint8_t hdr[2][UROCE_HDR_MAX] = { { 0 } };
			uint32_t icrc[2];

			init_path(&path, &kind);
			assert_int_equal(uroce_path_tclass(&path), kind.tclass);
			kind.tclass = tclasses[k];
			init_path(&other, &kind);
			uroce_path_set_tclass(&path, tclasses[k]);
			assert_int_equal(uroce_path_tclass(&path), tclasses[k]);
			uroce_path_put(&path, hdr[0], 1040, &icrc[0]);
			uroce_path_put(&other, hdr[1], 1040, &icrc[1]);
			assert_memory_equal(hdr[0], hdr[1], sizeof(hdr[0]));
			assert_int_equal(icrc[0], icrc[1]);
		}
	}
}

static void
path_init__hop_limit_0_is_sent_as_64(void **state)
{
	struct uroce_path_conf conf = { 0 };
	struct uroce_path path;

	(void)state;
	memcpy(conf.dip, frame_dip[0], sizeof(conf.dip));
	uroce_path_init(&path, &conf);
	assert_int_equal(path.hdr[14 + 8], 64);
	memcpy(conf.dip, frame_dip[1], sizeof(conf.dip));
	uroce_path_init(&path, &conf);
	assert_int_equal(path.hdr[14 + 7], 64);
}

static void
path_init__flow_label_has_20_bits(void **state)
{
	struct uroce_path_conf conf = { .flow_label = 0xfff54321, .tclass = 0x12 };
	struct uroce_path path;
	const uint8_t expected[4] = { 0x61, 0x25, 0x43, 0x21 };

	(void)state;
	memcpy(conf.dip, frame_dip[1], sizeof(conf.dip));
	uroce_path_init(&path, &conf);
	assert_memory_equal(path.hdr + 14, expected, 4);
}

static void
bth_put__keeps_migreq_and_sets_the_pad(void **state)
{
	struct uroce_bth bth = { .flags = UROCE_BTH_MIGREQ };
	const uint8_t expected[12] = { 0x0a, 0x70, 0xff, 0xfe, 0, 1, 2, 3, 0, 4, 5, 6 };

	(void)state;
	uroce_bth_put(&bth, 0x0a, 3, 0xfffe, 0x010203, 0x040506);
	assert_memory_equal(&bth, expected, sizeof(expected));
}

static void
ip_is_v4__mapped_addresses_only(void **state)
{
	uint8_t ip[16] = { 0 };

	(void)state;
	assert_true(uroce_ip_is_v4(frame_sip[0]));
	assert_false(uroce_ip_is_v4(frame_sip[1]));
	assert_false(uroce_ip_is_v4(ip));
	memcpy(ip, frame_sip[0], sizeof(ip));
	ip[0] = 1;
	assert_false(uroce_ip_is_v4(ip));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_put__frames_are_as_specified),
		cmocka_unit_test(path_put__writes_the_headers_and_nothing_else),
		cmocka_unit_test(path_put__offsets_and_empty_bth),
		cmocka_unit_test(path_put__ipv4_id_0_and_no_fragments),
		cmocka_unit_test(path_put__ipv4_checksum_for_all_lengths),
		cmocka_unit_test(path_put__same_path_different_lengths_in_turn),
		cmocka_unit_test(path_set_len__copies_are_what_put_writes),
		cmocka_unit_test(path_set_tclass__is_as_if_made_with_it),
		cmocka_unit_test(path_init__hop_limit_0_is_sent_as_64),
		cmocka_unit_test(path_init__flow_label_has_20_bits),
		cmocka_unit_test(bth_put__keeps_migreq_and_sets_the_pad),
		cmocka_unit_test(ip_is_v4__mapped_addresses_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
