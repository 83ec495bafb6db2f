/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shares: eight clients whose lanes are never empty, one of which floods with small frames over four lanes and one of
 * which sends garbage. By the daemon's counters each of the others has what is fair of the bytes that are passed on.
 *
 * All slots of a lane name the same frame, so that to fill it again is to publish an index.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"

#define NB_PEERS 8u
#define FLOOD    6u
#define GARBAGE  7u
#define NB_SLOTS 16384u
#define RUN_MS   2000u

static struct daemon daemon_;

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
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Long lanes, and two buffers for all of their slots. */
static void
open_long(struct peer *peer, uint32_t nb_pairs, uint16_t len)
{
	struct uroce_area_plan plan = { .nb_pairs = nb_pairs,
					.nb_slots = NB_SLOTS,
					.nb_bindings = UROCE_MUX_BLOCK };
	uint64_t at = 0;

	memset(peer, 0, sizeof(*peer));
	peer_connect(peer, daemon_.socket);
	plan.frame_max = peer->host.frame_limit;
	for (uint32_t i = 0; i < nb_pairs; i++) {
		plan.up[i] = at;
		at += uroce_lane_size(NB_SLOTS);
		plan.down[i] = at;
		at += uroce_lane_size(NB_SLOTS);
	}
	plan.bindings = at;
	at += UROCE_MUX_BLOCK * sizeof(uint64_t);
	plan.size = (at + 2 * 8192 + 4095) / 4096 * 4096;
	assert_int_equal(uroce_area_create(&peer->area, &plan, &peer->area_fd), 0);
	peer_reread(peer);
	for (uint32_t i = 0; i < nb_pairs; i++) {
		for (uint32_t slot = 0; slot < NB_SLOTS; slot++) {
			uroce_lane_put(&peer->up[i], slot,
				       (struct uroce_lane_frame){ (uint32_t)at, len });
			uroce_lane_put(&peer->down[i], slot,
				       (struct uroce_lane_frame){ (uint32_t)at + 8192, 0 });
		}
	}
	peer_attach(peer);
	assert_int_equal(peer_lease(peer, 1), 1);
	if (len > 0)
		(void)peer_build(peer, peer->area.mem + at, NULL, peer_qpn(peer, 0), len);
}

/* Fill what is empty, empty what is full. */
static void
turn(struct peer *peer)
{
	for (uint32_t i = 0; i < peer->area.plan.nb_pairs; i++) {
		const int32_t room = uroce_lane_room(&peer->up[i]);
		const int32_t ready = uroce_lane_ready(&peer->down[i]);

		assert_true(room >= 0 && ready >= 0);
		if (room > 0)
			peer_push(peer, i, (uint32_t)room);
		if (ready > 0)
			uroce_lane_pop(&peer->down[i], (uint32_t)ready);
	}
}

static void
run(struct peer *peers, unsigned nb)
{
	for (const uint64_t until_ms = now_ms() + RUN_MS; now_ms() < until_ms;) {
		for (unsigned i = 0; i < nb; i++)
			turn(&peers[i]);
	}
}

static void
clients__have_fair_shares(void **state)
{
	static struct peer peers[NB_PEERS];
	uint64_t bytes[NB_PEERS], sum = 0;
	unsigned slots[NB_PEERS];

	(void)state;
	for (unsigned i = 0; i < NB_PEERS; i++)
		open_long(&peers[i], i == FLOOD ? 4 : 1, i == FLOOD ? 64 : i == GARBAGE ? 0 : 4242);
	run(peers, NB_PEERS);
	assert_int_equal(daemon_clients(&daemon_, slots, NB_PEERS), NB_PEERS);
	for (unsigned i = 0; i < NB_PEERS; i++) {
		bytes[i] = daemon_ask_client(&daemon_, slots[i], "bytes_up");
		sum += bytes[i];
	}
	for (unsigned i = 0; i < NB_PEERS; i++)
		print_message("# client %u: %5.1f %% of the bytes\n", i,
			      100.0 * (double)bytes[i] / (double)sum);
	assert_true(daemon_ask_client(&daemon_, slots[GARBAGE], "drop_slot") > 0);
	assert_int_equal(bytes[GARBAGE], 0);
	/* each costs it as much as a full frame, so it is not looked at more often than that */
	assert_true(daemon_ask_client(&daemon_, slots[GARBAGE], "drop_slot") * 4400 <=
		    (sum / (NB_PEERS - 1)) / 10 * 12);
	for (unsigned i = 0; i < FLOOD; i++)
		assert_true(bytes[i] * (NB_PEERS - 1) * 10 >= sum * 9);
	assert_true(bytes[FLOOD] * (NB_PEERS - 1) * 10 <= sum * 11);
	for (unsigned i = 0; i < NB_PEERS; i++)
		peer_close(&peers[i]);
}

/* What a frame costs, with two clients; a look, and no bound, for the machine may be busy. */
static void
measure(uint16_t len)
{
	static struct peer peers[2];
	uint64_t busy_ns, frames, drops;
	unsigned slots[2];

	open_long(&peers[0], 1, len);
	open_long(&peers[1], 1, len);
	busy_ns = daemon_ask(&daemon_, "/uroced/host", "busy_ns");
	run(peers, 2);
	busy_ns = daemon_ask(&daemon_, "/uroced/host", "busy_ns") - busy_ns;
	assert_int_equal(daemon_clients(&daemon_, slots, 2), 2);
	frames = daemon_ask_client(&daemon_, slots[0], "frames_up") +
		 daemon_ask_client(&daemon_, slots[1], "frames_up");
	drops = daemon_ask_client(&daemon_, slots[0], "drop_lane_full") +
		daemon_ask_client(&daemon_, slots[1], "drop_lane_full");
	print_message("# %u bytes: %u frames, %u %% to a full lane, %u ns each\n", len,
		      (unsigned)frames, (unsigned)(100 * drops / frames),
		      (unsigned)(busy_ns / frames));
	assert_true(frames > 0);
	peer_close(&peers[0]);
	peer_close(&peers[1]);
}

static void
frames__cost_little(void **state)
{
	(void)state;
	measure(64);
	measure(4242);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients__have_fair_shares),
		cmocka_unit_test(frames__cost_little),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
