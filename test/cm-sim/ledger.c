/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ledger: the messages that each host has sent. From the ledger the oracle learns which values
 * an id must have got from its peer, and whether an event has a cause. Each new message is checked
 * against the ledger: a repetition must be equal to the message that it repeats, and must come
 * neither too early nor too often, and the reason of a REJ must be true.
 */

#include <stdlib.h>
#include <string.h>

#include "cm/reason.h"
#include "cm/state.h"
#include "world.h"

/*
 * The largest number of transmissions of a REQ or a SIDR_REQ: the first one, and fifteen
 * repetitions.
 */
#define MAX_TRANSMISSIONS 16

/*
 * The longest time until a DREQ is confirmed: the user has 100 ms to give private data for the
 * DREP.
 */
#define DREP_NS (101 * MSEC)

/*
 * A DREP that is repeated within this time must not differ. TIMEWAIT takes 2.147 s, and begins anew
 * with each DREP.
 */
#define TIMEWAIT_NS (2100 * MSEC)

struct ledger_entry *
ledger_find(struct world *world, uint8_t host, unsigned attr, uint32_t comm_id)
{
	for (uint32_t i = world->nb_ledger; i-- > 0;) {
		struct ledger_entry *entry = &world->ledger[i];

		if (entry->comm_id == comm_id && entry->host == host && entry->attr == attr)
			return entry;
	}
	return NULL;
}

struct ledger_entry *
ledger_find_end(struct world *world, uint8_t host, uint32_t comm_id)
{
	struct ledger_entry *entry = ledger_find(world, host, UROCE_CM_REQ, comm_id);

	return entry ? entry : ledger_find(world, host, UROCE_CM_REP, comm_id);
}

bool
ledger_has_two(const struct world *world, uint8_t host, uint8_t to, uint32_t qpn, uint32_t comm_id)
{
	for (uint32_t i = 0; i < world->nb_ledger; i++) {
		const struct ledger_entry *entry = &world->ledger[i];

		if (entry->host == host && entry->to == to && entry->qpn == qpn &&
		    entry->comm_id != comm_id)
			return true;
	}
	return false;
}

static struct ledger_entry
entry_of(const struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_msg *msg,
	 const uint8_t *mad)
{
	struct ledger_entry entry = {
		.host = host, .to = to, .attr = (uint8_t)msg->attr, .life = world->hosts[host].life
	};

	if (msg->attr == UROCE_CM_REQ) {
		entry.comm_id = msg->req.local_comm_id;
		entry.qpn = msg->req.local_qpn;
		entry.psn = msg->req.starting_psn;
	} else if (msg->attr == UROCE_CM_SIDR_REQ) {
		entry.comm_id = msg->sidr_req.request_id;
	} else {
		/* the other messages that the ledger keeps begin with both comm ids */
		entry.comm_id = msg->rep.local_comm_id;
		entry.remote_comm_id = msg->rep.remote_comm_id;
	}
	if (msg->attr == UROCE_CM_REP) {
		entry.qpn = msg->rep.local_qpn;
		entry.psn = msg->rep.starting_psn;
	}
	memcpy(entry.mad, mad, sizeof(entry.mad));
	return entry;
}

/* Find the program that uses a QP of a host as the active side. */
static struct program *
find_active(struct world *world, uint8_t host, uint32_t qpn)
{
	for (uint32_t i = 0; i < world->nb_programs; i++) {
		struct program *program = &world->programs[i];

		if (!program->is_gone && program->is_active && program->host == host &&
		    program->qpn == qpn)
			return program;
	}
	return NULL;
}

/*
 * Check a REQ with a new comm id: the first REQ of a program, or another attempt after a REJ "stale
 * connection".
 */
static void
check_attempt(struct world *world, const struct ledger_entry *entry)
{
	struct program *program = find_active(world, entry->host, entry->qpn);

	if (!program)
		return;
	if (++program->nb_attempts > 4)
		world_blame(world, "attempts without end", entry->host);
	if (program->stale_ns && world->now_ns - program->stale_ns > 1000 * MSEC)
		world_blame(world, "the next attempt comes late", entry->host);
	program->stale_ns = 0;
}

/*
 * Check a repetition: it must be equal to the message that it repeats, and come neither too early
 * nor too often.
 */
