/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Draws bursts of frames for the twins: two equal QPs, of which one receives the frames one by one
 * and the other receives them in bursts (twin.h). A burst consists of a few runs of similar frames.
 * The first run of requests begins at the PSN that the QPs expect, and each later one continues
 * behind the run before. A run of responses begins with the response to the oldest request. So the
 * QPs accept most frames, and a frame that differs slightly is in the middle of a run.
 */

#include "draw.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "wire/icrc.h"
#include "wire/parse.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* The kinds of frames in a run. */
enum kind {
	SENDS,
	WRITES,
	READS,
	ADDS,
	SWAPS,
	LONG_WRITE,
	LONG_SEND,
	WITH_IMM,
	WITH_INV,
	WRITE_WITH_IMM,
	ATOMIC_WRITES,
	FLUSHES,
	ANY,
	NB_KINDS
};

static const uint8_t weights[NB_KINDS] = {
	[SENDS] = 20,        [WRITES] = 20,    [READS] = 14,   [ADDS] = 8,     [SWAPS] = 4,
	[LONG_WRITE] = 16,   [LONG_SEND] = 12, [WITH_IMM] = 2, [WITH_INV] = 2, [WRITE_WITH_IMM] = 2,
	[ATOMIC_WRITES] = 2, [FLUSHES] = 1,    [ANY] = 1,
};

static const uint8_t lows[NB_KINDS] = {
	[SENDS] = UROCE_OP_SEND_ONLY,
	[WRITES] = UROCE_OP_WRITE_ONLY,
	[READS] = UROCE_OP_READ_REQUEST,
	[ADDS] = UROCE_OP_FETCH_ADD,
	[SWAPS] = UROCE_OP_CMP_SWAP,
	[WITH_IMM] = UROCE_OP_SEND_ONLY_IMM,
	[WITH_INV] = UROCE_OP_SEND_ONLY_INV,
	[WRITE_WITH_IMM] = UROCE_OP_WRITE_ONLY_IMM,
	[ATOMIC_WRITES] = UROCE_OP_ATOMIC_WRITE,
	[FLUSHES] = UROCE_OP_FLUSH,
};

static uint32_t
mtu_of(struct twin *twin)
{
	return 1u << twin_qpc(twin)->mtu_shift;
}

/* --- responses that the peer has to send ------------------------------------------------------- */

static void
add_answer(struct draw *draw, uint8_t low, uint32_t psn, uint32_t len)
{
	if (draw->nb_answers == DRAW_ANSWERS)
		draw->nb_answers = 0; /* drop the pending responses, as if they were lost */
	draw->answers[draw->nb_answers++] = (struct draw_answer){ low, psn, len };
}

static void
add_read(struct draw *draw, uint32_t psn, uint32_t len, uint32_t mtu)
{
	const uint32_t nb = len ? (len + mtu - 1) / mtu : 1;

	for (uint32_t i = 0; i < nb; i++) {
		const bool is_last = i == nb - 1;
		uint8_t low = UROCE_OP_READ_RESPONSE_MIDDLE;

		if (i == 0)
			low = is_last ? UROCE_OP_READ_RESPONSE_ONLY : UROCE_OP_READ_RESPONSE_FIRST;
		else if (is_last)
			low = UROCE_OP_READ_RESPONSE_LAST;
		add_answer(draw, low, uroce_psn_add(psn, i), is_last ? len - i * mtu : mtu);
	}
}

void
draw_note_sent(struct draw *draw, struct twin *twin, const uint8_t *frame, uint32_t len)
{
	struct uroce_pkt pkt;

	if (uroce_parse(frame, len, &pkt) != UROCE_VERDICT_REQUEST)
		return;
	switch (pkt.op->operation) {
	case UROCE_OPERATION_READ:
		add_read(draw, pkt.psn, be32_get(uroce_pkt_reth(&pkt)->dma_len), mtu_of(twin));
		return;
	case UROCE_OPERATION_ATOMIC:
		add_answer(draw, UROCE_OP_ATOMIC_ACK, pkt.psn, 0);
		return;
	case UROCE_OPERATION_ATOMIC_WRITE:
	case UROCE_OPERATION_FLUSH:
		add_answer(draw, UROCE_OP_READ_RESPONSE_ONLY, pkt.psn, 0);
		return;
	}
	if (pkt.has_ack_req)
		add_answer(draw, UROCE_OP_ACK, pkt.psn, 0);
}

/* --- one frame, and changes to it -------------------------------------------------------------- */

