/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser with random bytes. An accepted frame must be inside the buffer. If the test stores a
 * valid ICRC in an accepted frame, the frame must parse to the same fields again. Mutations of
 * bytes do not find frames whose protocol, port and three lengths agree. So some inputs are frames
 * of every opcode, which test/unit/wire/frame.c builds by the specification. After most mutations
 * the lengths are corrected.
 */

#include "bytes.h"

#include "../unit/wire/frame.h"
#include "wire/build.h"
#include "wire/icrc.h"
#include "wire/parse.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t room, unsigned seed);

static unsigned
draw(unsigned *seed, unsigned limit)
{
	return (unsigned)rand_r(seed) % limit;
}

static uint8_t
draw_opcode(unsigned *seed)
{
	uint8_t opcode;

	do
		opcode = (uint8_t)draw(seed, 256);
	while (!(uroce_opcode_table[opcode].flags & UROCE_OPF_VALID));
	return opcode;
}

/*
 * Build a valid frame of a random opcode.
 * @return length of the frame, or 0 if the frame is longer than `room`
 */
static size_t
make_frame(uint8_t *data, size_t room, unsigned *seed)
{
	static struct frame frame;
	const uint8_t opcode = draw_opcode(seed);
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	const unsigned span = op->payload_max - op->payload_min + 1u;
	const unsigned any_len = op->payload_min + draw(seed, span < 64 ? span : 64);
	/* only the last packet of a message may have a length that is no multiple of 4 */
	const unsigned payload_len = op->flags & UROCE_OPF_LAST ? any_len : any_len & ~3u;

	frame_make(&frame, &(struct frame_conf){ .is_ipv6 = draw(seed, 2),
						 .has_vlan = draw(seed, 4) == 0,
						 .has_udp_checksum = draw(seed, 4) == 0,
						 .opcode = opcode,
						 .ext_len = op->ext_len,
						 .ip_options_len = draw(seed, 4) ? 0 : 8,
						 .tclass = (uint8_t)draw(seed, 256),
						 .pad_len = -payload_len & 3,
						 .payload_len = (uint16_t)payload_len });
	if (frame.len > room)
		return 0;
	memcpy(data, frame.data, frame.len);
	return frame.len;
}

/* Set the lengths in the IP and UDP headers to the length of the frame. */
static void
mend_lengths(uint8_t *data, size_t len)
{
	const size_t ip = len > 17 && data[12] == 0x81 ? 18 : 14;
	const bool is_v6 = len > ip && data[ip] >> 4 == 6;
	const size_t udp = ip + (is_v6 ? 40 : len > ip ? (data[ip] & 0xfu) * 4 : 0);

	if (len < udp + 8)
		return;
	frame_put16(data + ip + (is_v6 ? 4 : 2), (uint32_t)(len - (is_v6 ? udp : ip)));
	frame_put16(data + udp + 4, (uint32_t)(len - udp));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t room, unsigned seed)
{
	if (draw(&seed, 8) == 0) {
		const size_t made = make_frame(data, room, &seed);

		if (made > 0)
			return made;
	}
	len = LLVMFuzzerMutate(data, len, room);
	if (draw(&seed, 4) > 0)
		mend_lengths(data, len);
	return len;
}

static void
expect_inside(const struct uroce_pkt *pkt, const uint8_t *frame, size_t len)
{
	const uint8_t *end = frame + len;

	expect(pkt->ip > frame && pkt->ip < (const uint8_t *)pkt->bth);
	expect((const uint8_t *)(pkt->bth + 1) == pkt->ext);
	expect(pkt->ext + pkt->op->ext_len == pkt->payload);
	expect(pkt->pad_len <= 3 && pkt->op->name);
	expect(pkt->payload <= end &&
	       pkt->payload_len + pkt->pad_len + UROCE_ICRC_LEN <= (size_t)(end - pkt->payload));
}

static void
seal(const struct uroce_pkt *pkt, uint8_t *frame)
{
	uint8_t *icrc = frame + (pkt->payload + pkt->payload_len + pkt->pad_len - frame);

	uroce_icrc_store(icrc, uroce_icrc_frame(pkt->ip, (size_t)(icrc - pkt->ip)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t again[9216];
	/* memory of the exact length, so that the sanitizer detects an overrun */
	uint8_t *frame = malloc(len ? len : 1);
	struct uroce_pkt pkt;

	expect(frame);
	memcpy(frame, data, len);
	const enum uroce_verdict verdict = uroce_parse(frame, (uint32_t)len, &pkt);

	expect(verdict < UROCE_VERDICT_NB);
	if (verdict <= UROCE_VERDICT_DATAGRAM) {
		expect_inside(&pkt, frame, len);
		(void)uroce_pkt_check_icrc(&pkt);
		(void)uroce_rebuild(&pkt, again, sizeof(again));
		seal(&pkt, frame);
		expect(uroce_parse(frame, (uint32_t)len, &pkt) == verdict);
		expect(uroce_pkt_check_icrc(&pkt));
	}
	free(frame);
	return 0;
}
