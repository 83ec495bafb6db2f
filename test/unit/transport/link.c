/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The wire between the two QPs of a pair. Frames are built as the data path builds them: headers
 * from the descriptor, payload from its slices, padding, ICRC. The receiver gets nothing but the
 * bytes of the frame.
 */

#include "link.h"

#include "names.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/icrc.h"
#include "wire/parse.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define FRAME_MAX 8192
#define RUN_MAX   64

uint64_t
link_random(uint64_t *seed)
{
	uint64_t x = *seed;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*seed = x;
	return x * UINT64_C(0x2545f4914f6cdd1d) | 1;
}

uint32_t
link_build(const struct uroce_txd *txd, uint8_t *frame)
{
	const uint8_t *bth = txd->hdr + txd->bth_off;
	const uint8_t *ext = bth + sizeof(struct uroce_bth);
	uint32_t crc = uroce_icrc_bth(txd->icrc, bth);
	uint8_t *at = frame + txd->hdr_len;
	uint32_t gathered = 0;

	assert_true(txd->hdr_len <= UROCE_HDR_MAX && txd->payload_len <= 4096);
	crc = uroce_crc32(crc, ext, (size_t)(txd->hdr + txd->hdr_len - ext));
	memcpy(frame, txd->hdr, txd->hdr_len);
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		crc = uroce_crc32_copy(crc, at, txd->slice[i].addr, txd->slice[i].len);
		at += txd->slice[i].len;
		gathered += txd->slice[i].len;
	}
	assert_int_equal(gathered, txd->payload_len);
	memset(at, 0, txd->pad_len);
	crc = uroce_crc32(crc, at, txd->pad_len);
	at += txd->pad_len;
	uroce_icrc_store(at, crc);
	return (uint32_t)(at + UROCE_ICRC_LEN - frame);
}

/* --- the trace of frames --- */

static const char *
packet_name(const struct uroce_pkt *pkt)
{
	const char *name = strchr(pkt->op->name, '_');

	if (pkt->op->operation == UROCE_OPERATION_ACK)
		return name_of_aeth(uroce_pkt_aeth(pkt)->syndrome);
	return name ? name + 1 : pkt->op->name;
}

static void
trace_frame(struct pair *pair, enum pair_side from, const uint8_t *frame, uint32_t len,
	    enum pair_action action)
{
	static const char *const marks[] = { "", " LOST", " TWICE", " LATE", " SPOILT" };
	struct uroce_pkt pkt;
	const enum uroce_verdict verdict = uroce_parse(frame, len, &pkt);

	/* every frame that a QP sends must be valid, with a correct ICRC */
	assert_true(verdict <= UROCE_VERDICT_DATAGRAM);
	assert_true(uroce_pkt_check_icrc(&pkt));
	if (pair->conf.is_quiet)
		return;
	text_add(&pair->trace, "%s %s psn %u", from == A ? "A>B" : "B>A", packet_name(&pkt),
		 pkt.psn);
	if (pkt.op->operation == UROCE_OPERATION_READ)
		text_add(&pair->trace, " len %u", be32_get(uroce_pkt_reth(&pkt)->dma_len));
	text_add(&pair->trace, "%s%s%s\n", pkt.is_solicited ? " S" : "",
		 pkt.has_ack_req ? " A" : "", marks[action]);
}

/* --- faults of the wire --- */

static enum pair_action
draw_action(struct pair_noise *noise)
{
	unsigned at = (unsigned)(link_random(&noise->seed) % 1000);
	const struct {
		unsigned share;
		enum pair_action action;
	} draws[] = {
		{ noise->lose, PAIR_LOSE },
		{ noise->repeat, PAIR_REPEAT },
		{ noise->delay, PAIR_DELAY },
		{ noise->spoil, PAIR_SPOIL },
	};

	for (unsigned i = 0; i < sizeof(draws) / sizeof(draws[0]); i++) {
		if (at < draws[i].share)
			return draws[i].action;
		at -= draws[i].share;
	}
	return PAIR_PASS;
}

