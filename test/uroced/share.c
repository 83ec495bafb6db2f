/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shares: eight clients whose lanes are never empty, one of which floods with small frames over four lanes and one of
 * which sends garbage. By the daemon's counters each of the others has what is fair of the daemon's time. What one client
 * gets alone, for the CPU time of the daemon, and beside attackers, is compared: the machine may be busy.
 *
 * All slots of a lane name the same frame, so that to fill it again is to publish an index.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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

#define NB_PEERS  8u
#define FLOOD     6u
#define GARBAGE   7u
#define NB_SLOTS  16384u
#define RUN_MS    2000u
#define WINDOW_MS 300u

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

/* Two buffers for all slots of the lanes. */
static void
open_lanes(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots, uint16_t len)
{
	struct uroce_shm_layout plan = { .nb_pairs = nb_pairs,
					 .nb_slots = nb_slots,
					 .nb_bindings = UROCE_MUX_BLOCK };
	uint64_t at = 0;

	memset(peer, 0, sizeof(*peer));
	peer_connect(peer, daemon_.socket);
	plan.frame_max = peer->host.frame_limit;
	for (uint32_t i = 0; i < nb_pairs; i++) {
		plan.up[i] = at;
		at += uroce_spsc_size(nb_slots);
		plan.down[i] = at;
		at += uroce_spsc_size(nb_slots);
	}
	plan.bindings = at;
	at += UROCE_MUX_BLOCK * sizeof(uint64_t);
	plan.size = (at + 2 * 8192 + 4095) / 4096 * 4096;
	assert_int_equal(uroce_shm_create(&peer->area, &plan, &peer->area_fd), 0);
	peer_reread(peer);
	for (uint32_t i = 0; i < nb_pairs; i++) {
		for (uint32_t slot = 0; slot < nb_slots; slot++) {
			uroce_spsc_put(&peer->up[i], slot,
				       (struct uroce_spsc_desc){ (uint32_t)at, len });
			uroce_spsc_put(&peer->down[i], slot,
				       (struct uroce_spsc_desc){ (uint32_t)at + 8192, 0 });
		}
	}
	peer_attach(peer);
	assert_int_equal(peer_lease(peer, 1), 1);
	if (len > 0)
		(void)peer_build(peer, peer->area.mem + at, NULL, peer_qpn(peer, 0), len);
}

static void
open_long(struct peer *peer, uint32_t nb_pairs, uint16_t len)
{
	open_lanes(peer, nb_pairs, NB_SLOTS, len);
}

