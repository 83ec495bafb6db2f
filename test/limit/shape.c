/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Templates and checks of frames. The addresses in the frames are those for documentation. They
 * have no effect: no switch examines them, and each side accepts all frames of its port.
 */

#include "shape.h"

#include <string.h>

#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/parse.h"

#define QPN  0x11
#define PKEY 0xffff

static struct uroce_path path;

static void
init_path(void)
{
	struct uroce_path_conf conf = {
		.smac = { 0x02, 0, 0, 0, 0, 1 },
		.dmac = { 0x02, 0, 0, 0, 0, 2 },
		.sip = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.dip = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
		.udp_sport = 0xc000,
	};

	uroce_path_init(&path, &conf);
}

static uint32_t
const_state(const uint8_t *frame)
{
	struct uroce_bth masked;

	memcpy(&masked, frame + SHAPE_CONST_LEN - 8, sizeof(masked));
	masked.fecn_becn = 0xff;
	return uroce_crc32(uroce_icrc_prefix(frame + sizeof(struct uroce_eth)), &masked, 8);
}

static void
init_kind(struct shape_kind *kind, enum uroce_opcode_low low, uint32_t payload_len)
{
	const uint8_t opcode = uroce_opcode_make(UROCE_SERVICE_RC, low);
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	const uint8_t pad_len = (uint8_t)(-payload_len & 3);
	const uint32_t udp_payload_len = (uint32_t)sizeof(struct uroce_bth) + op->ext_len +
					 payload_len + pad_len + UROCE_ICRC_LEN;
	struct uroce_bth *bth;
	uint32_t unused;

	*kind = (struct shape_kind){
		.hdr_len = (uint16_t)(path.hdr_len + op->ext_len),
		.frame_len = (uint16_t)(path.bth_off + udp_payload_len),
		.payload_len = (uint16_t)payload_len,
		.pad_len = pad_len,
		.has_reth = op->ext_mask & 1 << UROCE_EXT_RETH,
	};
	bth = uroce_path_put(&path, kind->hdr, udp_payload_len, &unused);
	uroce_bth_put(bth, opcode, pad_len, PKEY, QPN, 0);
	kind->icrc = const_state(kind->hdr);
}

static void
set_reth(struct shape_kind *kind, uint32_t dma_len)
{
	struct uroce_reth *reth = (struct uroce_reth *)(kind->hdr + path.hdr_len);

	*reth = (struct uroce_reth){ .rkey = be32_make(1), .dma_len = be32_make(dma_len) };
}

void
shape_init(struct shape *shape, uint32_t size, uint32_t mtu)
{
	init_path();
	*shape = (struct shape){
		.nb_frames = (size + mtu - 1) / mtu,
		.size = size,
		.stride = (size + 63) / 64 * 64,
	};
	if (shape->nb_frames == 1) {
		init_kind(&shape->last, UROCE_OP_WRITE_ONLY, size);
		set_reth(&shape->last, size);
		return;
	}
	init_kind(&shape->first, UROCE_OP_WRITE_FIRST, mtu);
	set_reth(&shape->first, size);
	init_kind(&shape->middle, UROCE_OP_WRITE_MIDDLE, mtu);
	init_kind(&shape->last, UROCE_OP_WRITE_LAST, size - (shape->nb_frames - 1) * mtu);
}

uint32_t
shape_frame_len(const struct shape *shape)
{
	return shape->nb_frames == 1 ? shape->last.frame_len : shape->first.frame_len;
}

/* Payload of this length and more is copied in one pass with the computation of its ICRC. */
#define FUSED_LEN_MIN 128

uint32_t
shape_put(const struct shape_kind *kind, uint8_t *frame, uint32_t psn, bool has_ack_req,
	  uint64_t va, const uint8_t *src)
{
	/* the copy of the template has a fixed length: that costs less than the exact length */
	enum { TEMPLATE_LEN = 80 };
	static_assert(TEMPLATE_LEN >= SHAPE_CONST_LEN + 4 + sizeof(struct uroce_reth),
		      "the longest header fits the copy");
	struct uroce_bth *bth = (struct uroce_bth *)(frame + SHAPE_CONST_LEN - 8);
	uint8_t *payload = frame + kind->hdr_len;
	uint8_t *end = payload + kind->payload_len;
	uint32_t state = kind->icrc;

	memcpy(frame, kind->hdr, TEMPLATE_LEN);
	bth->ack_req = has_ack_req ? UROCE_BTH_ACK_REQ : 0;
	bth->psn = be24_make(psn);
	if (kind->has_reth)
		((struct uroce_reth *)(bth + 1))->va = be64_make(va);
	if (kind->payload_len < FUSED_LEN_MIN) {
		shape_copy(payload, src, kind->payload_len);
	} else {
		state = uroce_crc32(state, &bth->ack_req, (size_t)(payload - &bth->ack_req));
		state = uroce_crc32_copy(state, payload, src, kind->payload_len);
	}
	memset(end, 0, kind->pad_len);
	return state;
}

