/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A benchmark: the share of uroced's time that an honest client has while other clients flood,
 * sleep or are idle, and the time that a frame takes. The benchmark checks no limits;
 * test/uroced/turns.c checks the rules with a clock of its own.
 *
 * A client's rate is its bytes for each microsecond of uroced's CPU time, so that other work on the
 * machine has little effect. The honest client is measured in windows, in turn alone and beside
 * other clients. Each ratio is that of two neighbouring windows. A printed figure is the median of
 * the ratios, with the least and the greatest ratio.
 *
 * All descriptors of a ring name one frame, so a ring is filled by publishing an index.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"
#include "now_ms.h"

#define NB_WINDOWS  7u
#define WINDOW_MS   300u
#define NB_SLOTS    16384u
#define NB_IDLE     128u
#define LONG_FRAME  4242u
#define SHORT_FRAME 54u

static struct daemon daemon_;

/* --- clients ------------------------------------------------------------------------------------- */

/*
 * Attach a client. All descriptors of its rings up name one frame to itself. All descriptors of its
 * rings down name one empty buffer.
 * @param len  the length of the frame; 0 if the descriptors of the rings up are garbage
 */
static void
open_client(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots, uint16_t len)
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
	for (uint32_t i = 0; i < nb_pairs * nb_slots; i++) {
		uroce_spsc_put(&peer->up[i / nb_slots], i % nb_slots,
			       (struct uroce_spsc_desc){ (uint32_t)at, len });
		uroce_spsc_put(&peer->down[i / nb_slots], i % nb_slots,
			       (struct uroce_spsc_desc){ (uint32_t)at + 8192, 0 });
	}
	peer_attach(peer);
	assert_int_equal(peer_lease(peer, 1), 1);
	if (len > 0)
		(void)peer_build(peer, peer->area.mem + at, NULL, peer_qpn(peer, 0), len);
	/*
	 * close the memory's descriptor: with hundreds of clients the process would have too many
	 */
	(void)close(peer->area_fd);
	peer->area_fd = -1;
}

/* Fill the rings up of a client, and empty its rings down. */
static void
refill(struct peer *peer, bool is_always_asleep)
{
	for (uint32_t i = 0; i < peer->area.plan.nb_pairs; i++) {
		const int32_t room = uroce_spsc_room(&peer->up[i]);
		const int32_t ready = uroce_spsc_ready(&peer->down[i]);

		assert_true(room >= 0 && ready >= 0);
		if (room > 0)
			peer_push(peer, i, (uint32_t)room);
		if (ready > 0)
			uroce_spsc_pop(&peer->down[i], (uint32_t)ready);
		if (is_always_asleep)
			atomic_store(&peer->down[i].ring->sleeps, 1);
	}
}

/* --- figures ------------------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void
print_figure(const char *name, const char *unit, double *values)
{
	qsort(values, NB_WINDOWS, sizeof(values[0]), compare);
	printf("%-58s %8.2f %s (%.2f to %.2f of %u)\n", name, values[NB_WINDOWS / 2], unit,
	       values[0], values[NB_WINDOWS - 1], NB_WINDOWS);
	(void)fflush(stdout);
}

/* Clients that send while the honest client is measured. */
struct load {
	struct peer *peers;
	unsigned nb;
	bool is_always_asleep;
};

/* Get the number of bytes that the honest client sends in a microsecond of uroced's CPU time. */
static double
measure_rate(struct peer *honest, unsigned slot, const struct load *load)
{
	uint64_t bytes = daemon_ask_client(&daemon_, slot, "bytes_up");
	uint64_t ns = daemon_cpu_ns(&daemon_);

	for (const uint64_t until_ms = now_ms() + WINDOW_MS; now_ms() < until_ms;) {
		refill(honest, false);
		for (unsigned i = 0; load && i < load->nb; i++)
			refill(&load->peers[i], load->is_always_asleep);
	}
	bytes = daemon_ask_client(&daemon_, slot, "bytes_up") - bytes;
	ns = daemon_cpu_ns(&daemon_) - ns;
	return 1000.0 * (double)bytes / (double)ns;
}