static enum pair_action
choose_action(struct pair *pair, enum pair_side from, uint32_t nth)
{
	for (unsigned i = 0; i < pair->nb_actions; i++) {
		if (pair->actions[i].from == from && pair->actions[i].nth == nth)
			return pair->actions[i].action;
	}
	return pair->noise.seed ? draw_action(&pair->noise) : PAIR_PASS;
}

/* Put a copy of a frame on the wire, behind all frames that arrive before or at `due_ns`. */
static void
launch(struct pair *pair, enum pair_side to, const uint8_t *frame, uint32_t len, uint64_t due_ns)
{
	unsigned at = pair->nb_flights;

	if (pair->nb_flights == pair->room_flights) {
		pair->room_flights = 2 * pair->room_flights + 64;
		pair->flights =
			realloc(pair->flights, pair->room_flights * sizeof(pair->flights[0]));
		assert(pair->flights);
	}
	while (at > 0 && pair->flights[at - 1].due_ns > due_ns) {
		pair->flights[at] = pair->flights[at - 1];
		at--;
	}
	pair->flights[at] = (struct pair_flight){ due_ns, malloc(len), len, to };
	assert(pair->flights[at].frame);
	memcpy(pair->flights[at].frame, frame, len);
	pair->nb_flights++;
}

/* Flip a random bit of a frame, but not in its Ethernet header. */
static void
spoil(struct pair *pair, uint8_t *frame, uint32_t len)
{
	uint64_t fixed = 88172645463325252u;
	const uint64_t random = link_random(pair->noise.seed ? &pair->noise.seed : &fixed);

	frame[14 + random % (len - 14)] ^= (uint8_t)(1 << random / len % 8);
}

void
link_send(struct pair *pair, enum pair_side from, const struct uroce_txd *txd, bool is_wired)
{
	const uint64_t due_ns = pair->now_ns + PAIR_LATENCY_NS;
	const enum pair_side to = from == A ? B : A;
	uint8_t frame[FRAME_MAX];
	const uint32_t len = link_build(txd, frame);
	const enum pair_action action = choose_action(pair, from, pair->host[from].nb_sent++);

	trace_frame(pair, from, frame, len, action);
	if (!is_wired || action == PAIR_LOSE)
		return;
	if (action == PAIR_SPOIL)
		spoil(pair, frame, len);
	launch(pair, to, frame, len, action == PAIR_DELAY ? due_ns + PAIR_DELAY_NS : due_ns);
	if (action == PAIR_REPEAT)
		launch(pair, to, frame, len, due_ns);
}

/* --- delivery of frames --- */

void
link_reap(struct pair_host *host)
{
	void *frame;

	while (host->reorder_buffer && uroce_reorder_buffer_reap(host->reorder_buffer, &frame, 1))
		free(frame);
}

/* Adjacent frames for one host, which the QP receives in one call. */
struct run {
	struct pair_host *host; /* destination of the frames; NULL: no frame yet */
	unsigned nb;
	struct uroce_pkt pkts[RUN_MAX];
};

static void
end_frame(struct pair_host *host, uint8_t *frame, enum uroce_verdict verdict)
{
	assert_true(verdict < UROCE_VERDICT_NB);
	host->nb_verdicts[verdict]++;
	if (verdict != UROCE_VERDICT_OOO_BUFFERED)
		free(frame);
}

static void
hand_over(struct pair *pair, struct run *run)
{
	uint8_t verdicts[RUN_MAX];
	unsigned nb = 0;

	while (nb < run->nb)
		nb += uroce_qpc_recv_burst(&run->host->qpc, &run->pkts[nb], run->nb - nb,
					   &verdicts[nb], pair->now_ns);
	assert_int_equal(nb, run->nb);
	for (unsigned i = 0; i < nb; i++)
		end_frame(run->host, run->pkts[i].owner, verdicts[i]);
	if (nb)
		link_reap(run->host);
	run->nb = 0;
}

