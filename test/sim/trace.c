/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Prints frames and computes the hash of a run. For each frame the hash contains the time, the
 * sending host, the fault, the length and the ICRC. The ICRC stands for all bytes that it covers.
 */

#include "trace.h"

#include "../unit/transport/names.h"

#include <stdarg.h>
#include <string.h>

#include "qp.h"
#include "transport/recovery/ooo_request_state.h"
#include "transport/recovery/ooo_response_state.h"
#include "transport/recovery/recovery_state.h"
#include "wire/icrc.h"
#include "wire/syndrome.h"
#include "world.h"

static void
hash_word(struct trace *trace, uint64_t word)
{
	trace->hash = rng_mix(trace->hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
}

/* Print a time in microseconds, such as "67.108us", with as many decimals as needed. */
static void
put_time(FILE *out, uint64_t now_ns)
{
	unsigned left = (unsigned)(now_ns % 1000);

	fprintf(out, "%llu", (unsigned long long)(now_ns / 1000));
	for (unsigned unit = 100; left; unit /= 10) {
		fprintf(out, "%s%u", unit == 100 ? "." : "", left / unit);
		left %= unit;
	}
	fputs("us ", out);
}

static void
put_host(FILE *out, unsigned idx)
{
	if (idx < 26)
		fputc('A' + (int)idx, out);
	else
		fprintf(out, "H%u", idx);
}

/*
 * The name of a packet: that of its opcode without the prefix RC_, or that of its syndrome if it is
 * an ACK or NAK.
 */
static const char *
packet_name(const struct uroce_pkt *pkt)
{
	if (pkt->op->operation == UROCE_OPERATION_ACK)
		return name_of_aeth(uroce_pkt_aeth(pkt)->syndrome);
	return strncmp(pkt->op->name, "RC_", 3) ? pkt->op->name : pkt->op->name + 3;
}

static void
put_frame(const struct world *world, const struct frame *frame, const struct uroce_pkt *pkt)
{
	FILE *out = world->trace.out;

	put_time(out, world->now_ns);
	put_host(out, frame->from);
	fputc('>', out);
	put_host(out, frame->to);
	if (world->nb_qps > 2)
		fprintf(out, " qp 0x%x", pkt->dest_qpn);
	fprintf(out, " %s psn %u", packet_name(pkt), pkt->psn);
	if (pkt->op->operation == UROCE_OPERATION_READ)
		fprintf(out, " len %u", be32_get(uroce_pkt_reth(pkt)->dma_len));
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC_ACK)
		fprintf(out, " orig %llu",
			(unsigned long long)be64_get(uroce_pkt_atomicacketh(pkt)->orig));
	if (pkt->op->ext_mask & 1 << UROCE_EXT_AETH)
		fprintf(out, " msn %u", be24_get(uroce_pkt_aeth(pkt)->msn));
	if (pkt->is_solicited)
		fputs(" S", out);
	if (pkt->has_ack_req)
		fputs(" A", out);
}

void
trace_frame(struct world *world, const struct frame *frame, enum fault fault)
{
	static const char *const marks[FAULT_NB] = {
		[FAULT_LOSE] = " LOST",    [FAULT_REPEAT] = " TWICE",  [FAULT_LATE] = " LATE",
		[FAULT_SPOIL] = " SPOILT", [FAULT_BLACKOUT] = " LOST", [FAULT_MARK] = " CE",
	};
	struct uroce_pkt pkt;

	hash_word(&world->trace, world->now_ns);
	hash_word(&world->trace, uroce_icrc_load(frame->bytes + frame->len - UROCE_ICRC_LEN) |
					 (uint64_t)frame->len << 32 | (uint64_t)frame->from << 48 |
					 (uint64_t)fault << 56);
	if (!world->trace.out)
		return;
	if (uroce_parse(frame->bytes, frame->len, &pkt) > UROCE_VERDICT_DATAGRAM)
		return;
	put_frame(world, frame, &pkt);
	fprintf(world->trace.out, "%s\n", marks[fault] ? marks[fault] : "");
}

void
trace_drop(struct world *world, const struct frame *frame)
{
	struct uroce_pkt pkt;

	hash_word(&world->trace, world->now_ns ^ frame->len);
	if (!world->trace.out ||
	    uroce_parse(frame->bytes, frame->len, &pkt) > UROCE_VERDICT_DATAGRAM)
		return;
	put_frame(world, frame, &pkt);
	fputs(" DROPPED\n", world->trace.out);
}

void
trace_note(struct world *world, unsigned who, const char *format, ...)
{
	va_list args;

	hash_word(&world->trace, world->now_ns + (uint64_t)who * 77 + (unsigned char)format[0]);
	if (!world->trace.out)
		return;
	put_time(world->trace.out, world->now_ns);
	put_host(world->trace.out, who);
	fputc(' ', world->trace.out);
	va_start(args, format);
	vfprintf(world->trace.out, format, args);
	va_end(args);
	fputc('\n', world->trace.out);
}

static void
put_state(const struct world *world, const struct qp *qp, const char *what, const char *from,
	  const char *to)
{
	FILE *out = world->trace.out;

	put_time(out, world->now_ns);
	put_host(out, qp->host->idx);
	fprintf(out, " qp 0x%x %s %s -> %s\n", qp->qpn, what, from, to);
}

void
trace_states(struct world *world, struct qp *qp)
{
	const uint8_t recovery = qp->qpc.req.loss_recovery.state,
		      answer = qp->qpc.req.ooo_responses.state, ooo = qp->qpc.resp.ooo_state;

	if (!world->trace.out || !world->trace.has_states)
		return;
	if (recovery != qp->traced_recovery)
		put_state(world, qp, "requests",
			  uroce_recovery_state_name((enum uroce_recovery_state)qp->traced_recovery),
			  uroce_recovery_state_name((enum uroce_recovery_state)recovery));
	if (answer != qp->traced_answer)
		put_state(world, qp, "responses",
			  uroce_ooo_response_state_name(
				  (enum uroce_ooo_response_state)qp->traced_answer),
			  uroce_ooo_response_state_name((enum uroce_ooo_response_state)answer));
	if (ooo != qp->traced_ooo)
		put_state(
			world, qp, "reception",
			uroce_ooo_request_state_name((enum uroce_ooo_request_state)qp->traced_ooo),
			uroce_ooo_request_state_name((enum uroce_ooo_request_state)ooo));
	qp->traced_recovery = recovery;
	qp->traced_answer = answer;
	qp->traced_ooo = ooo;
}