/*
 * Print the honest client's share. While the honest client is measured alone, the rings of the
 * others are empty, so that these clients get no turns.
 * @param nb_shares  the number of equal shares, of which the honest client is to have one
 */
static void
compare_rates(const char *name, struct peer *honest, unsigned slot, const struct load *load,
	      unsigned nb_shares)
{
	double ratios[NB_WINDOWS];

	for (unsigned i = 0; i < NB_WINDOWS; i++) {
		const double alone = measure_rate(honest, slot, NULL);

		ratios[i] = measure_rate(honest, slot, load) / alone * nb_shares;
	}
	print_figure(name, "of its share", ratios);
}

static void
measure_shares(void)
{
	static struct peer honest, floods[2], garbage, idle[NB_IDLE];
	unsigned slot;

	open_client(&honest, 1, NB_SLOTS, LONG_FRAME);
	assert_int_equal(daemon_clients(&daemon_, &slot, 1), 1);
	for (unsigned i = 0; i < 2; i++)
		open_client(&floods[i], 4, NB_SLOTS, SHORT_FRAME);
	compare_rates("beside 2 clients that flood with 54 bytes over 4 rings", &honest, slot,
		      &(struct load){ floods, 2, false }, 3);
	compare_rates("beside 2 such clients that always say that they sleep", &honest, slot,
		      &(struct load){ floods, 2, true }, 3);
	open_client(&garbage, 4, NB_SLOTS, 0);
	compare_rates("beside a client with garbage in its descriptors", &honest, slot,
		      &(struct load){ &garbage, 1, false }, 2);
	for (unsigned i = 0; i < 2; i++)
		peer_close(&floods[i]);
	peer_close(&garbage);

	/*
	 * measure all windows of the honest client alone first, because the idle clients stay
	 * attached
	 */
	double alone[NB_WINDOWS], ratios[NB_WINDOWS];

	for (unsigned i = 0; i < NB_WINDOWS; i++)
		alone[i] = measure_rate(&honest, slot, NULL);
	for (unsigned i = 0; i < NB_IDLE; i++)
		open_client(&idle[i], UROCE_SHM_PAIRS_MAX, UROCE_SPSC_SLOTS_MIN, 60);
	for (unsigned i = 0; i < NB_WINDOWS; i++)
		ratios[i] = measure_rate(&honest, slot, NULL) / alone[i];
	print_figure("beside 128 idle clients of 32 pairs of rings", "of its share", ratios);
	for (unsigned i = 0; i < NB_IDLE; i++)
		peer_close(&idle[i]);
	peer_close(&honest);
}

static void
measure_cost(const char *name, uint16_t len)
{
	static struct peer peers[2];
	double costs[NB_WINDOWS];

	for (unsigned i = 0; i < 2; i++)
		open_client(&peers[i], 1, NB_SLOTS, len);
	for (unsigned i = 0; i < NB_WINDOWS; i++) {
		unsigned slots[2];
		uint64_t ns = daemon_ask(&daemon_, "/uroced/host", "busy_ns"), frames = 0;

		assert_int_equal(daemon_clients(&daemon_, slots, 2), 2);
		for (unsigned j = 0; j < 2; j++)
			frames -= daemon_ask_client(&daemon_, slots[j], "frames_up");
		for (const uint64_t until_ms = now_ms() + WINDOW_MS; now_ms() < until_ms;) {
			refill(&peers[0], false);
			refill(&peers[1], false);
		}
		for (unsigned j = 0; j < 2; j++)
			frames += daemon_ask_client(&daemon_, slots[j], "frames_up");
		ns = daemon_ask(&daemon_, "/uroced/host", "busy_ns") - ns;
		costs[i] = (double)ns / (double)frames;
	}
	print_figure(name, "ns", costs);
	for (unsigned i = 0; i < 2; i++)
		peer_close(&peers[i]);
}

static void
measure_all(void **state)
{
	(void)state;
	measure_shares();
	measure_cost("a frame of 54 bytes, two clients", SHORT_FRAME);
	measure_cost("a frame of 4242 bytes, two clients", LONG_FRAME);
}

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

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(measure_all) };

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