/*
 * Handle a frame as the data path does: parse it, verify its ICRC, find its QP, and collect
 * adjacent frames for one host in `run`.
 */
static void
deliver(struct pair *pair, const struct pair_flight *flight, struct run *run)
{
	struct pair_host *host = &pair->host[flight->to];

	if (run->host != host || run->nb == RUN_MAX)
		hand_over(pair, run);
	run->host = host;
	struct uroce_pkt *pkt = &run->pkts[run->nb];
	enum uroce_verdict verdict = uroce_parse(flight->frame, flight->len, pkt);

	if (verdict <= UROCE_VERDICT_DATAGRAM && !uroce_pkt_check_icrc(pkt))
		verdict = UROCE_VERDICT_BAD_ICRC;
	else if (verdict <= UROCE_VERDICT_DATAGRAM && pkt->dest_qpn != host->qpc.qpn)
		verdict = UROCE_VERDICT_NO_QP;
	if (verdict > UROCE_VERDICT_DATAGRAM) {
		end_frame(host, flight->frame, verdict);
		return;
	}
	pkt->owner = flight->frame;
	run->nb++;
}

void
link_deliver(struct pair *pair)
{
	struct run run = { .host = NULL };
	unsigned nb = 0;

	while (nb < pair->nb_flights && pair->flights[nb].due_ns <= pair->now_ns)
		deliver(pair, &pair->flights[nb++], &run);
	hand_over(pair, &run);
	pair->nb_flights -= nb;
	if (nb && pair->nb_flights)
		memmove(pair->flights, pair->flights + nb,
			pair->nb_flights * sizeof(pair->flights[0]));
}

uint64_t
link_next_ns(const struct pair *pair)
{
	return pair->nb_flights ? pair->flights[0].due_ns : UROCE_NEVER;
}

void
link_free(struct pair *pair)
{
	for (unsigned i = 0; i < pair->nb_flights; i++)
		free(pair->flights[i].frame);
	free(pair->flights);
	pair->flights = NULL;
	pair->nb_flights = 0;
	pair->room_flights = 0;
}

/* --- frames that a test forges --- */

static void
put_ext(uint8_t *ext, const struct uroce_opcode *op, const struct pair_pkt *pkt)
{
	const uint32_t dma_len = pkt->dma_len;

	memset(ext, 0, op->ext_len);
	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		*(struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]) =
			(struct uroce_reth){ be64_make(pkt->va), be32_make(pkt->rkey),
					     be32_make(dma_len) };
	if (op->ext_mask & 1 << UROCE_EXT_ATOMICETH)
		*(struct uroce_atomiceth *)(ext + op->ext_off[UROCE_EXT_ATOMICETH]) =
			(struct uroce_atomiceth){ be64_make(pkt->va), be32_make(pkt->rkey),
						  be64_make(pkt->swap_add),
						  be64_make(pkt->compare) };
	if (op->ext_mask & 1 << UROCE_EXT_AETH)
		*(struct uroce_aeth *)(ext + op->ext_off[UROCE_EXT_AETH]) =
			(struct uroce_aeth){ pkt->syndrome, be24_make(pkt->msn) };
	if (op->ext_mask & 1 << UROCE_EXT_ATOMICACKETH)
		*(struct uroce_atomicacketh *)(ext + op->ext_off[UROCE_EXT_ATOMICACKETH]) =
			(struct uroce_atomicacketh){ be64_make(pkt->orig) };
	if (op->ext_mask & 1 << UROCE_EXT_DETH)
		*(struct uroce_deth *)(ext + op->ext_off[UROCE_EXT_DETH]) =
			(struct uroce_deth){ be32_make(pkt->qkey), 0, be24_make(pkt->src_qpn) };
	if (op->ext_mask & 1 << UROCE_EXT_IMMDT)
		memcpy(ext + op->ext_off[UROCE_EXT_IMMDT], &pkt->imm, sizeof(pkt->imm));
	if (op->ext_mask & 1 << UROCE_EXT_IETH)
		*(struct uroce_ieth *)(ext + op->ext_off[UROCE_EXT_IETH]) =
			(struct uroce_ieth){ be32_make(pkt->inv_rkey) };
	if (op->ext_mask & 1 << UROCE_EXT_FETH)
		*(struct uroce_feth *)(ext + op->ext_off[UROCE_EXT_FETH]) =
			(struct uroce_feth){ be32_make(pkt->sel_plt) };
	if (op->ext_mask & 1 << UROCE_EXT_XRCETH)
		*(struct uroce_xrceth *)ext = (struct uroce_xrceth){ 0, be24_make(pkt->srqn) };
}