static uint32_t
draw_key(struct draw *draw, const struct twin *twin)
{
	if (rng_once_in(&draw->rng, 512))
		return twin->keys.readable;
	if (rng_once_in(&draw->rng, 512))
		return twin->keys.some;
	return rng_once_in(&draw->rng, 6) ? twin->keys.window : twin->keys.all;
}

static uint32_t
draw_len(struct draw *draw, uint32_t mtu)
{
	switch (rng_below(&draw->rng, 8)) {
	case 0:
		return mtu;
	case 1:
		return rng_below(&draw->rng, mtu + 1);
	case 2:
		return rng_below(&draw->rng, 4);
	}
	return 1 + rng_below(&draw->rng, 64);
}

static uint64_t
draw_va(struct draw *draw)
{
	const uint32_t len = rng_once_in(&draw->rng, 64) ? TWIN_MEM_LEN : TWIN_MEM_LEN / 4;

	return TWIN_IOVA + rng_below(&draw->rng, len / 8) * 8;
}

/* Change a field of a packet, so that the packet differs from the others of its run. */
static void
spoil_field(struct draw *draw, const struct twin *twin, struct pair_pkt *pkt)
{
	struct rng *rng = &draw->rng;

	switch (rng_below(rng, 12)) {
	case 0:
		pkt->psn = uroce_psn_add(pkt->psn, 1 + rng_below(rng, 4));
		break;
	case 1:
		pkt->psn = uroce_psn_add(pkt->psn, UROCE_PSN_MASK - rng_below(rng, 40));
		break;
	case 2:
		pkt->psn = (uint32_t)rng_next(rng) & UROCE_PSN_MASK;
		break;
	case 3:
		pkt->pkey = rng_once_in(rng, 2) ? 0x7fff : (uint16_t)rng_next(rng);
		break;
	case 4:
		pkt->is_from_stranger = true;
		break;
	case 5:
		pkt->rkey = rng_once_in(rng, 2) ? pkt->rkey ^ 1u << rng_below(rng, 32)
						: draw_key(draw, twin);
		break;
	case 6:
		pkt->va = rng_once_in(rng, 2) ? TWIN_IOVA + TWIN_MEM_LEN - rng_below(rng, 16)
					      : pkt->va + rng_below(rng, 8);
		break;
	case 7:
		pkt->dma_len = rng_once_in(rng, 2) ? pkt->dma_len + rng_below(rng, 5) - 2
						   : (uint32_t)rng_next(rng);
		break;
	case 8:
		pkt->payload_len = rng_below(rng, pkt->payload_len + 5);
		break;
	case 9:
		pkt->is_solicited = !pkt->is_solicited;
		break;
	case 10:
		pkt->has_ack_req = !pkt->has_ack_req;
		break;
	case 11:
		pkt->syndrome = (uint8_t)rng_next(rng);
		break;
	}
}

/* Store the ICRC of a changed frame, so that the transport gets the frame. */
static void
seal(uint8_t *frame, uint32_t len)
{
	struct uroce_pkt pkt;

	if (uroce_parse(frame, len, &pkt) > UROCE_VERDICT_DATAGRAM)
		return;
	const uint32_t covered = (uint32_t)(pkt.payload - pkt.ip) + pkt.payload_len + pkt.pad_len;

	uroce_icrc_store(frame + (pkt.ip - frame) + covered, uroce_icrc_frame(pkt.ip, covered));
}

/* Change a bit of a frame, mostly in the headers; or change the end of the frame. */
static void
spoil_bytes(struct draw *draw, struct twin_frame *frame)
{
	struct rng *rng = &draw->rng;
	const uint32_t headers = frame->len < 80 ? frame->len : 80;

	switch (rng_below(rng, 8)) {
	case 0:
		frame->len -= rng_below(rng, frame->len);
		return;
	case 1: /* append Ethernet padding */
		memset(frame->bytes + frame->len, 0xa5, 32);
		frame->len += rng_below(rng, 32);
		return;
	case 2:
		frame->bytes[rng_below(rng, frame->len)] ^= (uint8_t)(1 << rng_below(rng, 8));
		return;
	case 3: /* set the mark ECN-CE in the traffic class of IPv6 or the ToS of IPv4 */
		frame->bytes[15] |= frame->bytes[12] == 0x86 ? 0x30 : 3;
		break;
	case 4: /* change the identification of IPv4 */
		if (frame->bytes[12] == 0x08)
			frame->bytes[18] ^= 1;
		break;
	default:
		frame->bytes[rng_below(rng, headers)] ^= (uint8_t)(1 << rng_below(rng, 8));
	}
	if (!rng_once_in(rng, 8))
		seal(frame->bytes, frame->len);
}

