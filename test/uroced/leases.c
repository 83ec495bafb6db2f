/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Leases over the socket: a block has one holder, the number of leases is bounded, and blocks are
 * released. A user gets its blocks back by their tokens after a hang-up and after a restart of
 * uroced, and no other user gets them. Frames that were in the rings are not lost.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"
#include "now_ms.h"

/* maximum number of tries of 20 ms each; only a hang exceeds it */
#define LEASE_TRIES 3000
/* number of clients that together have all blocks which a user may have */
#define NB_HOARDERS (UROCE_MUX_BLOCKS / 2 / UROCE_MUX_LEASES_MAX)
#define OTHER_UID   65534u

static struct daemon daemon_;
static struct peer a, b, c;
static struct peer hoarder[NB_HOARDERS];
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
token__brings_a_lease_back(void **state)
{
	struct uroce_mux_lease lease;

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	peer_open(&b, daemon_.socket, 1, 64);
	assert_int_equal(peer_lease(&a, 9), 9);
	again(&a);
	assert_int_equal(a.nb_leases, 10);
	/* another process cannot take the block back with a wrong token */
	lease = a.lease[0];
	peer_hang_up(&a);
	b.lease[b.nb_leases] = lease;
	b.lease[b.nb_leases++].token = b.lease[0].token;
	again(&b);
	assert_int_equal(b.nb_leases, 1);
	/* three of the ten leases are not taken back: the token or the block is wrong */
	a.lease[3].token ^= 1;
	a.lease[4].block ^= 1;
	a.lease[5].block = 0;
	peer_connect(&a, daemon_.socket);
	peer_attach(&a);
	assert_int_equal(a.nb_leases, 7);
	/* a block that another client holds cannot be taken back */
	peer_connect(&c, daemon_.socket);
	c.nb_leases = 0;
	peer_make_area(&c, 1, 64);
	c.lease[c.nb_leases++] = lease;
	peer_attach(&c);
	assert_int_equal(c.nb_leases, 0);
	/* a block that was released cannot be taken back */
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

/* Let other users connect, until uroced is restarted. */
static void
let_others_in(void)
{
	if (geteuid() != 0)
		skip(); /* this process cannot become another user */
	assert_int_equal(chmod(daemon_.folder, 0755), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
}

static void
connect_as(struct peer *peer, uid_t uid)
{
	assert_int_equal(seteuid(uid), 0);
	peer_connect(peer, daemon_.socket);
	assert_int_equal(seteuid(0), 0);
}

/* Wait until the quarantine of released blocks is over. */
static void
outlast_quarantine(void)
{
	(void)usleep(2100000);
}

/*
 * Lease blocks until the client has `nb`. The blocks of clients that ended become free one by one,
 * when uroced has noticed the end and the quarantine is over.
 */
static void
lease_until(struct peer *peer, uint32_t nb)
{
	unsigned nb_tries = 0;

	while (peer->nb_leases < nb) {
		if (peer_lease(peer, nb - peer->nb_leases) > 0)
			continue;
		assert_true(nb_tries++ < LEASE_TRIES);
		(void)usleep(20000);
	}
}

/* Attach a client of another user, and lease as many blocks as a client may have. */
static void
open_as(struct peer *peer, uid_t uid)
{
	memset(peer, 0, sizeof(*peer));
	connect_as(peer, uid);
	peer_make_area(peer, 1, 64);
	peer_attach(peer);
	lease_until(peer, UROCE_MUX_LEASES_MAX);
}

static void
come_back_as(struct peer *peer, uid_t uid)
{
	connect_as(peer, uid);
	peer_attach(peer);
}

static void
open_hoarders(void)
{
	for (unsigned i = 0; i < NB_HOARDERS; i++)
		open_as(&hoarder[i], OTHER_UID);
}

static void
close_hoarders(void)
{
	for (unsigned i = 0; i < NB_HOARDERS; i++)
		peer_close(&hoarder[i]);
}

/*
 * Release all blocks of a client, but keep the tokens, which the client shows again in its next
 * ATTACH.
 */
static void
release_and_remember(struct peer *peer)
{
	const uint32_t nb = peer->nb_leases;

	release(peer);
	peer->nb_leases = nb;
}

/*
 * A hoarder collects tokens by LEASE and RELEASE. Then a client of another user leases some of
 * these blocks.
 */
static void
hoarder__has_no_block_of_others_after_a_start(void **state)
{
	uint32_t nb_shared = 0, nb_hoarded = 0;

	(void)state;
	let_others_in();
	open_hoarders();
	for (unsigned i = 0; i < NB_HOARDERS; i++)
		release_and_remember(&hoarder[i]);
	outlast_quarantine();
	peer_open(&a, daemon_.socket, 1, 64);
	assert_int_equal(peer_lease(&a, UROCE_MUX_LEASES_MAX - 1), UROCE_MUX_LEASES_MAX - 1);
	for (uint32_t i = 0; i < a.nb_leases; i++) {
		for (unsigned j = 0; j < NB_HOARDERS; j++)
			nb_shared += has(&hoarder[j], a.lease[i].block);
	}
	/* 512 shared blocks are expected, because the hoarders had half of all blocks */
	assert_true(nb_shared > 256);
	daemon_kill(&daemon_);
	daemon_start(&daemon_);
	let_others_in();
	for (unsigned i = 0; i < NB_HOARDERS; i++) {
		peer_hang_up(&hoarder[i]);
		come_back_as(&hoarder[i], OTHER_UID);
		nb_hoarded += hoarder[i].nb_leases;
	}
	again(&a);
	print_message("# the hoarder has %u blocks, the client %u of %u\n", nb_hoarded, a.nb_leases,
		      UROCE_MUX_LEASES_MAX);
	assert_int_equal(nb_hoarded, 0);
	assert_int_equal(a.nb_leases, UROCE_MUX_LEASES_MAX);
	peer_close(&a);
	close_hoarders();
}

/*
 * The clients of a user, which have half of all blocks, end. Later clients of the user lease the
 * other half. Then the earlier clients come back, and get no block.
 */
static void
user__takes_back_no_more_than_half(void **state)
{
	static struct peer old[NB_HOARDERS];
	uint32_t nb_taken_back = 0;

	(void)state;
	let_others_in();
	open_hoarders();
	memcpy(old, hoarder, sizeof(old));
	for (unsigned i = 0; i < NB_HOARDERS; i++)
		peer_hang_up(&old[i]);
	open_hoarders();
	for (unsigned i = 0; i < NB_HOARDERS; i++) {
		come_back_as(&old[i], OTHER_UID);
		nb_taken_back += old[i].nb_leases;
	}
	assert_int_equal(nb_taken_back, 0);
	for (unsigned i = 0; i < NB_HOARDERS; i++)
		peer_close(&old[i]);
	close_hoarders();
}

/*
 * If the file of leases was removed, no block is taken back after a restart, and all blocks can be
 * leased.
 */
static void
file__that_is_gone_frees_all(void **state)
{
	char path[128];

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	daemon_kill(&daemon_);
	(void)snprintf(path, sizeof(path), "%s.leases", daemon_.socket);
	assert_int_equal(unlink(path), 0);
	daemon_start(&daemon_);
	again(&a);
	assert_int_equal(a.nb_leases, 0);
	assert_int_equal(peer_lease(&a, 1), 1);
	peer_close(&a);
}

static void
lease__in_a_loop_gains_nothing(void **state)
{
	struct peer *last = &hoarder[NB_HOARDERS - 1];

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	for (unsigned i = 0; i < 1000; i++) {
		release(&a);
		assert_int_equal(peer_lease(&a, 16), 16);
	}
	for (unsigned i = 0; i < NB_HOARDERS - 1; i++) {
		peer_open(&hoarder[i], daemon_.socket, 1, 64);
		lease_until(&hoarder[i], UROCE_MUX_LEASES_MAX);
	}
	/* client a still has the 16 blocks that it leased in its last round */
	peer_open(last, daemon_.socket, 1, 64);
	lease_until(last, UROCE_MUX_LEASES_MAX - 16);
	outlast_quarantine();
	assert_int_equal(peer_lease(last, 16), 0);
	close_hoarders();
	peer_close(&a);
}

/* Attach a client of a user that shows the leases of another client. */
static void
show_leases_of(const struct peer *of, uid_t uid)
{
	memset(&b, 0, sizeof(b));
	connect_as(&b, uid);
	peer_make_area(&b, 1, 64);
	b.nb_leases = of->nb_leases;
	memcpy(b.lease, of->lease, sizeof(b.lease));
	peer_attach(&b);
}

/*
 * A client of another user cannot take a lease back, although it shows everything that the holder
 * of the lease shows.
 */
static void
lease__is_not_taken_back_by_another_user(void **state)
{
	(void)state;
	let_others_in();
	peer_open(&a, daemon_.socket, 1, 64);
	peer_hang_up(&a);
	show_leases_of(&a, OTHER_UID);
	assert_int_equal(b.nb_leases, 0);
	peer_close(&b);
	/* after a restart of uroced, the other user still cannot take the lease back */
	daemon_kill(&daemon_);
	daemon_start(&daemon_);
	let_others_in();
	show_leases_of(&a, OTHER_UID);
	assert_int_equal(b.nb_leases, 0);
	peer_close(&b);
	come_back_as(&a, 0);
	assert_int_equal(a.nb_leases, 1);
	peer_close(&a);
}

/* Build a frame to the first QP number of a. @return its length */
static uint16_t
build(uint32_t nth)
{
	(void)peer_build(&b, frame, NULL, peer_qpn(&a, 0), 400);
	memcpy(frame + 100, &nth, 4);
	return 400;
}

/*
 * No frame in a ring is lost when uroced is killed. The next uroced delivers the frames in rings
 * up, and the receiver still reads the frames in rings down.
 */
static void
daemon__that_is_killed_loses_nothing_in_rings(void **state)
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
		while (uroce_spsc_room(&b.up[0]) < 64)
			;
		daemon_kill(&daemon_);
		for (uint32_t i = 10; i < 20; i++)
			peer_send(&b, 0, frame, build(i));
		assert_false(peer_hear(&a, 0));
		daemon_start(&daemon_);
		/*
		 * the receiver attaches before the sender, since frames for a client that is not
		 * there are dropped
		 */
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

/*
 * uroced has the same MAC again after it was killed, although the driver of this port chooses a
 * random MAC at each start.
 */
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

/* After a restart with a file of leases, no block is leased whose holder may come back. */
static void
lease__is_not_given_to_others_after_a_start(void **state)
{
	uint64_t begin_ms;

	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	daemon_kill(&daemon_);
	/* uroced may have begun to wait long before this process notices that it has started */
	begin_ms = now_ms();
	daemon_start(&daemon_);
	memset(&c, 0, sizeof(c));
	peer_connect(&c, daemon_.socket);
	peer_make_area(&c, 1, 64);
	peer_attach(&c);
	assert_int_equal(peer_lease(&c, 1), 1);
	assert_true(now_ms() - begin_ms >= 2000);
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
		cmocka_unit_test(token__brings_a_lease_back),
		cmocka_unit_test(daemon__that_is_killed_loses_nothing_in_rings),
		cmocka_unit_test(daemon__that_is_killed_has_the_same_mac_again),
		cmocka_unit_test(lease__is_not_given_to_others_after_a_start),
		cmocka_unit_test(file__that_is_gone_frees_all),
		cmocka_unit_test(lease__is_not_taken_back_by_another_user),
		cmocka_unit_test(hoarder__has_no_block_of_others_after_a_start),
		cmocka_unit_test(user__takes_back_no_more_than_half),
		cmocka_unit_test(lease__in_a_loop_gains_nothing),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
