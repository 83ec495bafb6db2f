/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connections that are reset and connected again at once with the same PSNs, over a network without
 * delay, as within a host. Before a connection is reset or begins again, all frames on the network
 * are received, as uroce_worker_qp_quiesce() does it in the data path. So no frame of the old
 * connection may reach the new one, unless an end of the connection has kept it.
 */

#include "host.h"
#include "measure.h"
#include "oracle.h"
#include "workload.h"
#include "world.h"

#define NB_WORLDS      200
#define NB_HOSTS       3
#define NB_CONNECTIONS 4
#define NB_LIVES       24
#define NB_PASSES      2
#define LIFE_MAX_NS    200000
/*
 * maximum time between two rounds of a host; a frame that has arrived is received in the next round
 */
#define GAP_MAX_NS 20000

/*
 * Receive all frames that are on the network, and the responses to them. Other QPs send frames
 * meanwhile, so the loop has a fixed number of passes instead of waiting for an empty network.
 */
static void
take_arrived(struct world *world)
{
	for (unsigned pass = 0; pass < NB_PASSES; pass++) {
		world_run(world, world->now_ns);
		for (uint32_t i = 0; i < world->nb_hosts; i++) {
			world->hosts[i].round_ns = world->now_ns;
			host_round(world, &world->hosts[i]);
		}
	}
}

static bool
is_reusable(const struct qp *qp)
{
	return !qp->is_gone && !qp->peer->is_gone && qp->peer->peer == qp && !qp->is_lenient &&
	       qp->conf.type == IBV_QPT_RC;
}

static uint32_t
run_world(struct report *report, struct world *world, uint64_t seed)
{
	uint32_t nb_reused = 0;

	report_begin(report, world, seed);
	for (uint32_t i = 0; i < NB_HOSTS; i++)
		world_add_host(world)->gap_ns = rng_below(&world->rng, GAP_MAX_NS);
	for (uint32_t i = 0; i < NB_CONNECTIONS; i++)
		workload_connect(world);
	for (uint32_t i = 0; i < NB_LIVES && world_is_well(world); i++) {
		const uint64_t at_ns = world->now_ns + rng_below(&world->rng, LIFE_MAX_NS);
		struct qp *qp = world->qps[rng_below(&world->rng, world->nb_qps)];

		world_run(world, at_ns);
		world->now_ns = at_ns;
		if (!is_reusable(qp))
			continue;
		nb_reused += workload_reuse(world, qp, take_arrived);
	}
	world_run(world, UROCE_NEVER);
	report_end(report, world, true);
	return nb_reused;
}

void
scenario_reuse(struct report *report, struct world *world, uint64_t seed)
{
	uint64_t nb_reused = 0, nb_completed = 0;

	for (uint64_t i = 0; i < NB_WORLDS; i++) {
		nb_reused += run_world(report, world, seed * NB_WORLDS + i);
		nb_completed += world->tally.statuses[IBV_WC_SUCCESS];
	}
	report_row(report, "\"worlds\": %u, \"reused\": %llu, \"succeeded\": %llu", NB_WORLDS,
		   (unsigned long long)nb_reused, (unsigned long long)nb_completed);
}
