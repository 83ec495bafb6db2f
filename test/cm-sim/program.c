/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The programs of the hosts: how they connect, answer, disconnect, and give up.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/state.h"
#include "world.h"

static const char *const kind_names[UROCE_CM_EVENT_NB] = {
	"CONNECT_REQUEST", "CONNECT_RESPONSE", "UNREACHABLE",   "REJECTED",
	"ESTABLISHED",     "DISCONNECTED",     "TIMEWAIT_EXIT",
};

uint32_t
program_draw_qpn(struct world *world, uint8_t host)
{
	for (unsigned i = 0; i < 1000; i++) {
		const uint32_t qpn = rng_between(&world->rng, 2, world->nb_qpns);
		bool is_used = uroce_cme_qpn_busy_until(world->hosts[host].cm, qpn) != 0;

		for (uint32_t j = 0; j < world->nb_programs; j++)
			is_used |= !world->programs[j].is_gone && world->programs[j].host == host &&
				   world->programs[j].qpn == qpn;
		if (!is_used)
			return qpn;
	}
	return 0;
}

static struct program *
new_program(struct world *world, uint8_t host, uint32_t id)
{
	struct program *program = &world->programs[world->nb_programs];

	if (world->nb_programs == MAX_PROGRAMS)
		abort();
	*program = (struct program){
		.host = host, .life = world->hosts[host].life, .id = id, .began_ns = world->now_ns
	};
	uroce_cme_set_user(world->hosts[host].cm, id, world->nb_programs++);
	return program;
}

static uint32_t
number_of(const struct world *world, const struct program *program)
{
	return (uint32_t)(program - world->programs);
}

static void
plan_action(struct world *world, const struct program *program)
{
	world_plan(world, world_draw_delay(world), HAPPENS_ACTION, number_of(world, program));
}

/* Draw the parameters of a call that connects or accepts. The private data is `data`. */
static struct uroce_cm_param
draw_param(struct world *world, const struct program *program, uint64_t *data)
{
	*data = rng_next(&world->rng);
	return (struct uroce_cm_param){
		.qpn = program->qpn,
		.mtu_code = 3,
		.responder_resources = (uint8_t)rng_below(&world->rng, 17),
		.initiator_depth = (uint8_t)rng_below(&world->rng, 17),
		.retry_count = 7,
		.private_len = sizeof(*data),
		.private_data = data,
	};
}

void
program_connect(struct world *world, uint8_t host)
{
	struct host *from = &world->hosts[host];
	const uint8_t peer = (uint8_t)rng_below(&world->rng, world->nb_hosts);
	const uint8_t version = (uint8_t)rng_below(&world->rng, NB_VERSIONS);
	const bool is_datagram = rng_one_in(&world->rng, 8);
	struct uroce_cm_addr remote = world->hosts[peer].ip[version];
	struct uroce_cm_av av = { .hop_limit = 64 };
	uint64_t data;
	struct uroce_cm_param param;
	struct program *program;
	uint32_t id;

	if (uroce_cme_create(from->cm, is_datagram ? UROCE_CM_PS_UDP : UROCE_CM_PS_TCP, is_datagram,
			     0, &id)) {
		oracle_check_no_id(world, host);
		return;
	}
	program = new_program(world, host, id);
	program->is_active = true;
	program->is_datagram = is_datagram;
	program->peer = peer;
	program->version = version;
	program->qpn = program_draw_qpn(world, host);
	if (!program->qpn) {
		program_destroy(world, program);
		return;
	}
	param = draw_param(world, program, &data);
	/* one program of ten connects to the port of NB_SERVICES, at which no service listens */
	program->service = is_datagram ? NB_PORTS : (uint8_t)rng_below(&world->rng, NB_PORTS);
	if (rng_one_in(&world->rng, 10))
		program->service = NB_SERVICES;
	remote.port = (uint16_t)(FIRST_PORT + program->service);
	memcpy(av.local_gid, from->gid[version], 16);
	memcpy(av.remote_gid, world->hosts[peer].gid[version], 16);
	if (uroce_cme_bind(from->cm, id, &from->ip[version], false, false) ||
	    uroce_cme_connect(from->cm, id, &remote, &av, &param, world->now_ns))
		abort();
	world->nb_connects++;
	if (rng_one_in(&world->rng, 6))
		world_plan(world, world_draw_delay(world), HAPPENS_GIVE_UP,
			   number_of(world, program));
}

void
program_destroy(struct world *world, struct program *program)
{
	if (program->is_gone)
		return;
	program->is_gone = true;
	uroce_cme_destroy(world->hosts[program->host].cm, program->id, world->now_ns);
}

void
program_notify(struct world *world, uint8_t host, uint32_t comm_id)
{
	if (world->hosts[host].is_foreign) {
		foreign_notify(world, host, comm_id);
		return;
	}
	for (uint32_t i = 0; i < world->nb_programs; i++) {
		struct program *peer = &world->programs[i];
		struct uroce_cm_info other;

		if (peer->is_gone || peer->is_active || peer->host != host)
			continue;
		uroce_cme_query(world->hosts[peer->host].cm, peer->id, &other);
		if (other.state == UROCE_CM_STATE_REP_SENT && other.local_comm_id == comm_id)
			(void)uroce_cme_establish(world->hosts[peer->host].cm, peer->id, NULL, 0,
						  world->now_ns);
	}
}

