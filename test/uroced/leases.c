/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Leases, over the socket: exclusive, at most so many, given back; kept over a hang-up and over the daemon's end by
 * their tickets, and by nothing else. What was in the lanes meanwhile is still there.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"

static struct daemon daemon_;
static struct peer a, b, c;
static uint8_t frame[UROCE_AREA_FRAME_MAX], got[UROCE_AREA_FRAME_MAX];

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

static bool
has(const struct peer *peer, uint32_t block)
{
	for (uint32_t i = 0; i < peer->nb_leases; i++) {
		if (peer->lease[i].block == block)
			return true;
	}
	return false;
}

static void
release(struct peer *peer)
{
	static union uroce_mux_message out;

	out.release.type = UROCE_MUX_RELEASE;
	out.release.nb = peer->nb_leases;
	for (uint32_t i = 0; i < peer->nb_leases; i++)
		out.release.block[i] = peer->lease[i].block;
	assert_int_equal(uroce_mux_send(peer->socket, &out, -1), 0);
	peer->nb_leases = 0;
}

static void
again(struct peer *peer)
{
	peer_hang_up(peer);
	peer_connect(peer, daemon_.socket);
	peer_attach(peer);
}

static void
leases__are_exclusive_and_bounded(void **state)
{
	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	peer_open(&b, daemon_.socket, 1, 64);
	assert_int_equal(peer_lease(&a, 0), 0);
	assert_int_equal(peer_lease(&a, 100), 100);
	assert_int_equal(peer_lease(&b, UINT32_MAX), UROCE_MUX_LEASES_MAX - 1);
	assert_int_equal(peer_lease(&b, 1), 0);
	for (uint32_t i = 0; i < b.nb_leases; i++)
		assert_false(has(&a, b.lease[i].block));
	release(&b);
	assert_int_equal(peer_lease(&b, 2), 2);
	peer_close(&a);
	peer_close(&b);
}

static void
ticket__brings_a_lease_back(void **state)
{
	struct uroce_mux_lease lease;

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	peer_open(&b, daemon_.socket, 1, 64);
	assert_int_equal(peer_lease(&a, 9), 9);
	again(&a);
	assert_int_equal(a.nb_leases, 10);
	/* somebody else's, with and without the number that it is for */
	lease = a.lease[0];
	peer_hang_up(&a);
	b.lease[b.nb_leases++] = lease;
	again(&b);
	assert_int_equal(b.nb_leases, 1);
	/* a forged one */
	a.lease[3].ticket ^= 1;
	a.lease[4].block ^= 1;
	a.lease[5].block = 0;
	peer_connect(&a, daemon_.socket);
	peer_attach(&a);
	assert_int_equal(a.nb_leases, 7);
	/* one that somebody has */
	peer_connect(&c, daemon_.socket);
	c.nb_leases = 0;
	peer_make_area(&c, 1, 64);
	c.number = a.number;
	c.lease[c.nb_leases++] = lease;
	peer_attach(&c);
	assert_int_equal(c.nb_leases, 0);
	/* one that was given back */
	release(&a);
	peer_hang_up(&a);
	a.lease[a.nb_leases++] = lease;
	peer_connect(&a, daemon_.socket);
	peer_attach(&a);
	assert_int_equal(a.nb_leases, 0);
	peer_close(&a);
	peer_close(&b);
	peer_close(&c);
}

/* To a's first number. @return bytes */
static uint16_t
build(uint32_t nth)
{
	(void)peer_build(&b, frame, NULL, peer_qpn(&a, 0), 400);
	memcpy(frame + 100, &nth, 4);
	return 400;
}

/* Lanes outlive their daemon: what was put into them on either side of its end is there. */
static void
daemon__that_is_killed_loses_nothing_in_lanes(void **state)
{
	uint32_t nth;

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	peer_open(&b, daemon_.socket, 1, 64);
	peer_accept(&a, &b);
	for (unsigned life = 0; life < 5; life++) {
		const uint64_t begin_ms = now_ms();

		for (uint32_t i = 0; i < 10; i++)
			peer_send(&b, 0, frame, build(i));
		while (uroce_lane_room(&b.up[0]) < 64)
			;
		daemon_kill(&daemon_);
		for (uint32_t i = 10; i < 20; i++)
			peer_send(&b, 0, frame, build(i));
		assert_false(peer_hear(&a, 0));
		daemon_start(&daemon_);
		/* the receiver first, for who has no client is lost */
		again(&a);
		again(&b);
		assert_int_equal(a.nb_leases, 1);
		for (uint32_t i = 0; i < 20; i++) {
			assert_int_equal(peer_receive(&a, 0, got), 400);
			memcpy(&nth, got + 100, 4);
			assert_int_equal(nth, i);
		}
		print_message("# back after %u ms\n", (unsigned)(now_ms() - begin_ms));
	}
	peer_close(&a);
	peer_close(&b);
}

/* Its driver draws another one at each start. */
static void
daemon__that_is_killed_has_the_same_mac_again(void **state)
{
	(void)state;
	daemon_kill(&daemon_);
	for (unsigned life = 0; life < 2; life++) {
		daemon_start_on(&daemon_, "net_null0,no-rx=1", "net_null0,addr=192.0.2.1/24");
		peer_connect(life ? &b : &a, daemon_.socket);
		daemon_kill(&daemon_);
	}
	assert_memory_equal(a.host.mac, b.host.mac, sizeof(a.host.mac));
	peer_close(&a);
	peer_close(&b);
	daemon_start(&daemon_);
}

/* After a start with an old key nobody gets a block of which a ticket may come. */
static void
lease__is_not_given_to_others_after_a_start(void **state)
{
	uint64_t begin_ms;

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	daemon_kill(&daemon_);
	daemon_start(&daemon_);
	begin_ms = now_ms();
	memset(&c, 0, sizeof(c));
	peer_connect(&c, daemon_.socket);
	peer_make_area(&c, 1, 64);
	peer_attach(&c);
	assert_int_equal(peer_lease(&c, 1), 1);
	assert_true(now_ms() - begin_ms >= 1500);
	assert_int_equal(peer_lease(&c, 1), 1);
	again(&a);
	assert_int_equal(a.nb_leases, 1);
	peer_close(&a);
	peer_close(&c);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leases__are_exclusive_and_bounded),
		cmocka_unit_test(ticket__brings_a_lease_back),
		cmocka_unit_test(daemon__that_is_killed_loses_nothing_in_lanes),
		cmocka_unit_test(daemon__that_is_killed_has_the_same_mac_again),
		cmocka_unit_test(lease__is_not_given_to_others_after_a_start),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