/* Fill what is empty, empty what is full. */
static void
turn(struct peer *peer)
{
	for (uint32_t i = 0; i < peer->area.plan.nb_pairs; i++) {
		const int32_t room = uroce_spsc_room(&peer->up[i]);
		const int32_t ready = uroce_spsc_ready(&peer->down[i]);

		assert_true(room >= 0 && ready >= 0);
		if (room > 0)
			peer_push(peer, i, (uint32_t)room);
		if (ready > 0)
			uroce_spsc_pop(&peer->down[i], (uint32_t)ready);
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
	uint64_t ns[NB_PEERS], sum = 0;
	unsigned slots[NB_PEERS];

	(void)state;
	for (unsigned i = 0; i < NB_PEERS; i++)
		open_long(&peers[i], i == FLOOD ? 4 : 1, i == FLOOD ? 64 : i == GARBAGE ? 0 : 4242);
	run(peers, NB_PEERS);
	assert_int_equal(daemon_clients(&daemon_, slots, NB_PEERS), NB_PEERS);
	for (unsigned i = 0; i < NB_PEERS; i++) {
		ns[i] = daemon_ask_client(&daemon_, slots[i], "busy_ns");
		sum += ns[i];
	}
	for (unsigned i = 0; i < NB_PEERS; i++)
		print_message("# client %u: %5.1f %% of the time\n", i,
			      100.0 * (double)ns[i] / (double)sum);
	assert_true(daemon_ask_client(&daemon_, slots[GARBAGE], "drop_slot") > 0);
	assert_int_equal(daemon_ask_client(&daemon_, slots[GARBAGE], "bytes_up"), 0);
	for (unsigned i = 0; i < FLOOD; i++)
		assert_true(ns[i] * NB_PEERS * 10 >= sum * 8);
	assert_true(ns[FLOOD] * NB_PEERS * 10 <= sum * 12);
	assert_true(ns[GARBAGE] * NB_PEERS * 10 <= sum * 12);
	for (unsigned i = 0; i < NB_PEERS; i++)
		peer_close(&peers[i]);
}

/* What a client does in between, to get more. */
typedef void attack_fn(struct peer *peer);

/* Bytes of the first client, whose slot is this, for each us of the daemon's CPU time, while all lanes are kept full. */
static uint64_t
measure_rate(struct peer *peers, unsigned slot, unsigned nb, attack_fn *attack)
{
	uint64_t bytes, ns;

	bytes = daemon_ask_client(&daemon_, slot, "bytes_up");
	ns = daemon_cpu_ns(&daemon_);
	for (const uint64_t until_ms = now_ms() + WINDOW_MS; now_ms() < until_ms;) {
		for (unsigned i = 0; i < nb; i++) {
			turn(&peers[i]);
			if (i > 0 && attack)
				attack(&peers[i]);
		}
	}
	bytes = daemon_ask_client(&daemon_, slot, "bytes_up") - bytes;
	return bytes * 1000 / (daemon_cpu_ns(&daemon_) - ns);
}

/* The least of some windows. */
static uint64_t
measure_alone(struct peer *peer, unsigned slot)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 4; i++) {
		const uint64_t rate = measure_rate(peer, slot, 1, NULL);

		least = i > 0 && rate < least ? rate : least;
	}
	return least;
}

/*
 * Beside the others the first client has so many percent of what it has alone, in one of some windows: where the machine takes
 * the CPU from those who fill the lanes, the daemon spends time on nobody.
 */
static void
expect_rate(struct peer *peers, unsigned slot, unsigned nb, attack_fn *attack, uint64_t alone,
	    unsigned percent)
{
	uint64_t rate = 0;

	for (unsigned i = 0; i < 10 && rate * 100 < alone * percent; i++)
		rate = measure_rate(peers, slot, nb, attack);
	print_message("# %u MB/s of CPU time alone, %u beside others\n", (unsigned)alone,
		      (unsigned)rate);
	assert_true(rate * 100 >= alone * percent);
}

/* It says that it sleeps, at each moment: each of its frames is for one who is to be woken. */
static void
sleep_always(struct peer *peer)
{
	for (uint32_t i = 0; i < peer->area.plan.nb_pairs; i++)
		atomic_store(&peer->down[i].ring->sleeps, 1);
}

static void
floods__leave_others_their_share(void **state)
{
	static struct peer peers[3];
	uint64_t alone;
	unsigned slot;

	(void)state;
	open_long(&peers[0], 1, 4242);
	assert_int_equal(daemon_clients(&daemon_, &slot, 1), 1);
	alone = measure_alone(&peers[0], slot);
	open_long(&peers[1], 4, 54);
	open_long(&peers[2], 4, 54);
	/* 0.8 of a third */
	expect_rate(peers, slot, 3, NULL, alone, 27);
	expect_rate(peers, slot, 3, sleep_always, alone, 27);
	for (unsigned i = 0; i < 3; i++)
		peer_close(&peers[i]);
}

#define NB_IDLE 256u

