/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Forwards bursts. The frames of a burst get their verdicts one by one, in the order of arrival,
 * and are sent together. Until then the bytes of a frame remain in the memory into which the frame
 * was received. So a frame is corrupted in place, and a frame that must wait is copied.
 */

#include "wire.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "cm/message.h"
#include "wire/icrc.h"
#include "wire/parse.h"

#define NS_PER_S  1000000000ull
#define NS_PER_US 1000ull
/* maximum time that a reordered frame waits for later frames */
#define REORDER_MAX_NS 50000000ull
#define MAD_QPN        1u /* the QP number of management datagrams */
/* maximum number of bursts that are forwarded from each end before commands are executed */
#define ROUNDS_MAX 64u

static uint64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool
wire_open(struct wire *wire, const char *const names[DIRECTION_NB], uint64_t seed,
	  struct reason *why)
{
	wire->rules.seed = seed;
	if (!end_open(&wire->end[0], names[0], why))
		return false;
	if (!end_open(&wire->end[1], names[1], why)) {
		end_close(&wire->end[0]);
		return false;
	}
	for (int i = 0; i < DIRECTION_NB; i++) {
		struct pipe *pipe = &wire->pipe[i];

		pipe->from = &wire->end[i];
		pipe->to = &wire->end[DIRECTION_NB - 1 - i];
		TAILQ_INIT(&pipe->late);
		TAILQ_INIT(&pipe->reordered);
	}
	return true;
}

/* --- the fault of one frame -------------------------------------------------------------------- */

static void
send_held(struct pipe *pipe, struct held *held)
{
	end_put(pipe->to, held->frame, held->len);
	end_flush(pipe->to);
	free(held);
}

/*
 * Flip a bit from the BTH on: a bit that the ICRC covers, or a bit of the ICRC. The fifth byte of
 * the BTH is not changed, because the ICRC does not cover it [IBA A17.3.3].
 */
static void
damage(uint8_t *bytes, const struct uroce_pkt *pkt, uint64_t random)
{
	const uint32_t bth = (uint32_t)((const uint8_t *)pkt->bth - bytes);
	const uint32_t end =
		(uint32_t)(pkt->payload - bytes) + pkt->payload_len + pkt->pad_len + UROCE_ICRC_LEN;
	const uint32_t changeable = offsetof(struct uroce_bth, fecn_becn);
	const uint32_t bit = (uint32_t)(random % ((end - bth - 1) * 8));
	const uint32_t byte = bit / 8 + (bit / 8 >= changeable);

	bytes[bth + byte] ^= (uint8_t)(1u << bit % 8);
}

static void
forward_as(struct pipe *pipe, const struct frame *frame, const struct uroce_pkt *pkt,
	   struct verdict verdict, uint64_t now)
{
	switch (verdict.fault) {
	case FAULT_DROP:
		return;
	case FAULT_DUPLICATE:
		end_put(pipe->to, frame->bytes, frame->len);
		break;
	case FAULT_CORRUPT:
		damage(frame->bytes, pkt, verdict.random);
		break;
	case FAULT_DELAY:
		if (hold_put(&pipe->late, frame->bytes, frame->len,
			     now + verdict.amount * NS_PER_US, HOLD_NEVER))
			return;
		break;
	case FAULT_REORDER:
		if (hold_put(&pipe->reordered, frame->bytes, frame->len, now + REORDER_MAX_NS,
			     pipe->tally.nb_roce + verdict.amount))
			return;
		break;
	case FAULT_NONE:
	case FAULT_BLACKOUT:
	case FAULT_NB:
		break;
	}
	end_put(pipe->to, frame->bytes, frame->len);
}

/*
 * Count a frame, and parse it if it is RoCEv2.
 * @return whether rules apply to the frame
 */
static bool
count(struct tally *tally, const struct frame *frame, struct uroce_pkt *pkt)
{
	const enum uroce_verdict is = uroce_parse(frame->bytes, frame->len, pkt);

	tally->nb_frames++;
	tally->nb_bytes += frame->len;
	/*
	 * the frame is not RoCEv2, or may be no RoCEv2 frame, because it ends before its UDP port
	 */
	if (is == UROCE_VERDICT_NOT_ROCE || is == UROCE_VERDICT_TRUNCATED ||
	    is == UROCE_VERDICT_BAD_IP)
		return false;
	tally->nb_roce++;
	if (is > UROCE_VERDICT_DATAGRAM) {
		tally->nb_malformed++;
		return false;
	}
	tally->nb_opcode[pkt->opcode]++;
	if (!uroce_pkt_check_icrc(pkt))
		tally->nb_bad_icrc++;
	return true;
}

