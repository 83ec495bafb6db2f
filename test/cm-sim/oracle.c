/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The oracle: the rules that the events of all programs obey, and the rules that all ids obey when
 * nothing happens any more.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/state.h"
#include "world.h"

/* Events that end an attempt to connect. */
#define FAILED (1u << UROCE_CM_EVENT_UNREACHABLE | 1u << UROCE_CM_EVENT_REJECTED)

/* The time for which a side repeats a message: sixteen response timeouts of 4.3 s. */
#define BUDGET_NS (68800 * MSEC)

/*
 * After an MRA a side waits this much longer than BUDGET_NS: the longest service timeout that the
 * library accepts.
 */
#define SERVICE_NS (68800 * MSEC)

/* The length of TIMEWAIT with the ACK timeout that the programs use. */
#define TIMEWAIT_NS (2147 * MSEC)

static uint32_t
number_of(const struct world *world, const struct program *program)
{
	return (uint32_t)(program - world->programs);
}

static uint8_t
lesser_of(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/*
 * Whether an id has the right limits of READs and atomics. Its responder_resources must be the
 * initiator_depth of the peer's message, and its initiator_depth must be the responder_resources of
 * that message. On the active side, the REQ of this side limits both values, too.
 */
static bool
has_depths(const struct uroce_cm_info *info, const struct uroce_cm_msg *peer,
	   const struct ledger_entry *self)
{
	struct uroce_cm_msg req;

	if (peer->attr == UROCE_CM_REQ)
		return info->state != UROCE_CM_STATE_REQ_RCVD ||
		       (info->responder_resources == peer->req.initiator_depth &&
			info->initiator_depth == peer->req.responder_resources);
	if (!self || self->attr != UROCE_CM_REQ)
		return true;
	if (uroce_cm_parse(self->mad, &req) != UROCE_CM_VERDICT_ACCEPTED)
		abort();
	return info->responder_resources ==
		       lesser_of(req.req.responder_resources, peer->rep.initiator_depth) &&
	       info->initiator_depth ==
		       lesser_of(req.req.initiator_depth, peer->rep.responder_resources);
}

/* Check that an id has the QPNs, PSNs and comm ids that both sides have sent. */
static void
check_ends(struct world *world, const struct program *program)
{
	const uint32_t who = number_of(world, program);
	struct uroce_cm_info info;
	struct uroce_cm_msg msg;
	const struct ledger_entry *peer;
	const struct ledger_entry *self;

	uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
	peer = ledger_find(world, program->peer, program->is_active ? UROCE_CM_REP : UROCE_CM_REQ,
			   info.remote_comm_id);
	if (!peer || peer->qpn != info.remote_qpn || peer->psn != info.sq_psn) {
		world_blame(world, "bound to the wrong QP", who);
		return;
	}
	if (program->is_active && peer->remote_comm_id != info.local_comm_id)
		world_blame(world, "bound to the QP of another connection", who);
	if (uroce_cm_parse(peer->mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		abort();
	self = ledger_find_end(world, program->host, info.local_comm_id);
	if (!has_depths(&info, &msg, self))
		world_blame(world, "the depths of READs are not crossed over", who);
	if (self &&
	    (self->qpn != info.local_qpn || self->qpn != program->qpn || self->psn != info.rq_psn))
		world_blame(world, "the peer was told another QP", who);
}

/* Check that the private data of an event is that of the peer's message. */
static void
check_private(struct world *world, const struct program *program,
	      const struct uroce_cm_event *event)
{
	const bool is_request = event->kind == UROCE_CM_EVENT_CONNECT_REQUEST;
	struct uroce_cm_info info;
	struct uroce_cm_msg msg;
	const struct ledger_entry *peer;

	uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
	peer = ledger_find(world, program->peer, is_request ? UROCE_CM_REQ : UROCE_CM_REP,
			   info.remote_comm_id);
	if (!peer || uroce_cm_parse(peer->mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		return;
	if (memcmp(event->private_data,
		   is_request ? msg.req.private_data + 36 : msg.rep.private_data,
		   is_request ? UROCE_CM_REQ_USER_LEN : UROCE_CM_REP_PRIVATE_LEN) != 0)
		world_blame(world, "the private data is not the peer's", number_of(world, program));
}

/*
 * Check that a request reaches the listener that covers its address, is reported only once, and was
 * not withdrawn.
 */
static void
check_request(struct world *world, const struct program *program,
	      const struct uroce_cm_event *event)
{
	const struct host *host = &world->hosts[program->host];
	const uint32_t who = number_of(world, program);
	const int which = listen_expected(host, program->service, program->version);
	struct uroce_cm_info info;

	if (which < 0 || event->listener != host->listeners[program->service][which])
		world_blame(world, "a request reaches the wrong listener", who);
	uroce_cme_query(host->cm, program->id, &info);
	if (info.state != UROCE_CM_STATE_REQ_RCVD && info.state != UROCE_CM_STATE_SIDR_REQ_RCVD)
		world_blame(world, "a request that was withdrawn", who);
	for (uint32_t i = 0; i < world->nb_programs; i++) {
		const struct program *other = &world->programs[i];
		struct uroce_cm_info known;

		if (other == program || other->is_gone || other->host != program->host ||
		    other->is_active || other->peer != program->peer ||
		    other->version != program->version)
			continue;
		uroce_cme_query(host->cm, other->id, &known);
		if (known.remote_comm_id == info.remote_comm_id &&
		    known.is_datagram == info.is_datagram && known.state != UROCE_CM_STATE_CLOSED &&
		    known.state != UROCE_CM_STATE_TIMEWAIT)
			world_blame(world, "a request is reported twice", who);
	}
}

/*
 * Check an event "stale connection" of a passive side. If this side has sent no REP, the peer must
 * have used its QP for another connection. If the peer has rejected the REP, this host must have
 * used its own QP for another connection.
 */
static void
check_stale(struct world *world, const struct program *program, const struct uroce_cm_info *info)
{
	const bool has_two = info->local_qpn
				     ? ledger_has_two(world, program->host, program->peer,
						      info->local_qpn, info->local_comm_id)
				     : ledger_has_two(world, program->peer, program->host,
						      info->remote_qpn, info->remote_comm_id);

	if (!program->is_active && !has_two)
		world_blame(world, "superseded by nothing", number_of(world, program));
}

/* Check that a connection or an attempt ends only by a message of the peer, or by a timeout. */
static void
check_cause(struct world *world, const struct program *program, const struct uroce_cm_event *event)
{
	struct uroce_cm_info info;
	const struct ledger_entry *self;

	if (event->status == -ETIMEDOUT || program->is_datagram ||
	    event->status == UROCE_CM_REASON_TIMEOUT)
		return;
	if (event->kind != UROCE_CM_EVENT_DISCONNECTED && event->kind != UROCE_CM_EVENT_REJECTED)
		return;
	uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
	if (event->status == UROCE_CM_REASON_STALE_CONN) {
		check_stale(world, program, &info);
		return;
	}
	self = ledger_find_end(world, program->host, info.local_comm_id);
	if (self && !self->is_ended_by_peer)
		world_blame(world, "ended without the peer", number_of(world, program));
}

/*
 * Check an event with the status -ETIMEDOUT: the attempt must not take too long, and a peer that
 * was able to answer must not time out.
 */
static void
check_timeout(struct world *world, struct program *program, const struct uroce_cm_event *event)
{
	const struct host *peer = &world->hosts[program->peer];
	const uint64_t now_ns = world->now_ns;
	const uint64_t longest_ns = program->nb_attempts * (BUDGET_NS + SERVICE_NS) + 2000 * MSEC;
	const bool was_away = world->outage_begin_ns < world->outage_end_ns &&
			      world->outage_end_ns + BUDGET_NS > now_ns &&
			      world->outage_begin_ns < now_ns;

	if (event->status != -ETIMEDOUT)
		return;
	program->has_timed_out = true;
	if (event->kind == UROCE_CM_EVENT_UNREACHABLE && program->is_active &&
	    !program->is_datagram && now_ns - program->began_ns > longest_ns)
		world_blame(world, "an attempt takes too long", number_of(world, program));
	if (was_away || peer->is_foreign || peer->is_slow || world->is_hard)
		return;
	/*
	 * In the last phase of a world no program answers a request, so a request may time out. The
	 * engines still confirm DREQs without their programs.
	 */
	if (world->is_ending && event->kind == UROCE_CM_EVENT_UNREACHABLE)
		return;
	world_blame(world, "a peer that is there is not heard", number_of(world, program));
}

/*
 * Check a refusal of a request by the engine of the peer. The engine must not report an existing
 * service as unknown. On a network without loss, it must not report a stale connection.
 */
static void
check_refusal(struct world *world, const struct program *program,
	      const struct uroce_cm_event *event)
{
	const struct host *peer = &world->hosts[program->peer];
	const bool has_no_listener =
		program->is_datagram ? event->kind == UROCE_CM_EVENT_UNREACHABLE &&
					       event->status == UROCE_CM_SIDR_UNSUPPORTED
				     : event->kind == UROCE_CM_EVENT_REJECTED &&
					       event->status == UROCE_CM_REASON_INVALID_SERVICE_ID;

	if (!program->is_active)
		return;
	if (has_no_listener && listen_expected(peer, program->service, program->version) >= 0)
		world_blame(world, "a service that exists is not found", number_of(world, program));
	if (event->kind == UROCE_CM_EVENT_REJECTED && world->is_clean && !peer->is_foreign &&
	    !peer->is_slow && event->status == UROCE_CM_REASON_STALE_CONN)
		world_blame(world, "stale for long", number_of(world, program));
}

/* Check that a QP number which a peer knows does not become free before TIMEWAIT has passed. */
static void
check_quarantine(struct world *world, const struct program *program,
		 const struct uroce_cm_event *event)
{
	const struct host *host = &world->hosts[program->host];
	const bool is_end = event->kind == UROCE_CM_EVENT_DISCONNECTED ||
			    (event->kind == UROCE_CM_EVENT_REJECTED && !program->is_active);

	if (is_end && program->qpn && !program->is_datagram && !host->is_slow &&
	    uroce_cme_qpn_busy_until(host->cm, program->qpn) < world->now_ns + TIMEWAIT_NS)
		world_blame(world, "a QP has no quarantine", number_of(world, program));
}

void
oracle_check_event(struct world *world, struct program *program, const struct uroce_cm_event *event)
{
	const uint32_t who = number_of(world, program);
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
	if (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST)
		check_request(world, program, event);
	check_cause(world, program, event);
	check_timeout(world, program, event);
	check_refusal(world, program, event);
	check_quarantine(world, program, event);
	if (!program->is_datagram && (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST ||
				      event->kind == UROCE_CM_EVENT_CONNECT_RESPONSE)) {
		check_ends(world, program);
		check_private(world, program, event);
	}
	if (!program->is_datagram && event->kind == UROCE_CM_EVENT_ESTABLISHED)
		check_ends(world, program);
}

/* Find the program of a host whose id has a comm id. @return NULL if no program has such an id */
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

/* One end of a connection that is established. */
struct end {
	uint8_t host;
	uint8_t peer;
	uint32_t comm_id;
	uint32_t remote_comm_id;
	uint32_t qpn;
	uint32_t remote_qpn;
};

/*
 * Find the end of a connection by its comm id.
 * @return false if no established end has the comm id
 */
static bool
find_end(struct world *world, uint8_t host, uint32_t comm_id, struct end *end)
{
	struct uroce_cm_info info;
	const struct program *program;

	if (world->hosts[host].is_foreign) {
		const struct foreign_id *id = foreign_find(&world->hosts[host].foreign, comm_id);

		if (!id || id->state != FOREIGN_ESTABLISHED)
			return false;
		*end =
			(struct end){ host,          id->peer, comm_id,
				      id->remote_id, id->qpn,  id->remote_qpn };
		return true;
	}
	program = find_program(world, host, comm_id);
	if (!program)
		return false;
	uroce_cme_query(world->hosts[host].cm, program->id, &info);
	*end = (struct end){ host,           program->peer,  comm_id, info.remote_comm_id,
			     info.local_qpn, info.remote_qpn };
	return info.state == UROCE_CM_STATE_ESTABLISHED;
}

/*
 * Check that the two ends of a connection agree: if one end is established, the end at its peer
 * must be established, too, with the same comm ids and QP numbers.
 */
static void
check_whole(struct world *world, const struct end *end, uint32_t who)
{
	const struct ledger_entry *self = ledger_find_end(world, end->host, end->comm_id);
	const struct ledger_entry *peer = ledger_find_end(world, end->peer, end->remote_comm_id);
	struct end other;

	/*
	 * Skip the check if the host of the peer has restarted, or if the network has lost a REJ or
	 * an RTU that a foreign host does not repeat.
	 */
	if (!peer || peer->life != world->hosts[end->peer].life || peer->is_excused ||
	    (self && self->is_excused))
		return;
	if (find_end(world, end->peer, end->remote_comm_id, &other) &&
	    other.remote_comm_id == end->comm_id && other.remote_qpn == end->qpn &&
	    other.qpn == end->remote_qpn)
		return;
	if (world->is_traced)
		printf("host %u is connected to host %u: %08x %08x\n", end->host, end->peer,
		       end->comm_id, end->remote_comm_id);
	world_blame(world,
		    world->hosts[end->host].is_foreign ? "half open at a foreign host"
						       : "half open",
		    who);
}

void
oracle_check_quiet(struct world *world)
{
	struct end end;

	for (uint32_t i = 0; i < world->nb_programs; i++) {
		struct program *program = &world->programs[i];
		struct uroce_cm_info info;

		if (program->is_gone)
			continue;
		uroce_cme_query(world->hosts[program->host].cm, program->id, &info);
		if (uroce_cm_state_timer(info.state) != UROCE_CM_TIMER_NONE)
			world_blame(world, "a state with a timer does not end", i);
		if (!world->is_hard && find_end(world, program->host, info.local_comm_id, &end))
			check_whole(world, &end, i);
	}
	for (uint8_t host = 0; host < world->nb_hosts; host++) {
		if (!world->hosts[host].is_foreign || world->is_hard)
			continue;
		for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++)
			if (find_end(world, host, world->hosts[host].foreign.ids[i].local_id, &end))
				check_whole(world, &end, i);
	}
}

void
oracle_check_end(struct world *world)
{
	for (uint8_t i = 0; i < world->nb_hosts; i++) {
		const struct host *host = &world->hosts[i];
		uint32_t nb = 0;
		uint32_t id;

		if (host->is_foreign)
			continue;
		while (!uroce_cme_create(host->cm, UROCE_CM_PS_TCP, false, 0, &id))
			nb++;
		if (nb != host->max_ids - host->nb_listeners)
			world_blame(world, "ids are left", i);
	}
}

void
oracle_check_no_id(struct world *world, uint8_t host)
{
	uint32_t nb = 0;

	/*
	 * Count also the programs whose id was destroyed: a destroyed id stays in use for a short
	 * while.
	 */
	for (uint32_t i = 0; i < world->nb_programs; i++)
		nb += world->programs[i].host == host && world->programs[i].is_active &&
		      world->programs[i].life == world->hosts[host].life;
	if (nb < world->hosts[host].max_ids / 8)
		world_blame(world, "peers have taken the last ids", host);
}
