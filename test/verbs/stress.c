/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every verb from any thread at any time: eight threads execute random operations, which their
 * seeds determine, on objects of their own and on shared objects of all types. At the same time
 * there are traffic, polls and events.
 *
 *	links   pairs of connected QPs. All threads post to, poll, modify and query them (readers).
 *		Sometimes one thread destroys a pair with all that is in flight, and creates
 *		another type (writer).
 *	relays  QPs to which one thread posts. Another thread destroys the QP as soon as it has
 *		the completions, while the first thread may still be inside its post.
 *	others  objects that one thread creates, uses and frees, in devices, contexts and domains
 *		of all threads
 *
 * The sanitizers find most errors. The test itself checks that every call returns an allowed value,
 * that every object can be destroyed in the end, and that every awaited request completes.
 *
 *	test-verbs-stress [SEED [OPERATIONS]]
 */

#include "stress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NB_THREADS 8

struct pair net;
int xrc_fd;
atomic_uint nb_bad;

static struct actor actors[NB_THREADS];
static uint64_t first_seed = 1;
static unsigned nb_operations = 200;

uint32_t
draw(struct actor *self, uint32_t below)
{
	self->seed ^= self->seed << 13;
	self->seed ^= self->seed >> 7;
	self->seed ^= self->seed << 17;
	return (uint32_t)((self->seed * 0x2545f4914f6cdd1d) >> 33) % below;
}

struct host *
any_host(struct actor *self)
{
	return draw(self, 2) ? &net.b : &net.a;
}

bool
is_one_of(int ret, int one, int other)
{
	return ret == 0 || ret == one || ret == other;
}

static void (*const acts[])(struct actor *) = {
	exchange,
	exchange,
	exchange,
	exchange,
	exchange,
	exchange,
	wait_for_events,
	change_state,
	query_qps,
	resize,
	join_group,
	rebuild,
	give_and_take,
	give_and_take,
	make_domains,
	make_regions,
	make_regions_on_demand,
	make_windows,
	make_device_memory,
	make_queues,
	make_qps,
	make_targets,
	make_contexts,
	make_mkeys,
	take_events,
	take_events,
	query_device,
};

static void *
act(void *arg)
{
	struct actor *const self = arg;

	for (unsigned i = 0; i < nb_operations && atomic_load(&nb_bad) == 0; i++)
		acts[draw(self, sizeof(acts) / sizeof(acts[0]))](self);
	return NULL;
}

static void
open_all(uint64_t seed)
{
	for (unsigned i = 0; i < NB_THREADS; i++) {
		actors[i].seed = (seed << 8 | i) * 0x9e3779b97f4a7c15 | 1;
		assert_non_null(actors[i].buf = aligned_alloc(4096, NB_PARTS * PART));
		memset(actors[i].buf, 0, NB_PARTS * PART);
	}
	open_links(&actors[0]);
}

static void
close_all(void)
{
	finish_relays();
	close_links();
	for (unsigned i = 0; i < NB_THREADS; i++)
		free(actors[i].buf);
}

static void
run(const char *keys, uint64_t seed)
{
	/* a long ACK timeout: there are more threads than CPUs, so a host may respond late */
	pair_open(&net, &(struct pair_conf){
				.type = IBV_QPT_RC, .keys = keys, .timeout = 18, .nb_cqe = 1024 });
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			fcntl((i == 0 ? &net.a : &net.b)->context->async_fd, F_SETFL, O_NONBLOCK),
			0);
	open_all(seed);
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_join(actors[i].thread, NULL), 0);
	if (atomic_load(&nb_bad) == 0)
		close_all();
	assert_int_equal(atomic_load(&nb_bad), 0);
	pair_close(&net);
}

static void
threads__do_what_they_like(void **state)
{
	(void)state;
	run("workers=2", first_seed);
}

static void
threads__do_what_they_like_with_one_worker(void **state)
{
	(void)state;
	run("workers=1", first_seed + 1);
}

static void
threads__do_what_they_like_beside_an_lcore(void **state)
{
	(void)state;
	run("drive=lcore", first_seed + 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads__do_what_they_like),
		cmocka_unit_test(threads__do_what_they_like_with_one_worker),
		cmocka_unit_test(threads__do_what_they_like_beside_an_lcore),
	};

	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		nb_operations = (unsigned)strtoul(argv[2], NULL, 0);
	xrc_fd = memfd_create("xrc", 0);
	net_init_with("512");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
