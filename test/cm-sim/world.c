/* SPDX-License-Identifier: BSD-3-Clause */

/* A world of the simulator: its virtual time, its hosts, and how a seed determines them. */

#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/service_id.h"

/* The time after the last action of a program in which all timers must stop. */
#define QUIET_NS (UINT64_C(400) * 1000 * MSEC)

/* The largest number of messages that an engine transmits in one call. */
#define BURST 3

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

uint8_t
world_host_of(const uint8_t gid[16], uint8_t *version)
{
	*version = gid[0] == 0xfd;
	return gid[15] - 1;
}

static bool
is_request(const struct uroce_cm_msg *msg)
{
	return msg->attr == UROCE_CM_REQ || msg->attr == UROCE_CM_DREQ ||
	       msg->attr == UROCE_CM_SIDR_REQ;
}

/*
 * Transmit all messages of a host. While the host transmits, no message arrives, so all its
 * responses are waiting from the start. The host must not transmit two requests in a row before a
 * response.
 */
static void
flush_host(struct world *world, uint8_t who)
{
	struct uroce_cm_tx tx[BURST];
	struct uroce_cm_msg msg;
	unsigned nb_requests = 0;
	unsigned nb;

	if (world->hosts[who].is_foreign)
		return;
	if (!world->hosts[who].is_slow || world->is_ending)
		program_take_events(world, who);
	while ((nb = uroce_cme_send(world->hosts[who].cm, tx, BURST, world->now_ns))) {
		for (unsigned i = 0; i < nb; i++) {
			uint8_t version;
			const uint8_t to = world_host_of(tx[i].av.remote_gid, &version);

			if (uroce_cm_parse(tx[i].mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
				abort();
			if (!is_request(&msg) && nb_requests > 1)
				world_blame(world, "a response waits behind requests", who);
			nb_requests = is_request(&msg) ? nb_requests + 1 : 0;
			ledger_note(world, who, to, &msg, tx[i].mad);
			network_transmit(world, who, to, version, tx[i].mad, &msg);
		}
	}
}

static void
deliver(struct world *world, const struct happening *happening)
{
	struct host *host = &world->hosts[happening->who];
	struct uroce_cm_av av = { 0 };
	struct uroce_cm_msg msg;

	if (uroce_cm_parse(happening->mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		abort();
	if (host->is_foreign) {
		foreign_recv(world, (uint8_t)happening->who, happening->from, happening->version,
			     &msg);
		return;
	}
	memcpy(av.local_gid, host->gid[happening->version], 16);
	memcpy(av.remote_gid, world->hosts[happening->from].gid[happening->version], 16);
	ledger_note_arrival(world, (uint8_t)happening->who, happening->from, &msg);
	uroce_cme_recv(host->cm, &msg, &av, world->now_ns);
}

static void
start_host(struct world *world, uint8_t who)
{
	struct host *host = &world->hosts[who];
	struct uroce_cm_conf conf = { .max_ids = host->max_ids,
				      .max_backlog = 16,
				      .ca_guid = host->guid,
				      .ack_delay_code = 15 };
	const uint64_t secret = rng_next(&world->rng);

	host->life++;
	if (host->is_foreign) {
		foreign_begin(&host->foreign);
		return;
	}
	memcpy(conf.secret, &secret, sizeof(secret));
	free(host->mem);
	host->mem = malloc(uroce_cme_memsize(&conf));
	if (!host->mem)
		abort();
	host->cm = uroce_cme_init(host->mem, &conf);
	listen_begin(host);
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
	const struct happening happening = network_pop(world);

	world->now_ns = happening.at_ns;
	switch ((enum happening_kind)happening.kind) {
	case HAPPENS_ARRIVAL:
		deliver(world, &happening);
		break;
	case HAPPENS_CONNECT:
		if (world->hosts[happening.who].is_foreign)
			foreign_connect(world, (uint8_t)happening.who);
		else
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
	case HAPPENS_TAKE:
		program_take_events(world, (uint8_t)happening.who);
		if (!world->is_ending)
			world_plan(world, rng_below(&world->rng, 3000) * MSEC, HAPPENS_TAKE,
				   happening.who);
		break;
	case HAPPENS_CHURN:
		listen_churn(world, &world->hosts[happening.who]);
		break;
	}
}

static uint64_t
host_deadline(const struct world *world, uint8_t who)
{
	const struct host *host = &world->hosts[who];

	return host->is_foreign ? foreign_deadline(world, who) : uroce_cme_deadline(host->cm);
}

static void
expire_host(struct world *world, uint8_t who)
{
	if (world->hosts[who].is_foreign)
		foreign_expire(world, who);
	else
		uroce_cme_expire(world->hosts[who].cm, world->now_ns);
}

/*
 * Run a world until no event is planned and no timer runs, or until the virtual time `end_ns`.
 * @return false if the world has reached `end_ns`
 */
static bool
run_world(struct world *world, uint64_t end_ns)
{
	for (;;) {
		uint64_t next_ns = world->nb_heap ? world->heap[0].at_ns : UROCE_CM_NEVER;

		for (uint8_t i = 0; i < world->nb_hosts; i++) {
			flush_host(world, i);
			if (host_deadline(world, i) < next_ns)
				next_ns = host_deadline(world, i);
		}
		/* flush_host() may have planned something that happens before `next_ns` */
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
			expire_host(world, i);
		if (world->nb_heap && world->heap[0].at_ns <= next_ns)
			let_happen(world);
	}
}

static void
draw_network(struct world *world)
{
	struct rng *rng = &world->rng;
	static const uint32_t losses[] = { 0, 10000, 50000, 150000 };
	static const uint32_t jitters_ns[] = { 0, 100000, 5000000, 200000000 };
	static const uint32_t forges[] = { 0, 0, 50000, 300000 };
	static const uint32_t qpns[] = { 12, 40, 200, 200 };

	world->loss_ppm = losses[rng_below(rng, 4)];
	world->duplicate_ppm = losses[rng_below(rng, 4)];
	world->forge_ppm = forges[rng_below(rng, 4)];
	world->nb_qpns = qpns[rng_below(rng, 4)];
	world->delay_ns = rng_below(rng, 2) ? 10000 : rng_below(rng, 50000000);
	world->jitter_ns = jitters_ns[rng_below(rng, 4)];
	world->is_hard = rng_one_in(rng, 5);
	if (world->is_hard || rng_one_in(rng, 5)) {
		world->outage_begin_ns = rng_below(rng, 20000) * MSEC;
		world->outage_end_ns = world->outage_begin_ns +
				       rng_below(rng, world->is_hard ? 150000 : 15000) * MSEC;
	}
	world->is_clean = !world->loss_ppm && !world->outage_end_ns &&
			  world->delay_ns + world->jitter_ns < 1500000;
}

static void
draw_host(struct world *world, uint8_t who, bool has_one_guid)
{
	struct host *host = &world->hosts[who];

	host->is_slow = rng_one_in(&world->rng, 5);
	host->max_ids = rng_one_in(&world->rng, 4) ? 48 : 256;
	host->backlog = rng_one_in(&world->rng, 3) ? rng_between(&world->rng, 1, 4) : 16;
	host->guid.b[7] = has_one_guid ? 99 : who + 1;
	memcpy(host->gid[0], (const uint8_t[16]){ [10] = 0xff, 0xff, 10, 0, 0, who + 1 }, 16);
	memcpy(host->gid[1], (const uint8_t[16]){ 0xfd, [15] = who + 1 }, 16);
	host->ip[0] =
		(struct uroce_cm_addr){ .ip_version = 4, .ip = { [12] = 10, [15] = who + 1 } };
	host->ip[1] = (struct uroce_cm_addr){ .ip_version = 6 };
	memcpy(host->ip[1].ip, host->gid[1], 16);
	listen_draw(world, host);
}

static void
draw_world(struct world *world)
{
	struct rng *rng = &world->rng;
	const bool has_foreign = rng_one_in(rng, 3);
	const bool has_one_guid = rng_one_in(rng, 6);
	/* In a world with a crowd, 120 programs connect within 100 ms. */
	const bool is_crowd = rng_one_in(rng, 6);

	world->nb_hosts = rng_between(rng, 2, NB_HOSTS);
	draw_network(world);
	for (uint8_t i = 0; i < world->nb_hosts; i++) {
		draw_host(world, i, has_one_guid && !has_foreign);
		world->hosts[i].is_foreign = has_foreign && i == world->nb_hosts - 1;
		start_host(world, i);
		if (world->hosts[i].is_slow && !world->hosts[i].is_foreign)
			world_plan(world, 0, HAPPENS_TAKE, i);
	}
	for (uint32_t i = is_crowd ? 120 : rng_between(rng, 1, 60); i > 0; i--)
		world_plan(world,
			   rng_below(rng, is_crowd || rng_below(rng, 2) ? 100 : 30000) * MSEC,
			   HAPPENS_CONNECT, rng_below(rng, world->nb_hosts));
	for (uint32_t i = rng_one_in(rng, 2) ? rng_below(rng, 4) : 0; i > 0; i--)
		world_plan(world, rng_below(rng, 30000) * MSEC, HAPPENS_DEATH,
			   rng_below(rng, world->nb_hosts));
	for (uint32_t i = rng_below(rng, 6); i > 0; i--)
		world_plan(world, rng_below(rng, 30000) * MSEC, HAPPENS_CHURN,
			   rng_below(rng, world->nb_hosts));
}

/* End a world: the network loses nothing and no program acts any more, so all timers must stop. */
static void
end_world(struct world *world)
{
	world->is_ending = true;
	world->ending_ns = world->now_ns;
	world->loss_ppm = 0;
	world->outage_end_ns =
		world->now_ns < world->outage_end_ns ? world->now_ns : world->outage_end_ns;
	if (!run_world(world, world->now_ns + QUIET_NS))
		world_blame(world, "a timer runs for ever", 0);
	oracle_check_quiet(world);
	for (uint8_t i = 0; i < world->nb_hosts; i++)
		if (world->hosts[i].is_foreign)
			foreign_begin(&world->hosts[i].foreign);
	for (uint32_t i = 0; i < world->nb_programs; i++)
		program_destroy(world, &world->programs[i]);
	if (!run_world(world, world->now_ns + QUIET_NS))
		world_blame(world, "a destroyed id has a timer for ever", 0);
	oracle_check_end(world);
}

uint32_t
world_run(struct world *world, uint64_t seed, bool is_traced)
{
	struct ledger_entry *ledger = world->ledger;
	struct happening *heap = world->heap;
	const uint32_t max_heap = world->max_heap;

	if (!ledger) {
		ledger = malloc(MAX_LEDGER * sizeof(*ledger));
		if (!ledger)
			abort();
	}
	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->is_traced = is_traced;
	world->rng.state = seed;
	world->ledger = ledger;
	world->heap = heap;
	world->max_heap = max_heap;
	draw_world(world);
	(void)run_world(world, rng_between(&world->rng, 1000, 120000) * MSEC);
	end_world(world);
	for (uint8_t i = 0; i < world->nb_hosts; i++)
		free(world->hosts[i].mem);
	return world->nb_violations;
}