static void
check_repetition(struct world *world, struct ledger_entry *known, const struct ledger_entry *entry)
{
	const bool is_drep = entry->attr == UROCE_CM_DREP;
	/*
	 * The header of a DREP is not compared. A DREP has the TID of the DREQ that it confirms,
	 * and both sides of a connection may send a DREQ with different TIDs.
	 */
	const unsigned from = is_drep ? UROCE_MAD_HDR_LEN : 0;
	const uint64_t interval_ns = world->now_ns - known->last_ns;
	/*
	 * The number of repetitions of a DREQ is not limited, because each REQ that names the QP of
	 * the connection causes one more.
	 */
	const bool is_request = entry->attr == UROCE_CM_REQ || entry->attr == UROCE_CM_SIDR_REQ;
	const bool has_mra = world->hosts[entry->to].is_foreign;

	/*
	 * a DREP may differ after TIMEWAIT, because the id has forgotten its private data, and if
	 * DREQs are forged, because the DREP for a forged DREQ has no private data
	 */
	if ((!is_drep || (interval_ns < TIMEWAIT_NS && !world->forge_ppm)) &&
	    memcmp(known->mad + from, entry->mad + from, UROCE_MAD_LEN - from) != 0)
		world_blame(world, "a repetition differs from its message", entry->host);
	if (known->life != entry->life)
		world_blame(world, "a comm id of a former life", entry->host);
	known->nb++;
	if (is_request && known->nb > MAX_TRANSMISSIONS)
		world_blame(world, "repeated too often", entry->host);
	/*
	 * each interval is twice as long as the one before, until it is an equal share of the time
	 * that is left for repetitions
	 */
	if (is_request && !has_mra && known->interval_ns && interval_ns < 4000 * MSEC &&
	    interval_ns * 10 < known->interval_ns * 19)
		world_blame(world, "the interval is not doubled", entry->host);
	memcpy(known->mad, entry->mad, sizeof(known->mad));
	known->interval_ns = interval_ns;
	known->last_ns = world->now_ns;
}

/*
 * Record that the end of a connection at host `to` is allowed to end, because its peer has sent a
 * REJ, a DREQ or a DREP.
 */
static void
note_end(struct world *world, uint8_t to, uint32_t comm_id)
{
	struct ledger_entry *entry = ledger_find_end(world, to, comm_id);

	if (entry)
		entry->is_ended_by_peer = true;
}

static bool
has_answered(const struct world *world, uint8_t host, uint8_t peer, uint32_t comm_id)
{
	for (uint32_t i = 0; i < world->nb_ledger; i++) {
		const struct ledger_entry *entry = &world->ledger[i];

		if (entry->attr == UROCE_CM_REP && entry->host == host && entry->to == peer &&
		    entry->remote_comm_id == comm_id)
			return true;
	}
	return false;
}

/*
 * Whether a REJ "stale connection" is true: the sender of the rejected message has named the QP of
 * the message for another connection, too.
 */
static bool
is_stale(struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_rej *rej)
{
	const unsigned attr = rej->about == UROCE_CM_ABOUT_REQ ? UROCE_CM_REQ : UROCE_CM_REP;
	const struct ledger_entry *msg = ledger_find(world, to, attr, rej->remote_comm_id);

	if (!msg || ledger_has_two(world, to, host, msg->qpn, msg->comm_id))
		return true;
	/* the REJ is also true for a late duplicate of a REQ whose connection has ended */
	return attr == UROCE_CM_REQ && has_answered(world, host, to, msg->comm_id);
}

/* Check that the reason of a REJ is true, if the engine has chosen the reason without its user. */
static void
check_reason(struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_rej *rej)
{
	uint32_t nb_programs = 0;

	if (rej->reason == UROCE_CM_REASON_STALE_CONN && !is_stale(world, host, to, rej))
		world_blame(world, "stale without an older connection", host);
	for (uint32_t i = 0; i < world->nb_programs; i++)
		nb_programs += world->programs[i].host == host &&
			       world->programs[i].life == world->hosts[host].life;
	if (rej->about == UROCE_CM_ABOUT_REQ && rej->reason == UROCE_CM_REASON_NO_RESOURCES &&
	    !world->hosts[host].is_slow && nb_programs < world->hosts[host].max_ids / 4)
		world_blame(world, "refused although there is room", host);
}