static void
put_payload(uint8_t *at, const struct pair_pkt *pkt)
{
	for (uint32_t i = 0; i < pkt->payload_len; i++)
		at[i] = pkt->payload ? ((const uint8_t *)pkt->payload)[i] : (uint8_t)(i + 1);
}

struct pair_flight
link_forge(const struct pair *pair, enum pair_side to, const struct pair_pkt *pkt)
{
	const struct uroce_opcode *op = &uroce_opcode_table[pkt->opcode];
	const uint8_t pad_len = (uint8_t)(-pkt->payload_len & 3);
	const uint32_t payload_len = pkt->payload_len + pad_len;
	const struct pair_host *host = &pair->host[to];
	/*
	 * the frame has the source address of a third host: the address of the receiver is used,
	 * because it differs from the peer's address
	 */
	const struct uroce_path *path =
		pkt->is_from_stranger ? &host->path : &pair->host[to == A ? B : A].path;
	struct pair_flight flight = {
		.len = path->hdr_len + op->ext_len + payload_len + UROCE_ICRC_LEN,
		.to = to,
	};
	uint32_t crc;

	flight.frame = calloc(1, flight.len > UROCE_HDR_MAX ? flight.len : UROCE_HDR_MAX);
	assert(flight.frame);
	struct uroce_bth *bth = uroce_path_put(
		path, flight.frame,
		(uint32_t)sizeof(*bth) + op->ext_len + payload_len + UROCE_ICRC_LEN, &crc);
	uint8_t *ext = (uint8_t *)(bth + 1);

	uroce_bth_put(bth, pkt->opcode, pad_len, pkt->pkey ? pkt->pkey : host->qpc.pkey,
		      host->qpc.qpn, pkt->psn);
	if (pkt->is_solicited)
		bth->flags |= UROCE_BTH_SOLICITED;
	if (pkt->has_ack_req)
		bth->ack_req = UROCE_BTH_ACK_REQ;
	put_ext(ext, op, pkt);
	put_payload(ext + op->ext_len, pkt);
	crc = uroce_icrc_bth(crc, (const uint8_t *)bth);
	crc = uroce_crc32(crc, ext, op->ext_len + payload_len);
	uroce_icrc_store(ext + op->ext_len + payload_len, crc);
	return flight;
}

enum uroce_verdict
pair_inject(struct pair *pair, enum pair_side to, const struct pair_pkt *pkt)
{
	const struct pair_flight flight = link_forge(pair, to, pkt);
	struct pair_host *host = &pair->host[to];
	uint64_t before[UROCE_VERDICT_NB];
	struct run run = { .host = NULL };

	memcpy(before, host->nb_verdicts, sizeof(before));
	deliver(pair, &flight, &run);
	hand_over(pair, &run);
	for (unsigned i = 0; i < UROCE_VERDICT_NB; i++) {
		if (host->nb_verdicts[i] != before[i])
			return (enum uroce_verdict)i;
	}
	return UROCE_VERDICT_NB;
}