static void
put_frame(struct draw *draw, struct twin *twin, struct pair_pkt *pkt, struct twin_frame *frame)
{
	static uint8_t payload[4096 + 8];
	const bool is_odd = draw->odd_in && rng_once_in(&draw->rng, draw->odd_in);
	const bool is_field = rng_once_in(&draw->rng, 2);

	if (is_odd && is_field)
		spoil_field(draw, twin, pkt);
	if (!(uroce_opcode_table[pkt->opcode].flags & UROCE_OPF_PAYLOAD))
		pkt->payload_len = 0;
	if (pkt->opcode == UROCE_OPCODE_CNP)
		pkt->payload_len = UROCE_CNP_RESERVED_LEN;
	for (uint32_t i = 0; i < 16; i++)
		payload[rng_below(&draw->rng, sizeof(payload))] ^= (uint8_t)rng_next(&draw->rng);
	pkt->payload = payload;
	const struct pair_flight flight = link_forge(&twin->pair, twin->side, pkt);

	memcpy(frame->bytes, flight.frame, flight.len);
	frame->len = flight.len;
	free(flight.frame);
	if (is_odd && !is_field)
		spoil_bytes(draw, frame);
	frame->is_cut = rng_once_in(&draw->rng, 48);
}

/* --- runs of requests -------------------------------------------------------------------------- */

/*
 * Draw the next packet of the message in progress.
 * @param[out] len length of its payload
 * @return low bits of the opcode
 */
static uint8_t
go_on(struct draw *draw, uint32_t mtu, uint32_t *len)
{
	const bool is_write = draw->operation == UROCE_OPERATION_WRITE;

	if (--draw->nb_left > 0) {
		*len = mtu;
		return is_write ? UROCE_OP_WRITE_MIDDLE : UROCE_OP_SEND_MIDDLE;
	}
	*len = draw->last_len;
	draw->operation = UROCE_OPERATION_NONE;
	if (rng_once_in(&draw->rng, 8))
		return is_write ? UROCE_OP_WRITE_LAST_IMM : UROCE_OP_SEND_LAST_IMM;
	return is_write ? UROCE_OP_WRITE_LAST : UROCE_OP_SEND_LAST;
}

/*
 * Draw the First packet of a long message, which is in progress then. Returns the low bits of the
 * opcode.
 */
static uint8_t
begin(struct draw *draw, enum kind kind, uint32_t mtu, uint32_t *len)
{
	draw->operation = kind == LONG_WRITE ? UROCE_OPERATION_WRITE : UROCE_OPERATION_SEND;
	draw->nb_left = 1 + rng_below(&draw->rng, rng_once_in(&draw->rng, 4) ? 60 : 12);
	draw->last_len = 1 + rng_below(&draw->rng, mtu);
	*len = mtu;
	return kind == LONG_WRITE ? UROCE_OP_WRITE_FIRST : UROCE_OP_SEND_FIRST;
}

static uint32_t
psns_of(uint8_t low, uint32_t dma_len, uint32_t mtu)
{
	return low == UROCE_OP_READ_REQUEST && dma_len > mtu && dma_len < 64 * mtu
		       ? (dma_len + mtu - 1) / mtu
		       : 1;
}

/* Build a packet of a request. @return the PSN of the next packet */
static uint32_t
put_request(struct draw *draw, struct twin *twin, enum kind kind, uint32_t psn,
	    struct twin_frame *frame)
{
	struct rng *rng = &draw->rng;
	const uint32_t mtu = mtu_of(twin);
	uint32_t len = draw_len(draw, mtu), dma_len = len;
	uint8_t low = lows[kind];

	if (draw->operation != UROCE_OPERATION_NONE) {
		low = go_on(draw, mtu, &len);
	} else if (kind == LONG_WRITE || kind == LONG_SEND) {
		low = begin(draw, kind, mtu, &len);
		dma_len = draw->nb_left * mtu + draw->last_len;
	} else if (kind == ANY) {
		low = (uint8_t)rng_below(rng, 32);
	}
	if (low == UROCE_OP_ATOMIC_WRITE)
		dma_len = len = 8;
	if (low == UROCE_OP_READ_REQUEST && rng_once_in(rng, 8))
		dma_len = rng_below(rng, 8 * mtu);
	while (!(uroce_opcode_table[twin_qpc(twin)->service << 5 | low].flags & UROCE_OPF_VALID))
		low = (low + 1) % 32;
	struct pair_pkt pkt = {
		.opcode = (uint8_t)(twin_qpc(twin)->service << 5 | low),
		.has_ack_req = rng_once_in(rng, 6),
		.is_solicited = rng_once_in(rng, 16),
		.psn = psn,
		.payload_len = len,
		.va = draw_va(draw),
		.rkey = draw_key(draw, twin),
		.dma_len = dma_len,
		.swap_add = rng_next(rng),
		.compare = rng_next(rng),
		.imm = (uint32_t)rng_next(rng),
		.inv_rkey = twin->keys.window,
		.srqn = twin_host(twin)->srq.srqn,
		.sel_plt = 1 | rng_below(rng, 3) << 4,
		.qkey = 0x11111111,
		.src_qpn = 5,
	};