/*
 * The attribute of a packet that is a message of connection management (enum uroce_cm_attr); 0: the
 * packet is no such message.
 */
static uint8_t
message_of(const struct uroce_pkt *pkt)
{
	struct uroce_cm_msg msg;

	if (pkt->dest_qpn != MAD_QPN || pkt->payload_len != UROCE_MAD_LEN ||
	    uroce_cm_parse(pkt->payload, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		return 0;
	return (uint8_t)msg.attr;
}

static void
forward_frame(struct wire *wire, enum direction direction, const struct frame *frame, uint64_t now)
{
	struct pipe *pipe = &wire->pipe[direction];
	struct verdict verdict = { .fault = FAULT_NONE };
	struct held *held;
	struct traits traits;
	struct uroce_pkt pkt;

	capture_frame(&wire->capture, frame->bytes, frame->len);
	if (!count(&pipe->tally, frame, &pkt)) {
		capture_verdict(&wire->capture, direction, FAULT_NONE);
		end_put(pipe->to, frame->bytes, frame->len);
		return;
	}
	traits = (struct traits){ .opcode = pkt.opcode, .attr = message_of(&pkt) };
	verdict = rules_classify(&wire->rules, direction, traits, now);
	capture_verdict(&wire->capture, direction, verdict.fault);
	pipe->tally.nb_fault[verdict.fault]++;
	forward_as(pipe, frame, &pkt, verdict, now);
	while ((held = hold_take_overtaken(&pipe->reordered, pipe->tally.nb_roce)))
		send_held(pipe, held);
}

/* --- bursts, and frames that wait -------------------------------------------------------------- */

static unsigned
forward_burst(struct wire *wire, enum direction direction)
{
	struct pipe *pipe = &wire->pipe[direction];
	const unsigned nb = end_receive(pipe->from);
	const uint64_t now = now_ns();

	for (unsigned i = 0; i < nb; i++)
		forward_frame(wire, direction, &pipe->from->burst[i], now);
	end_flush(pipe->to);
	return nb;
}

static void
let_go(struct pipe *pipe, uint64_t now)
{
	struct held *held;

	while ((held = hold_take_due(&pipe->late, now)))
		send_held(pipe, held);
	while ((held = hold_take_due(&pipe->reordered, now))) {
		pipe->tally.nb_let_go++;
		send_held(pipe, held);
	}
}

void
wire_forward(struct wire *wire)
{
	for (unsigned i = 0, nb = 1; i < ROUNDS_MAX && nb > 0; i++) {
		nb = forward_burst(wire, A_TO_B) + forward_burst(wire, B_TO_A);
		for (int k = 0; k < DIRECTION_NB; k++)
			let_go(&wire->pipe[k], now_ns());
	}
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
wire_wait_ns(const struct wire *wire)
{
	const uint64_t now = now_ns();
	uint64_t due = HOLD_NEVER;

	for (int i = 0; i < DIRECTION_NB; i++) {
		due = earlier(due, hold_due(&wire->pipe[i].late));
		due = earlier(due, hold_due(&wire->pipe[i].reordered));
	}
	if (due == HOLD_NEVER)
		return HOLD_NEVER;
	return due > now ? due - now : 0;
}

bool
wire_close(struct wire *wire, struct reason *why)
{
	for (int i = 0; i < DIRECTION_NB; i++)
		let_go(&wire->pipe[i], HOLD_NEVER);
	for (int i = 0; i < DIRECTION_NB; i++)
		end_close(&wire->end[i]);
	return capture_end(&wire->capture, why);
}

void
wire_print(struct wire *wire, FILE *out)
{
	for (int i = 0; i < DIRECTION_NB; i++)
		end_count_losses(&wire->end[i]);
	for (int i = 0; i < DIRECTION_NB; i++) {
		struct pipe *pipe = &wire->pipe[i];

		pipe->tally.nb_overflow = pipe->from->nb_overflow;
		pipe->tally.nb_sent = pipe->to->nb_sent;
		pipe->tally.nb_unsent = pipe->to->nb_unsent;
		pipe->tally.nb_device_drops = pipe->to->nb_dropped;
		fprintf(out, "%s\"%s\": ", i == 0 ? "{" : ", ", direction_name(i));
		tally_print(&pipe->tally, out);
	}
	fputs(", \"rules\": [", out);
	for (unsigned i = 0; i < wire->rules.nb; i++)
		fprintf(out, "%s{\"matched\": %" PRIu64 ", \"struck\": %" PRIu64 "}",
			i == 0 ? "" : ", ", wire->rules.rule[i].nb_matched,
			wire->rules.rule[i].nb_struck);
	fputs("]}", out);
}
