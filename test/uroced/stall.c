/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A wire that takes no frames for a while: two daemons are connected by memif, and the second
 * daemon is stopped now and then. Clients of the first daemon wait and lose no frame, except frames
 * that uroced drops because the port has taken none for too long. uroced counts these drops.
 */

#include <setjmp.h>
#include <signal.h>
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

#define NB_FRAMES 60000u
/* more frames than fit into the ring of memif and uroced's queue for the port together */
#define IN_FLIGHT 1800u
#define STOPS     40u
#define LEN       500u

static struct daemon near, far;
static struct peer from, to;
static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];

static int
set_up(void **state)
{
	char vdev[256];

	(void)state;
	daemon_make(&near);
	daemon_make(&far);
	(void)snprintf(vdev, sizeof(vdev),
		       "net_memif0,role=server,mac=02:00:00:00:00:01,bsize=4400,socket-abstract=no,"
		       "socket=%s/wire",
		       near.folder);
	daemon_start_on(&near, vdev, "net_memif0,addr=192.0.2.1/24");
	(void)snprintf(vdev, sizeof(vdev),
		       "net_memif0,role=client,mac=02:00:00:00:00:02,bsize=4400,socket-abstract=no,"
		       "socket=%s/wire",
		       near.folder);
	daemon_start_on(&far, vdev, "net_memif0,addr=192.0.2.2/24");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&far);
	daemon_end(&near);
	daemon_remove(&near);
	daemon_remove(&far);
	return 0;
}

static uint64_t
count_client(const char *name)
{
	unsigned slot;

	assert_int_equal(daemon_clients(&near, &slot, 1), 1);
	return daemon_ask_client(&near, slot, name);
}

/* Stop the far daemon, or continue it. */
static void
toggle(uint64_t *next_ms, unsigned *nb)
{
	if (now_ms() < *next_ms || *nb == 2 * STOPS)
		return;
	assert_int_equal(kill(far.pid, ++*nb % 2 ? SIGSTOP : SIGCONT), 0);
	*next_ms = now_ms() + (*nb % 2 ? 8 : 2);
}

static void
clients__wait_for_a_wire_that_stalls(void **state)
{
	uint64_t next_ms = 0, late_ms, lost = 0;
	uint32_t nb_sent = 0, nb_got = 0, nth = 0, last = 0;
	unsigned nb_toggles = 0;

	(void)state;
	peer_open(&from, near.socket, 1, 4096);
	peer_open(&to, far.socket, 1, 4096);
	peer_accept(&to, NULL);
	while (daemon_ask(&near, "/uroced/host", "is_up") == 0)
		(void)usleep(10000);
	(void)peer_build(&from, frame, to.host.mac, peer_qpn(&to, 0), LEN);
	late_ms = now_ms() + 60000;
	while (nb_got + lost < NB_FRAMES || nb_toggles < 2 * STOPS) {
		toggle(&next_ms, &nb_toggles);
		while (nb_sent < NB_FRAMES && nb_sent - nb_got - lost < IN_FLIGHT) {
			nb_sent++;
			memcpy(frame + 100, &nb_sent, 4);
			peer_send(&from, 0, frame, LEN);
		}
		while (peer_take(&to, 0, got) > 0) {
			memcpy(&nth, got + 100, 4);
			assert_true(nth > last);
			last = nth;
			nb_got++;
		}
		/* read telemetry only near the end of the time, because this wakes the daemon */
		if (now_ms() + 50000 > late_ms)
			lost = daemon_ask(&near, "/uroced/host", "drop_wire");
		if (now_ms() > late_ms)
			fail_msg("%u sent, %u received, %u lost", nb_sent, nb_got, (unsigned)lost);
	}
	print_message("# %u frames in %u stalls, %u given up by the daemon\n", nb_got, STOPS,
		      (unsigned)lost);
	assert_int_equal(nb_got + lost, NB_FRAMES);
	assert_true(nb_got > NB_FRAMES / 2);
	assert_int_equal(count_client("drop_wire"), 0);
	peer_close(&from);
	peer_close(&to);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients__wait_for_a_wire_that_stalls),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