	/* most addresses are inside the region */
	if (!rng_once_in(rng, 32) && pkt.va + dma_len > TWIN_IOVA + TWIN_MEM_LEN)
		pkt.va = TWIN_IOVA;
	put_frame(draw, twin, &pkt, frame);
	return uroce_psn_add(psn, psns_of(low, dma_len, mtu));
}

/*
 * If the twin is not receiving the message in progress, because earlier frames were lost, continue
 * the message that it is receiving.
 */
static void
catch_up(struct draw *draw, struct twin *twin)
{
	const uint8_t operation = twin_qpc(twin)->resp.operation;

	if (draw->operation == operation)
		return;
	draw->operation = operation;
	draw->nb_left = 1 + rng_below(&draw->rng, 4);
	draw->last_len = 1 + rng_below(&draw->rng, mtu_of(twin));
}

/*
 * Build a run of `nb` requests from `psn` on.
 * @return the PSN behind the requests
 */
static uint32_t
put_requests(struct draw *draw, struct twin *twin, uint32_t psn, struct twin_frame *frames,
	     unsigned nb)
{
	const enum kind kind = (enum kind)rng_weighted(&draw->rng, weights, NB_KINDS);

	for (unsigned i = 0; i < nb; i++)
		psn = put_request(draw, twin, kind, psn, &frames[i]);
	return psn;
}

/* --- runs of responses ------------------------------------------------------------------------- */

static void
put_answer(struct draw *draw, struct twin *twin, const struct draw_answer *answer,
	   struct twin_frame *frame)
{
	struct rng *rng = &draw->rng;
	struct pair_pkt pkt = {
		.opcode = (uint8_t)(twin_qpc(twin)->service << 5 | answer->low),
		.psn = answer->psn,
		.payload_len = answer->len,
		.syndrome = UROCE_SYNDROME_ACK,
		.msn = answer->psn,
		.orig = rng_next(rng),
	};

	if (answer->low == UROCE_OP_ACK && rng_once_in(rng, 8))
		pkt.syndrome = rng_once_in(rng, 2) ? uroce_syndrome_make(UROCE_AETH_RNR, 1)
						   : uroce_syndrome_make(UROCE_AETH_NAK, 0);
	put_frame(draw, twin, &pkt, frame);
}

static void
drop_answers(struct draw *draw, unsigned nb)
{
	draw->nb_answers -= nb;
	memmove(draw->answers, draw->answers + nb, draw->nb_answers * sizeof(draw->answers[0]));
}

/*
 * Drop the responses to requests that are acknowledged. At random, keep the responses, so that a
 * few of them are sent as duplicates.
 */
static void
drop_stale(struct draw *draw, struct twin *twin)
{
	unsigned nb = 0;

	if (rng_once_in(&draw->rng, 8))
		return;
	while (nb < draw->nb_answers &&
	       uroce_psn_before(draw->answers[nb].psn, twin_qpc(twin)->req.una_psn))
		nb++;
	drop_answers(draw, nb);
}

static unsigned
put_answers(struct draw *draw, struct twin *twin, struct twin_frame *frames, unsigned nb)
{
	drop_stale(draw, twin);
	if (nb > draw->nb_answers)
		nb = draw->nb_answers;
	for (unsigned i = 0; i < nb; i++)
		put_answer(draw, twin, &draw->answers[i], &frames[i]);
	drop_answers(draw, nb);
	return nb;
}

unsigned
draw_burst(struct draw *draw, struct twin *twin, struct twin_frame frames[TWIN_BURST])
{
	const unsigned max = 1 + rng_below(&draw->rng, TWIN_BURST);
	uint32_t psn = twin_qpc(twin)->resp.epsn;
	unsigned nb = 0;

	catch_up(draw, twin);
	while (nb < max) {
		const unsigned nb_run = 1 + rng_below(&draw->rng, max - nb);

		if (draw->nb_answers > 0 && !rng_once_in(&draw->rng, draw->ask_in)) {
			nb += put_answers(draw, twin, &frames[nb], nb_run);
			continue;
		}
		psn = put_requests(draw, twin, psn, &frames[nb], nb_run);
		nb += nb_run;
	}
	return nb;
}