void
ledger_note(struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_msg *msg,
	    const uint8_t *mad)
{
	const struct ledger_entry entry = entry_of(world, host, to, msg, mad);
	const bool is_foreign = world->hosts[host].is_foreign;
	struct ledger_entry *known;

	if (msg->attr == UROCE_CM_REJ || msg->attr == UROCE_CM_DREQ || msg->attr == UROCE_CM_DREP)
		note_end(world, to, entry.remote_comm_id);
	if (msg->attr == UROCE_CM_DREP) {
		struct ledger_entry *dreq =
			ledger_find(world, to, UROCE_CM_DREQ, entry.remote_comm_id);

		if (dreq)
			dreq->arrived_ns = 0;
	}
	if (msg->attr == UROCE_CM_REJ && !is_foreign)
		check_reason(world, host, to, &msg->rej);
	if (msg->attr == UROCE_CM_REJ || msg->attr == UROCE_CM_MRA ||
	    msg->attr == UROCE_CM_SIDR_REP)
		return;
	known = ledger_find(world, host, msg->attr, entry.comm_id);
	/*
	 * If the DREQ names no id, the DREP copies the comm ids of the DREQ. These may be the comm
	 * ids of an id that existed before a restart of the host.
	 */
	if (known && msg->attr == UROCE_CM_DREP &&
	    (known->remote_comm_id != entry.remote_comm_id || known->life != entry.life))
		known = NULL;
	if (known && is_foreign)
		return;
	if (known) {
		check_repetition(world, known, &entry);
		return;
	}
	if (world->nb_ledger == MAX_LEDGER)
		abort();
	world->ledger[world->nb_ledger] = entry;
	world->ledger[world->nb_ledger].nb = 1;
	world->ledger[world->nb_ledger++].last_ns = world->now_ns;
	if (msg->attr == UROCE_CM_REQ && !is_foreign)
		check_attempt(world, &entry);
}

void
ledger_note_loss(struct world *world, uint8_t from, uint8_t to, const struct uroce_cm_msg *msg)
{
	struct ledger_entry *ends[2];

	if (!world->hosts[from].is_foreign && !world->hosts[to].is_foreign)
		return;
	if (msg->attr != UROCE_CM_REJ && msg->attr != UROCE_CM_RTU)
		return;
	ends[0] = ledger_find_end(world, from, msg->rtu.local_comm_id);
	ends[1] = ledger_find_end(world, to, msg->rtu.remote_comm_id);
	for (unsigned i = 0; i < 2; i++)
		if (ends[i])
			ends[i]->is_excused = true;
}

/*
 * Check a DREQ that arrives. If an earlier transmission of the DREQ is not confirmed yet, that
 * transmission must have arrived at most DREP_NS ago.
 */
static void
note_dreq_arrival(struct world *world, uint8_t host, uint8_t from, const struct uroce_cm_dreq *dreq)
{
	struct ledger_entry *entry = ledger_find(world, from, UROCE_CM_DREQ, dreq->local_comm_id);

	if (!entry || dreq->remote_qpn == FORGED_QPN)
		return;
	if (entry->arrived_ns > world->hosts[host].died_ns &&
	    world->now_ns - entry->arrived_ns > DREP_NS)
		world_blame(world, "a DREQ is not confirmed", host);
	if (entry->arrived_ns <= world->hosts[host].died_ns)
		entry->arrived_ns = world->now_ns;
}

/*
 * Record the time at which a REJ "stale connection" arrives for the current attempt of a program.
 */
static void
note_stale_arrival(struct world *world, uint8_t host, const struct uroce_cm_rej *rej)
{
	const struct ledger_entry *req =
		ledger_find(world, host, UROCE_CM_REQ, rej->remote_comm_id);
	struct program *program = req ? find_active(world, host, req->qpn) : NULL;
	struct uroce_cm_info info;

	if (!program)
		return;
	uroce_cme_query(world->hosts[host].cm, program->id, &info);
	if (info.local_comm_id == req->comm_id && info.state == UROCE_CM_STATE_REQ_SENT)
		program->stale_ns = world->now_ns;
}

void
ledger_note_arrival(struct world *world, uint8_t host, uint8_t from, const struct uroce_cm_msg *msg)
{
	if (msg->attr == UROCE_CM_DREQ)
		note_dreq_arrival(world, host, from, &msg->dreq);
	if (msg->attr == UROCE_CM_REJ && msg->rej.reason == UROCE_CM_REASON_STALE_CONN)
		note_stale_arrival(world, host, &msg->rej);
}
