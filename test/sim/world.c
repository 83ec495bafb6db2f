/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The event loop, and the memory of a world: one block, from which a run allocates and which the
 * next run uses from its beginning.
 */

#include "world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "life.h"
#include "transport/mcast.h"

#define ARENA_LEN    (96u << 20)
#define NB_MR        512
#define NB_RD_BLOCKS 72
#define NB_SRQS      16
#define NB_MEMBERS   16
#define EVENTS_MAX   4000000

void
world_create(struct world *world)
{
	struct rng rng = { 20260101 };
	uint8_t *noise = aligned_alloc(4096, NOISE_LEN);

	*world = (struct world){ 0 };
	world->arena = aligned_alloc(4096, ARENA_LEN);
	world->arena_len = ARENA_LEN;
	assert(noise && world->arena);
	for (uint32_t i = 0; i < NOISE_LEN; i += 8) {
		/*
		 * no byte is 0, so that written memory always differs from memory that was never
		 * written
		 */
		const uint64_t word = rng_next(&rng) | UINT64_C(0x0101010101010101);

		memcpy(noise + i, &word, 8);
	}
	world->noise = noise;
}

void
world_destroy(struct world *world)
{
	frame_pool_free(&world->frames);
	heap_free(&world->heap);
	free(world->arena);
	free((void *)(uintptr_t)world->noise);
}

static void
drop_flights(struct world *world)
{
	struct event event;

	while (heap_pop(&world->heap, &event)) {
		if (event.frame)
			frame_give(&world->frames, event.frame);
	}
	for (uint32_t i = 0; i < world->nb_hosts; i++) {
		struct host *host = &world->hosts[i];

		while (host->rx_first) {
			struct frame *frame = host->rx_first;

			host->rx_first = frame->next;
			frame_give(&world->frames, frame);
		}
	}
}

void
world_reset(struct world *world, uint64_t seed)
{
	drop_flights(world);
	heap_clear(&world->heap);
	memset(world->hosts, 0, world->nb_hosts * sizeof(world->hosts[0]));
	world->seed = seed;
	world->rng.state = rng_mix(seed + 1);
	world->now_ns = 0;
	world->calm_ns = UROCE_NEVER;
	world->nb_hosts = 0;
	world->nb_qps = 0;
	world->nb_shared = 0;
	world->next_iova = UINT64_C(1) << 41;
	world->nb_passes = 0;
	world->trace.hash = seed;
	world->tally = (struct tally){ 0 };
	world->nb_events = 0;
	world->max_events = EVENTS_MAX;
	world->violation[0] = '\0';
	world->arena_used = 0;
	life_clear(world);
}

void *
world_alloc(struct world *world, size_t len)
{
	void *mem = world->arena + world->arena_used;

	world->arena_used += (len + 63) & ~(size_t)63;
	assert(world->arena_used <= world->arena_len);
	memset(mem, 0, len);
	return mem;
}

static void
add_regions(struct world *world, struct host *host)
{
	struct uroce_mr_conf conf = {
		.addr = (void *)(uintptr_t)world->noise,
		.iova = NOISE_IOVA,
		.len = NOISE_LEN,
		.pdn = host->pdn,
		.access = IBV_ACCESS_REMOTE_READ,
	};
	int ret = uroce_mr_add(host->mrs, &conf, &host->noise_key);

	ret |= uroce_mr_add(host->mrs, &conf, &host->dead_key);
	ret |= uroce_mr_invalidate(host->mrs, host->dead_key);
	conf.pdn++;
	ret |= uroce_mr_add(host->mrs, &conf, &host->foreign_key);
	assert(ret == 0);
	(void)ret;
}

struct host *
world_add_host(struct world *world)
{
	struct host *host = &world->hosts[world->nb_hosts];
	uint8_t secret[16] = "host of a world";

	assert(world->nb_hosts < HOSTS_MAX);
	secret[15] = (uint8_t)world->nb_hosts;
	*host = (struct host){
		.idx = (uint8_t)world->nb_hosts++,
		.ip = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2 },
		.pdn = 7,
		.next_qpn = 0x11,
		.rx_room = 4096,
		.run_max = 1,
		.burst = 32,
		.round_ns = UROCE_NEVER,
		.limits = {
			.nb_gids = 1,
			.nb_pkeys = 1,
			.nb_ports = 1,
			.active_mtu = IBV_MTU_4096,
			.max_rd_atomic = UROCE_RD_ATOMIC_MAX,
			.max_dest_rd_atomic = UROCE_RD_ATOMIC_MAX,
		},
	};
	host->ip[15] = (uint8_t)(host->idx + 1);
	host->mrs = uroce_mr_table_init(world_alloc(world, uroce_mr_table_memsize(NB_MR)), NB_MR,
					secret);
	host->rd_pool = uroce_rd_pool_init(world_alloc(world, uroce_rd_pool_memsize(NB_RD_BLOCKS)),
					   NB_RD_BLOCKS);
	host->srqs =
		uroce_srq_table_init(world_alloc(world, uroce_srq_table_memsize(NB_SRQS)), NB_SRQS);
	host->mcast = uroce_mcast_table_init(
		world_alloc(world, uroce_mcast_table_memsize(NB_MEMBERS)), NB_MEMBERS);
	add_regions(world, host);
	return host;
}

static void
happen(struct world *world, const struct event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_SWITCH:
		link_forward(world, event->frame);
		break;
	case EVENT_HOST:
		host_receive(world, &world->hosts[event->who], event->frame);
		break;
	case EVENT_ROUND:
		host_round(world, &world->hosts[event->who]);
		break;
	case EVENT_LIFE:
		life_happen(world, event->who);
		break;
	}
}

void
world_run(struct world *world, uint64_t until_ns)
{
	struct event event;

	while (world_is_well(world) && heap_next_ns(&world->heap) <= until_ns &&
	       heap_pop(&world->heap, &event)) {
		world->now_ns = event.at_ns;
		happen(world, &event);
		if (++world->nb_events > world->max_events)
			world_complain(world, "it does not end: %llu events",
				       (unsigned long long)world->nb_events);
	}
	if (until_ns != UROCE_NEVER && world_is_well(world))
		world->now_ns = until_ns;
}

void
world_complain(struct world *world, const char *format, ...)
{
	va_list args;

	if (!world_is_well(world))
		return;
	const int len = snprintf(world->violation, sizeof(world->violation),
				 "at %llu ns: ", (unsigned long long)world->now_ns);

	va_start(args, format);
	vsnprintf(world->violation + len, sizeof(world->violation) - (size_t)len, format, args);
	va_end(args);
}