void
shape_sum(const struct shape_kind *kind, uint8_t *frame, uint32_t state)
{
	uint8_t *end = frame + kind->frame_len - UROCE_ICRC_LEN;
	const uint8_t *from =
		kind->payload_len < FUSED_LEN_MIN ? frame + SHAPE_CONST_LEN : end - kind->pad_len;

	if (end > from)
		state = uroce_crc32(state, from, (size_t)(end - from));
	uroce_icrc_store(end, state);
}

void
shape_init_ack(struct shape_kind *ack)
{
	init_path();
	init_kind(ack, UROCE_OP_ACK, 0);
}

void
shape_put_ack(const struct shape_kind *ack, uint8_t *frame, uint32_t psn, uint8_t syndrome)
{
	struct uroce_bth *bth = (struct uroce_bth *)(frame + SHAPE_CONST_LEN - 8);
	struct uroce_aeth *aeth = (struct uroce_aeth *)(bth + 1);
	uint32_t icrc;

	memcpy(frame, ack->hdr, SHAPE_CONST_LEN + 4);
	bth->psn = be24_make(psn);
	*aeth = (struct uroce_aeth){ .syndrome = syndrome, .msn = be24_make(psn) };
	icrc = uroce_crc32(ack->icrc, &bth->ack_req, 8);
	uroce_icrc_store((uint8_t *)(aeth + 1), icrc);
}

static const struct shape_kind *
learn(struct shape_kind seen[256], const uint8_t *frame, uint32_t len)
{
	struct uroce_pkt pkt;
	const enum uroce_verdict verdict = uroce_parse(frame, len, &pkt);
	struct shape_kind *kind;

	if ((verdict != UROCE_VERDICT_REQUEST && verdict != UROCE_VERDICT_RESPONSE) ||
	    (const uint8_t *)pkt.bth != frame + SHAPE_CONST_LEN - 8 || !uroce_pkt_check_icrc(&pkt))
		return NULL;
	kind = &seen[pkt.opcode];
	*kind = (struct shape_kind){
		.hdr_len = (uint16_t)(pkt.payload - frame),
		.frame_len = (uint16_t)len,
		.payload_len = (uint16_t)pkt.payload_len,
		.pad_len = pkt.pad_len,
		.has_reth = pkt.op->ext_mask & 1 << UROCE_EXT_RETH,
		.icrc = const_state(frame),
	};
	memcpy(kind->hdr, frame, SHAPE_CONST_LEN);
	return kind;
}

/* Compare the constant parts of two frames, in words and without a function call. */
static inline bool
is_same(const uint8_t *a, const uint8_t *b)
{
	uint64_t diff = 0;

	for (unsigned i = 0; i < SHAPE_CONST_LEN / 8; i++) {
		uint64_t x, y;

		memcpy(&x, a + i * 8, 8);
		memcpy(&y, b + i * 8, 8);
		diff |= x ^ y;
	}
	for (unsigned i = SHAPE_CONST_LEN / 8 * 8; i < SHAPE_CONST_LEN; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

bool
shape_is_roce(const uint8_t *frame, uint32_t len)
{
	static const uint8_t ipv4[] = { 0x08, 0x00 }, port[] = { 4791 >> 8, 4791 & 0xff };

	return len >= SHAPE_ACK_LEN && memcmp(frame + 12, ipv4, 2) == 0 && frame[23] == 17 &&
	       memcmp(frame + 36, port, 2) == 0;
}

const struct shape_kind *
shape_check(struct shape_kind seen[256], const uint8_t *frame, uint32_t len)
{
	const struct shape_kind *kind;
	uint32_t icrc;

	if (len < SHAPE_ACK_LEN)
		return NULL;
	kind = &seen[frame[SHAPE_CONST_LEN - 8]];
	if (len != kind->frame_len || !is_same(frame, kind->hdr))
		return learn(seen, frame, len);
	icrc = uroce_crc32(kind->icrc, frame + SHAPE_CONST_LEN,
			   len - SHAPE_CONST_LEN - UROCE_ICRC_LEN);
	return icrc == uroce_icrc_load(frame + len - UROCE_ICRC_LEN) ? kind : NULL;
}