/* Clients that attach with as many lanes as they may have, and send nothing. */
static void
idle_clients__cost_nothing(void **state)
{
	static struct peer idle[NB_IDLE], good;
	uint64_t alone;
	unsigned slot;

	(void)state;
	open_long(&good, 1, 4242);
	assert_int_equal(daemon_clients(&daemon_, &slot, 1), 1);
	alone = measure_alone(&good, slot);
	for (unsigned i = 0; i < NB_IDLE; i++) {
		open_lanes(&idle[i], UROCE_SHM_PAIRS_MAX, UROCE_SPSC_SLOTS_MIN, 60);
		(void)close(idle[i].area_fd);
	}
	expect_rate(&good, slot, 1, NULL, alone, 80);
	/* each of them is heard when it sends after all */
	for (unsigned i = 0; i < NB_IDLE; i++) {
		const uint32_t pair = i % UROCE_SHM_PAIRS_MAX;

		peer_push(&idle[i], pair, 1);
		while (uroce_spsc_room(&idle[i].up[pair]) < (int32_t)UROCE_SPSC_SLOTS_MIN)
			turn(&good);
	}
	for (unsigned i = 0; i < NB_IDLE; i++) {
		idle[i].area_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		peer_close(&idle[i]);
	}
	peer_close(&good);
}

#define NB_SMALL 3000u /* in each of four lanes */
#define NB_LARGE 4000u
#define SMALL    54u
#define LARGE    4242u

static void
send_to(struct peer *from, const struct peer *to, uint32_t qpn, uint16_t len)
{
	const struct uroce_spsc_desc slot = uroce_spsc_get(&from->up[0], 0);

	assert_int_equal(slot.len, len);
	(void)peer_build(from, from->area.mem + slot.offset, NULL, peer_qpn(to, 0) + qpn, len);
}

/*
 * All frames are in their lanes when the daemon goes on, and how they come out of the receiver's lane says who had how many
 * turns. @return long frames that are before the last short one
 */
static unsigned
nb_large_amid_small(struct peer *small, struct peer *large, struct peer *to)
{
	unsigned nb_large = 0, before_last = 0;

	assert_int_equal(kill(daemon_.pid, SIGSTOP), 0);
	for (uint32_t i = 0; i < 4; i++)
		peer_push(small, i, NB_SMALL);
	peer_push(large, 0, NB_LARGE);
	assert_int_equal(kill(daemon_.pid, SIGCONT), 0);
	for (unsigned nb = 0; nb < 4 * NB_SMALL + NB_LARGE;) {
		if (uroce_spsc_ready(&to->down[0]) == 0)
			continue;
		const uint16_t len = uroce_spsc_get(&to->down[0], 0).len;

		uroce_spsc_pop(&to->down[0], 1);
		nb_large += len == LARGE;
		before_last = len == SMALL ? nb_large : before_last;
		nb++;
	}
	return before_last;
}

/*
 * A short frame costs less than a long one, but not as much less as it has fewer bytes: who sends short ones gets no more of
 * the daemon by that. 12,000 of them are worth 153 long ones by bytes, and far more by time. Of some tries one counts, for a
 * daemon that is kept from the CPU takes that for the work of who has the turn.
 */
static void
frames__are_worth_their_time(void **state)
{
	static struct peer small, large, to;
	unsigned most = 0;

	(void)state;
	open_long(&small, 4, SMALL);
	open_long(&large, 1, LARGE);
	open_long(&to, 1, 0);
	peer_bind(&to, peer_qpn(&to, 0), peer_qpn(&small, 0), UROCE_BINDING_LOCAL);
	peer_bind(&to, peer_qpn(&to, 0) + 1, peer_qpn(&large, 0), UROCE_BINDING_LOCAL);
	send_to(&small, &to, 0, SMALL);
	send_to(&large, &to, 1, LARGE);
	for (unsigned i = 0; i < 10 && most < 400; i++) {
		const unsigned nb = nb_large_amid_small(&small, &large, &to);

		print_message("# %u short frames take as long as %u long ones\n", 4 * NB_SMALL, nb);
		most = nb > most ? nb : most;
	}
	assert_true(most >= 400);
	peer_close(&small);
	peer_close(&large);
	peer_close(&to);
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
	drops = daemon_ask_client(&daemon_, slots[0], "drop_ring_full") +
		daemon_ask_client(&daemon_, slots[1], "drop_ring_full");
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
		cmocka_unit_test(floods__leave_others_their_share),
		cmocka_unit_test(idle_clients__cost_nothing),
		cmocka_unit_test(frames__are_worth_their_time),
		cmocka_unit_test(frames__cost_little),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
