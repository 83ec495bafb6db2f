/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The world: its network, its time, its hosts.
 */

#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/service_id.h"

/* No id may have a timer for longer than this after the last action of a program. */
#define QUIET_NS (UINT64_C(400) * 1000 * MSEC)

static bool
is_before(const struct happening *a, const struct happening *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static struct happening *
push_happening(struct world *world, uint64_t at_ns)
{
	uint32_t at;

	if (world->nb_heap == world->max_heap) {
		world->max_heap = world->max_heap ? 2 * world->max_heap : 256;
		world->heap = realloc(world->heap, world->max_heap * sizeof(*world->heap));
		if (!world->heap)
			abort();
	}
	at = world->nb_heap++;
	world->heap[at] = (struct happening){ .at_ns = at_ns, .order = world->order++ };
	while (at && is_before(&world->heap[at], &world->heap[(at - 1) / 2])) {
		const struct happening swap = world->heap[at];

		world->heap[at] = world->heap[(at - 1) / 2];
		world->heap[(at - 1) / 2] = swap;
		at = (at - 1) / 2;
	}
	return &world->heap[at];
}

static struct happening
pop_happening(struct world *world)
{
	const struct happening first = world->heap[0];
	uint32_t at = 0;

	world->heap[0] = world->heap[--world->nb_heap];
	for (;;) {
		uint32_t child = 2 * at + 1;
		struct happening swap;

		if (child >= world->nb_heap)
			break;
		if (child + 1 < world->nb_heap &&
		    is_before(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (!is_before(&world->heap[child], &world->heap[at]))
			break;
		swap = world->heap[at];
		world->heap[at] = world->heap[child];
		world->heap[child] = swap;
		at = child;
	}
	return first;
}

void
world_plan(struct world *world, uint64_t delay_ns, enum happening_kind kind, uint32_t who)
{
	struct happening *happening = push_happening(world, world->now_ns + delay_ns);

	happening->kind = kind;
	happening->who = who;
}

uint64_t
world_draw_delay(struct world *world)
{
	static const uint32_t limits_us[] = { 1, 1000, 20000, 300000, 8000000 };

	return rng_below(&world->rng, limits_us[rng_below(&world->rng, 5)]) * UINT64_C(1000);
}

void
world_blame(struct world *world, const char *rule, uint32_t who)
{
	world->nb_violations++;
	printf("seed %" PRIu64 ": %" PRIu64 " us: program %u: %s\n", world->seed,
	       world->now_ns / 1000, who, rule);
}

/* Put a message on the network. */
static void
transmit_mad(struct world *world, uint8_t from, uint8_t to, const uint8_t *mad,
	     const struct uroce_cm_msg *msg)
{
	const bool is_away = from != to && world->now_ns >= world->outage_begin_ns &&
			     world->now_ns < world->outage_end_ns;
	const bool is_lost = is_away || (from != to && rng_chance(&world->rng, world->loss_ppm));
	unsigned nb = is_lost ? 0 : 1;
	be32 comm_ids[2]; /* of most messages: of the sender and of the receiver */

	memcpy(comm_ids, mad + UROCE_MAD_HDR_LEN, sizeof(comm_ids));
	world->nb_messages++;
	if (world->is_traced)
		printf("%10" PRIu64 " us %u>%u %s %08x %08x%s\n", world->now_ns / 1000, from, to,
		       uroce_cm_attr_name(msg->attr), be32_get(comm_ids[0]), be32_get(comm_ids[1]),
		       is_lost ? " LOST" : "");
	if (nb && rng_chance(&world->rng, world->duplicate_ppm))
		nb++;
	for (unsigned i = 0; i < nb; i++) {
		const uint64_t delay_ns =
			world->delay_ns +
			(world->jitter_ns ? rng_below(&world->rng, world->jitter_ns) : 0);
		struct happening *happening = push_happening(world, world->now_ns + delay_ns);

		happening->kind = HAPPENS_ARRIVAL;
		happening->who = to;
		happening->from = from;
		memcpy(happening->mad, mad, UROCE_MAD_LEN);
	}
}

static uint8_t
host_of_gid(const uint8_t gid[16])
{
	return gid[15] - 1;
}

static void
flush_host(struct world *world, uint8_t who)
{
	struct uroce_cm_tx tx[3];
	struct uroce_cm_msg msg;
	unsigned nb;

	program_take_events(world, who);
	while ((nb = uroce_cme_send(world->hosts[who].cm, tx, 3, world->now_ns))) {
		for (unsigned i = 0; i < nb; i++) {
			if (uroce_cm_parse(tx[i].mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
				abort();
			oracle_note(world, who, &msg);
			transmit_mad(world, who, host_of_gid(tx[i].av.remote_gid), tx[i].mad, &msg);
		}
	}
}

static void
deliver(struct world *world, const struct happening *happening)
{
	struct uroce_cm_av av = { 0 };
	struct uroce_cm_msg msg;

	memcpy(av.local_gid, world->hosts[happening->who].gid, 16);
	memcpy(av.remote_gid, world->hosts[happening->from].gid, 16);
	if (uroce_cm_parse(happening->mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		abort();
	uroce_cme_recv(world->hosts[happening->who].cm, &msg, &av, world->now_ns);
}

static void
listen_at(struct host *host, uint16_t space, uint16_t port)
{
	struct uroce_cm_addr addr = host->ip;
	uint32_t id;

	addr.port = port;
	if (uroce_cme_create(host->cm, space, space == UROCE_CM_PS_UDP, 0, &id) ||
	    uroce_cme_bind(host->cm, id, &addr, false, false) || uroce_cme_listen(host->cm, id, 0))
		abort();
}

static void
start_host(struct world *world, uint8_t who)
{
	struct host *host = &world->hosts[who];
	struct uroce_cm_conf conf = { .max_ids = 256, .max_backlog = 16, .ack_delay_code = 15 };
	const uint64_t secret = rng_next(&world->rng);

	conf.ca_guid.b[7] = who + 1;
	memcpy(conf.secret, &secret, sizeof(secret));
	free(host->mem);
	host->mem = malloc(uroce_cme_memsize(&conf));
	if (!host->mem)
		abort();
	host->cm = uroce_cme_init(host->mem, &conf);
	host->life++;
	memcpy(host->gid, (const uint8_t[16]){ [10] = 0xff, 0xff, 10, 0, 0, who + 1 }, 16);
	host->ip = (struct uroce_cm_addr){ .ip_version = 4, .ip = { [12] = 10, [15] = who + 1 } };
	for (uint16_t port = 0; port < NB_PORTS; port++)
		listen_at(host, UROCE_CM_PS_TCP, FIRST_PORT + port);
	listen_at(host, UROCE_CM_PS_UDP, FIRST_PORT);
}

static void
kill_host(struct world *world, uint8_t who)
{
	for (uint32_t i = 0; i < world->nb_programs; i++)
		if (world->programs[i].host == who)
			world->programs[i].is_gone = true;
	if (world->is_traced)
		printf("%10" PRIu64 " us host %u dies and returns\n", world->now_ns / 1000, who);
	world->nb_deaths++;
	world->hosts[who].died_ns = world->now_ns;
	start_host(world, who);
}

static void
let_happen(struct world *world)
{
	const struct happening happening = pop_happening(world);

	world->now_ns = happening.at_ns;
	switch ((enum happening_kind)happening.kind) {
	case HAPPENS_ARRIVAL:
		deliver(world, &happening);
		break;
	case HAPPENS_CONNECT:
		program_connect(world, (uint8_t)happening.who);
		break;
	case HAPPENS_ACTION:
		if (!world->is_ending)
			program_act(world, &world->programs[happening.who]);
		break;
	case HAPPENS_GIVE_UP:
		if (!world->is_ending)
			program_destroy(world, &world->programs[happening.who]);
		break;
	case HAPPENS_DEATH:
		kill_host(world, (uint8_t)happening.who);
		break;
	}
}

/* Run until nothing is planned, or a time. @return false: the time came first */
static bool
run_world(struct world *world, uint64_t end_ns)
{
	for (;;) {
		uint64_t next_ns = world->nb_heap ? world->heap[0].at_ns : UROCE_CM_NEVER;

		for (uint8_t i = 0; i < world->nb_hosts; i++) {
			flush_host(world, i);
			if (uroce_cme_deadline(world->hosts[i].cm) < next_ns)
				next_ns = uroce_cme_deadline(world->hosts[i].cm);
		}
		/* transmission and events may have planned something */
		if (world->nb_heap && world->heap[0].at_ns < next_ns)
			next_ns = world->heap[0].at_ns;
		if (next_ns == UROCE_CM_NEVER)
			return true;
		if (next_ns > end_ns) {
			world->now_ns = end_ns;
			return false;
		}
		if (next_ns < world->now_ns)
			next_ns = world->now_ns;
		world->now_ns = next_ns;
		for (uint8_t i = 0; i < world->nb_hosts; i++)
			uroce_cme_expire(world->hosts[i].cm, next_ns);
		if (world->nb_heap && world->heap[0].at_ns <= next_ns)
			let_happen(world);
	}
}

static void
draw_world(struct world *world)
{
	struct rng *rng = &world->rng;
	static const uint32_t losses[] = { 0, 10000, 50000, 150000 };
	static const uint32_t jitters_ns[] = { 0, 100000, 5000000, 200000000 };

	world->nb_hosts = rng_between(rng, 2, NB_HOSTS);
	world->loss_ppm = losses[rng_below(rng, 4)];
	world->duplicate_ppm = losses[rng_below(rng, 4)];
	world->delay_ns = rng_below(rng, 2) ? 10000 : rng_below(rng, 50000000);
	world->jitter_ns = jitters_ns[rng_below(rng, 4)];
	world->is_hard = rng_one_in(rng, 5);
	if (world->is_hard || rng_one_in(rng, 5)) {
		world->outage_begin_ns = rng_below(rng, 20000) * MSEC;
		world->outage_end_ns = world->outage_begin_ns +
				       rng_below(rng, world->is_hard ? 150000 : 15000) * MSEC;
	}
	for (uint8_t i = 0; i < world->nb_hosts; i++)
		start_host(world, i);
	for (uint32_t i = rng_between(rng, 1, 60); i > 0; i--)
		world_plan(world, rng_below(rng, rng_below(rng, 2) ? 100 : 30000) * MSEC,
			   HAPPENS_CONNECT, rng_below(rng, world->nb_hosts));
	for (uint32_t i = rng_one_in(rng, 2) ? rng_below(rng, 4) : 0; i > 0; i--)
		world_plan(world, rng_below(rng, 30000) * MSEC, HAPPENS_DEATH,
			   rng_below(rng, world->nb_hosts));
}

/* The network is whole, and no program acts: whatever has to end, ends. */
static void
end_world(struct world *world)
{
	world->is_ending = true;
	world->loss_ppm = 0;
	world->outage_end_ns = 0;
	if (!run_world(world, world->now_ns + QUIET_NS))
		world_blame(world, "a timer runs for ever", 0);
	oracle_check_quiet(world);
	for (uint32_t i = 0; i < world->nb_programs; i++)
		program_destroy(world, &world->programs[i]);
	if (!run_world(world, world->now_ns + QUIET_NS))
		world_blame(world, "a destroyed id has a timer for ever", 0);
	oracle_check_end(world);
}

uint32_t
world_run(struct world *world, uint64_t seed, bool is_traced)
{
	*world = (struct world){
		.seed = seed,
		.is_traced = is_traced,
		.rng = { seed },
		.heap = world->heap,
		.max_heap = world->max_heap,
	};
	draw_world(world);
	(void)run_world(world, rng_between(&world->rng, 1000, 120000) * MSEC);
	end_world(world);
	for (uint8_t i = 0; i < world->nb_hosts; i++)
		free(world->hosts[i].mem);
	return world->nb_violations;
}
