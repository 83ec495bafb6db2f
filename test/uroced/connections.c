/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Attacks by connections: a client opens too many connections, or opens and closes them in a loop.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "attacker.h"

#define NB_AT_ONCE 1000u
/*
 * time limit in seconds; uroced handles these connections in a shorter time, also on a busy machine
 */
#define HANG_S 300

static void
connections__opened_and_closed_at_once(void **state)
{
	const time_t until = time(NULL) + HANG_S;
	unsigned nb = 0;

	(void)state;
	for (unsigned i = 0; i < 20000 || (nb < NB_AT_ONCE && time(NULL) < until); i++) {
		const int fd = uroce_mux_connect(daemon_.socket);

		if (fd >= 0) {
			nb++;
			(void)close(fd);
		}
		if (i % 16 == 0)
			pair_step(&pair);
	}
	print_message("# %u connections\n", nb);
	assert_true(nb >= NB_AT_ONCE);
}

#define NB_HELLOS 200u
/* time limit in seconds; if uroced accepts many connections in a round, the test needs less time */
#define ACCEPT_TRIES_S 200

/* Stop uroced until SIGCONT. */
static void
stop_daemon(void)
{
	assert_int_equal(kill(daemon_.pid, SIGSTOP), 0);
	assert_int_equal(waitpid(daemon_.pid, NULL, WUNTRACED), daemon_.pid);
}

/*
 * Fill the queue of uroced's listener with connections. The last connection sends HELLO.
 * @return the number of connections
 */
static unsigned
fill_queue(int *sockets, unsigned room)
{
	const union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };
	unsigned nb = 0;

	while (nb < room && (sockets[nb] = uroce_mux_connect(daemon_.socket)) >= 0)
		nb++;
	assert_true(nb > 32 && nb < room);
	assert_int_equal(uroce_mux_send(sockets[nb - 1], &hello, -1), 0);
	return nb;
}

/*
 * Count the rounds of uroced until the last connection of a full queue has its reply. In a round
 * uroced replies to one message of a client, so the replies to `eve` count the rounds.
 * @return the number of replies to eve
 */
static unsigned
nb_answered_before_the_last(void)
{
	const union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };
	int sockets[8192], got;
	unsigned nb, nb_answered = 0;

	peer_connect(&eve, daemon_.socket);
	stop_daemon();
	for (unsigned i = 0; i < NB_HELLOS; i++)
		assert_int_equal(uroce_mux_send(eve.socket, &hello, -1), 0);
	nb = fill_queue(sockets, 8192);
	assert_int_equal(kill(daemon_.pid, SIGCONT), 0);
	/* do not sleep in this loop, so that uroced is stopped as soon as it has replied */
	while (uroce_mux_receive(sockets[nb - 1], &peer_message, &got) == -EAGAIN)
		;
	stop_daemon();
	assert_int_equal(peer_message.type, UROCE_MUX_HOST);
	while (uroce_mux_receive(eve.socket, &peer_message, &got) == 1)
		nb_answered++;
	assert_int_equal(kill(daemon_.pid, SIGCONT), 0);
	for (unsigned i = 0; i < nb; i++)
		(void)close(sockets[i]);
	peer_hang_up(&eve);
	return nb_answered;
}

/*
 * uroced accepts all waiting connections in a few rounds, and does not need a round for each. On a
 * busy machine this test may stop uroced too late, so it tries again.
 */
static void
connections__are_accepted_as_they_wait(void **state)
{
	const time_t until = time(NULL) + ACCEPT_TRIES_S;
	unsigned least = UINT_MAX;

	(void)state;
	while (least > 32 && time(NULL) < until) {
		const unsigned nb = nb_answered_before_the_last();

		least = nb < least ? nb : least;
	}
	print_message("# %u rounds\n", least);
	assert_true(least <= 32);
}

/* The connections of a user are bounded. When some are closed, new ones are accepted. */
static void
connections__beyond_what_a_user_may_have(void **state)
{
	static struct peer crowd[600];
	unsigned nb = 0, nb_refused = 0;

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		crowd[i].socket = -1;
		while (crowd[i].socket < 0) {
			crowd[i].socket = uroce_mux_connect(daemon_.socket);
			pair_step(&pair);
		}
	}
	for (unsigned i = 0; i < 600; i++) {
		union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

		(void)uroce_mux_send(crowd[i].socket, &hello, -1);
		if (peer_hear(&crowd[i], UROCE_MUX_HOST))
			nb++;
		else
			nb_refused++;
		pair_step(&pair);
	}
	assert_int_equal(nb, 512 - 2);
	assert_int_equal(nb_refused, 90);
	for (unsigned i = 0; i < 600; i++)
		(void)close(crowd[i].socket);
	attacker_open();
}

/*
 * Open connections as a user until uroced refuses one.
 * @return the number of accepted connections
 */
static unsigned
crowd_as(uid_t uid, int *sockets, unsigned room)
{
	union uroce_mux_message message;
	unsigned nb = 0;
	int other;

	assert_int_equal(seteuid(uid), 0);
	for (bool is_refused = false; !is_refused && nb < room; nb++) {
		struct pollfd fd = { -1, POLLIN, 0 };

		message.hello = (struct uroce_mux_hello){ UROCE_MUX_HELLO, UROCE_MUX_VERSION };
		while ((sockets[nb] = uroce_mux_connect(daemon_.socket)) < 0)
			pair_step(&pair);
		/* ignore the result, because the connection may be closed already */
		(void)uroce_mux_send(sockets[nb], &message, -1);
		fd.fd = sockets[nb];
		assert_true(poll(&fd, 1, -1) == 1);
		assert_int_equal(uroce_mux_receive(sockets[nb], &message, &other), 1);
		is_refused = message.type == UROCE_MUX_REFUSED;
	}
	assert_int_equal(seteuid(0), 0);
	return nb - 1;
}

/* Two users have all connections that they may have. A third user can still connect. */
static void
connections__of_two_users_leave_room_for_others(void **state)
{
	static int sockets[2 * 600];
	struct rlimit files;
	unsigned nb[2];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (geteuid() != 0 || files.rlim_max < 2048) {
		print_message("# this needs root, and 2048 descriptors\n");
		skip();
	}
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(chmod(daemon_.folder, 0711), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
	memset(sockets, -1, sizeof(sockets));
	nb[0] = crowd_as(65531, sockets, 600);
	nb[1] = crowd_as(65532, sockets + 600, 600);
	print_message("# %u and %u connections\n", nb[0], nb[1]);
	attacker_open();
	peer_close(&eve);
	for (unsigned i = 0; i < 2 * 600; i++) {
		if (sockets[i] >= 0)
			(void)close(sockets[i]);
	}
	(void)attacker_begin(NULL);
}

int
main(int argc, char **argv)
{
#define ATTACK(test) cmocka_unit_test_setup_teardown(test, attacker_begin, attacker_check)
	const struct CMUnitTest tests[] = {
		ATTACK(connections__opened_and_closed_at_once),
		ATTACK(connections__are_accepted_as_they_wait),
		ATTACK(connections__beyond_what_a_user_may_have),
		ATTACK(connections__of_two_users_leave_room_for_others),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, attacker_set_up, attacker_tear_down);
}
