/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Clients that connect and leave: many at a time, and a thousand that are killed at random moments,
 * while two honest clients lose nothing. Afterwards uroced has no more resources than before.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "pair.h"

#define NB_KILLS 1000u
#define NB_MANY  64u

static struct daemon daemon_;
static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

static uint64_t
now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/*
 * Run a client that sends to itself and to another client as fast as possible, until it is killed.
 */
static void
live(uint32_t qpn)
{
	static struct peer self;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	peer_open(&self, daemon_.socket, 2, 64);
	for (unsigned i = 0;; i++) {
		const uint32_t to = i % 8 ? peer_qpn(&self, 0) + i % 256 : qpn;
		const uint16_t len = peer_build(&self, frame, NULL, to, (uint16_t)(62 + i % 4300));

		if (to == qpn) /* the target has no QP that is bound to this client */
			peer_make_datagram(&self, frame, 0);
		if (peer_put(&self, i % 2, frame, len))
			peer_push(&self, i % 2, 1);
		(void)peer_take(&self, i % 2, got);
	}
}

static void
clients__are_killed_under_load(void **state)
{
	struct footprint before;
	struct pair pair;
	struct peer target;
	unsigned nb_attached = 0;
	uint32_t nb;

	(void)state;
	pair_open(&pair, &daemon_);
	peer_open(&target, daemon_.socket, 1, 64);
	before = pair_footprint(&daemon_, 3);
	srandom(72);
	for (unsigned i = 0; i < NB_KILLS; i++) {
		const uint64_t until_us = now_us() + (uint64_t)random() % 20000;
		const pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			live(peer_qpn(&target, 0));
		while (now_us() < until_us) {
			pair_step(&pair);
			nb_attached += peer_take(&target, 0, got) > 0;
		}
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	nb = pair.nb_got;
	pair_run(&pair, 1000);
	print_message("# %u frames of the pair, all there; %u of the killed ones\n", nb,
		      nb_attached);
	assert_true(nb > NB_KILLS && nb_attached > 0);
	pair_expect_footprint(&daemon_, &before);
	peer_close(&target);
	pair_close(&pair);
}

/*
 * Wait until uroced has closed the descriptors that it has open for a short time only, such as the
 * file of the last shared memory.
 */
static void
expect_nb_fds(unsigned nb)
{
	for (unsigned i = 0; i < 60000 && daemon_nb_fds(&daemon_) != nb; i++)
		(void)usleep(1000);
	assert_int_equal(daemon_nb_fds(&daemon_), nb);
}

static void
clients__are_many(void **state)
{
	static struct peer peers[NB_MANY];
	struct footprint before = pair_footprint(&daemon_, 0);

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NB_MANY; i++)
			peer_open(&peers[i], daemon_.socket, 1 + i % 2, 64);
		if (round == 0)
			expect_nb_fds(before.nb_fds + 1 + 2 * NB_MANY);
		for (unsigned i = 0; i < NB_MANY; i++) {
			struct peer *to = &peers[(i + 1) % NB_MANY];

			peer_accept(to, &peers[i]);
			for (unsigned j = 0; j < 50; j++) {
				(void)peer_build(&peers[i], frame, NULL, peer_qpn(to, 0) & ~1u,
						 900);
				frame[100] = (uint8_t)i;
				peer_send(&peers[i], 0, frame, 900);
			}
		}
		for (unsigned i = 0; i < NB_MANY; i++) {
			for (unsigned j = 0; j < 50; j++) {
				assert_int_equal(peer_receive(&peers[i], 0, got), 900);
				assert_int_equal(got[100], (i + NB_MANY - 1) % NB_MANY);
			}
		}
		for (unsigned i = 0; i < NB_MANY; i++)
			peer_close(&peers[i]);
		/*
		 * take the footprint after the first clients, because uroced keeps memory that it
		 * allocates for them
		 */
		if (round == 0)
			before = pair_footprint(&daemon_, 0);
	}
	pair_expect_footprint(&daemon_, &before);
}

/* When the quarantine is over, all blocks that no client holds can be leased. */
static void
leases__of_the_dead_are_free_again(void **state)
{
	static struct peer peers[32];
	uint32_t sum = 0;

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		peer_open(&peers[i], daemon_.socket, 1, 64);
		for (unsigned j = 0; j < 3000 && peers[i].nb_leases < UROCE_MUX_LEASES_MAX; j++) {
			if (peer_lease(&peers[i], UROCE_MUX_LEASES_MAX - peers[i].nb_leases) == 0)
				(void)usleep(20000);
		}
		sum += peers[i].nb_leases;
	}
	/* a user may have half of all blocks */
	assert_int_equal(sum, UROCE_MUX_BLOCKS / 2);
	for (unsigned i = 0; i < 32; i++)
		peer_close(&peers[i]);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients__are_many),
		cmocka_unit_test(clients__are_killed_under_load),
		cmocka_unit_test(leases__of_the_dead_are_free_again),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