static void
answer_request(struct world *world, struct program *program)
{
	struct uroce_cm *cm = world->hosts[program->host].cm;
	const uint32_t choice = rng_below(&world->rng, 100);
	struct uroce_cm_param param;
	uint64_t data;

	if (choice < 80) {
		program->qpn = program_draw_qpn(world, program->host);
		param = draw_param(world, program, &data);
		if (!program->qpn || uroce_cme_accept(cm, program->id, &param, world->now_ns))
			program_destroy(world, program);
		else if (rng_one_in(&world->rng, 8))
			world_plan(world, world_draw_delay(world), HAPPENS_GIVE_UP,
				   number_of(world, program));
	} else if (choice < 90) {
		(void)uroce_cme_reject(cm, program->id, UROCE_CM_REASON_CONSUMER_DEFINED, "no", 2,
				       world->now_ns);
		program_destroy(world, program);
	} else if (choice < 97) {
		program_destroy(world, program);
	} else {
		plan_action(world, program);
	}
}

static void
answer_response(struct world *world, struct program *program, const struct uroce_cm_info *info)
{
	struct uroce_cm *cm = world->hosts[program->host].cm;
	const uint32_t choice = rng_below(&world->rng, 100);

	if (choice < 85) {
		if (uroce_cme_establish(cm, program->id, "go", 2, world->now_ns))
			abort();
		if (rng_one_in(&world->rng, 4))
			program_notify(world, program->peer, info->remote_comm_id);
		if (rng_below(&world->rng, 10) < 7)
			plan_action(world, program);
	} else if (choice < 90) {
		(void)uroce_cme_reject(cm, program->id, UROCE_CM_REASON_CONSUMER_DEFINED, "no", 2,
				       world->now_ns);
		program_destroy(world, program);
	} else if (choice < 95) {
		program_destroy(world, program);
	} else {
		plan_action(world, program);
	}
}

void
program_act(struct world *world, struct program *program)
{
	struct uroce_cm *cm = world->hosts[program->host].cm;
	struct uroce_cm_info info;

	if (program->is_gone)
		return;
	uroce_cme_query(cm, program->id, &info);
	switch ((enum uroce_cm_state)info.state) {
	case UROCE_CM_STATE_REQ_RCVD:
	case UROCE_CM_STATE_SIDR_REQ_RCVD:
		answer_request(world, program);
		break;
	case UROCE_CM_STATE_REP_RCVD:
		answer_response(world, program, &info);
		break;
	case UROCE_CM_STATE_ESTABLISHED:
	case UROCE_CM_STATE_DREQ_RCVD:
	case UROCE_CM_STATE_REP_SENT:
		if (rng_one_in(&world->rng, 2))
			(void)uroce_cme_disconnect(cm, program->id, "bye", 3, world->now_ns);
		else
			program_destroy(world, program);
		break;
	default:
		program_destroy(world, program);
	}
}

static struct program *
program_of_event(struct world *world, uint8_t host, const struct uroce_cm_event *event)
{
	struct program *program;

	if (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST) {
		struct uroce_cm_info info;

		program = new_program(world, host, event->id);
		uroce_cme_query(world->hosts[host].cm, event->id, &info);
		program->peer = world_host_of(info.av.remote_gid, &program->version);
		program->is_datagram = info.is_datagram;
		program->service = (uint8_t)((uint16_t)info.service_id - FIRST_PORT);
		return program;
	}
	program = &world->programs[event->user];
	if (event->user >= world->nb_programs || program->host != host ||
	    program->id != event->id || program->is_gone) {
		world_blame(world, "an event of an id that was destroyed", (uint32_t)event->user);
		return NULL;
	}
	return program;
}

/*
 * Count a connection request that waited at a listener. No host may have more requests at one
 * listener than the backlog.
 */
static void
count_waiting(struct world *world, uint8_t host, const struct uroce_cm_event *event,
	      uint8_t nb_waiting[NB_SERVICES][2][NB_HOSTS * NB_VERSIONS])
{
	const uint32_t number = (uint32_t)event->user - LISTENER_COOKIE;
	struct uroce_cm_info info;
	uint8_t version;
	uint8_t peer;
	uint8_t *nb;

	uroce_cme_query(world->hosts[host].cm, event->id, &info);
	peer = world_host_of(info.av.remote_gid, &version);
	nb = &nb_waiting[number / 2][number % 2][peer * NB_VERSIONS + version];
	if (++*nb > world->hosts[host].backlog)
		world_blame(world, "more requests wait than the backlog says", host);
}

void
program_take_events(struct world *world, uint8_t host)
{
	uint8_t nb_waiting[NB_SERVICES][2][NB_HOSTS * NB_VERSIONS] = { 0 };
	struct uroce_cm_event event;

	while (uroce_cme_next_event(world->hosts[host].cm, &event)) {
		struct program *program;

		if (event.kind == UROCE_CM_EVENT_CONNECT_REQUEST)
			count_waiting(world, host, &event, nb_waiting);
		program = program_of_event(world, host, &event);

		if (!program)
			continue;
		if (world->is_traced)
			printf("%10" PRIu64 " us host %u program %u %s %d\n", world->now_ns / 1000,
			       host, number_of(world, program), kind_names[event.kind],
			       event.status);
		oracle_check_event(world, program, &event);
		if (event.kind == UROCE_CM_EVENT_ESTABLISHED) {
			world->nb_established++;
			world->nb_foreign += world->hosts[program->peer].is_foreign;
		}
		if (event.kind != UROCE_CM_EVENT_ESTABLISHED || rng_below(&world->rng, 10) < 7)
			plan_action(world, program);
	}
}
