/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The oracle: the rules that every world keeps.
 */

#include <errno.h>
#include <stdlib.h>

#include "cm/service_id.h"
#include "cm/state.h"
#include "world.h"

/* Events that end an attempt. */
#define FAILED (1u << UROCE_CM_EVENT_UNREACHABLE | 1u << UROCE_CM_EVENT_REJECTED)

static struct ledger_entry *
find_entry(struct world *world, uint8_t host, uint32_t comm_id, bool is_req)
{
	for (uint32_t i = world->nb_ledger; i-- > 0;) {
		struct ledger_entry *entry = &world->ledger[i];

		if (entry->host == host && entry->comm_id == comm_id && entry->is_req == is_req)
			return entry;
	}
	return NULL;
}

void
oracle_note(struct world *world, uint8_t host, const struct uroce_cm_msg *msg)
{
	const bool is_req = msg->attr == UROCE_CM_REQ;
	struct ledger_entry entry = { .host = host,
				      .is_req = is_req,
				      .life = world->hosts[host].life };
	const struct ledger_entry *known;

	if (is_req) {
		entry.comm_id = msg->req.local_comm_id;
		entry.qpn = msg->req.local_qpn;
		entry.psn = msg->req.starting_psn;
	} else if (msg->attr == UROCE_CM_REP) {
		entry.comm_id = msg->rep.local_comm_id;
		entry.remote_comm_id = msg->rep.remote_comm_id;
		entry.qpn = msg->rep.local_qpn;
		entry.psn = msg->rep.starting_psn;
	} else {
		return;
	}
	known = find_entry(world, host, entry.comm_id, is_req);
	if (known &&
	    (known->qpn != entry.qpn || known->psn != entry.psn || known->life != entry.life))
		world_blame(world, "a repetition differs from its message", host);
	if (known)
		return;
	if (world->nb_ledger == MAX_LEDGER)
		abort();
	world->ledger[world->nb_ledger++] = entry;
}

/* What an id knows of its peer is what the peer has said. */
static void
check_peer(struct world *world, const struct program *program)
{
	const uint32_t who = (uint32_t)(program - world->programs);
	struct uroce_cm_info info;
	const struct ledger_entry *peer;

	uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
	peer = find_entry(world, program->peer, info.remote_comm_id, !program->is_active);
	if (!peer || peer->qpn != info.remote_qpn || peer->psn != info.rq_psn)
		world_blame(world, "bound to the wrong QP", who);
	else if (program->is_active && peer->remote_comm_id != info.local_comm_id)
		world_blame(world, "bound to the QP of another connection", who);
}

void
oracle_check_event(struct world *world, struct program *program, const struct uroce_cm_event *event)
{
	const uint32_t who = (uint32_t)(program - world->programs);
	const uint32_t bit = 1u << event->kind;

	if (program->events & bit)
		world_blame(world, "an event occurs twice", who);
	if (program->events >= 2 * bit)
		world_blame(world, "events in the wrong order", who);
	if (event->kind == UROCE_CM_EVENT_ESTABLISHED && program->events & FAILED)
		world_blame(world, "established after a failure", who);
	if (program->is_active && !program->is_datagram &&
	    event->kind == UROCE_CM_EVENT_ESTABLISHED)
		world_blame(world, "the active side is told what it did", who);
	program->events |= (uint16_t)bit;
	if (event->status == -ETIMEDOUT)
		program->has_timed_out = true;
	if (!program->is_datagram && (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST ||
				      event->kind == UROCE_CM_EVENT_CONNECT_RESPONSE ||
				      event->kind == UROCE_CM_EVENT_ESTABLISHED))
		check_peer(world, program);
}

/* The program whose id has this comm id; NULL: it is gone. */
static struct program *
find_program(struct world *world, uint8_t host, uint32_t comm_id)
{
	for (uint32_t i = 0; i < world->nb_programs; i++) {
		struct program *program = &world->programs[i];
		struct uroce_cm_info info;

		if (program->is_gone || program->host != host)
			continue;
		uroce_cme_query(world->hosts[host].cm, program->id, &info);
		if (info.local_comm_id == comm_id)
			return program;
	}
	return NULL;
}

/* Whether the peer of a connection has died since. */
static bool
has_peer_died(struct world *world, const struct program *program, const struct uroce_cm_info *info)
{
	const struct ledger_entry *peer =
		find_entry(world, program->peer, info->remote_comm_id, !program->is_active);

	return !peer || peer->life != world->hosts[program->peer].life;
}

void
oracle_check_quiet(struct world *world)
{
	for (uint32_t i = 0; i < world->nb_programs; i++) {
		struct program *program = &world->programs[i];
		struct uroce_cm_info info;
		struct uroce_cm_info other = { 0 };
		struct program *peer;

		if (program->is_gone)
			continue;
		uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
		if (uroce_cm_state_timer(info.state) != UROCE_CM_TIMER_NONE)
			world_blame(world, "a state with a timer does not end", i);
		if (info.state != UROCE_CM_STATE_ESTABLISHED || world->is_hard ||
		    has_peer_died(world, program, &info))
			continue;
		peer = find_program(world, program->peer, info.remote_comm_id);
		if (peer)
			uroce_cme_query(world->hosts[peer->host].cm, peer->id, &other);
		if (!peer || other.state != UROCE_CM_STATE_ESTABLISHED ||
		    other.remote_comm_id != info.local_comm_id ||
		    other.remote_qpn != info.local_qpn)
			world_blame(world, "half open", i);
	}
}

void
oracle_check_end(struct world *world)
{
	/* four listeners are left on each of the hosts, which have 256 ids */
	for (uint8_t i = 0; i < world->nb_hosts; i++) {
		uint32_t nb = 0;
		uint32_t id;

		while (!uroce_cme_create(world->hosts[i].cm, UROCE_CM_PS_TCP, false, 0, &id))
			nb++;
		if (nb != 256 - NB_PORTS - 1)
			world_blame(world, "ids are left", i);
	}
}
