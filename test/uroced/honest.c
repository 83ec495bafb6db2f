/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two honest clients of uroced. They attach, send numbered frames to each other without a loss,
 * leave, and begin again until their time is over.
 *
 *     honest SOCKET UID SECONDS
 *
 * A line of the output, in braces, says how often they attached, how long that took, and how many
 * frames arrived. The exit status is 0 if all frames arrived in order and unchanged.
 */

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "pair.h"

#define NB_FRAMES 20000u
#define ROUND_US  500000

static uint64_t
now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int
by_size(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static void
become_user(uid_t uid)
{
	if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0) {
		perror("honest: this needs root");
		exit(2);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static struct daemon daemon_;
static uint64_t until_us;

/*
 * Attach both clients, one after the other.
 * @return how long each took, from connect() to its first lease
 */
static uint64_t
open_timed(struct pair *pair)
{
	const uint64_t began_us = now_us();

	pair_open(pair, &daemon_);
	return (now_us() - began_us) / 2;
}

static void
pair__loses_nothing(void **state)
{
	static uint64_t attach_us[1 << 20];
	static struct pair pair;
	uint64_t nb_frames = 0;
	size_t nb = 0;

	(void)state;
	while (now_us() < until_us && nb < sizeof(attach_us) / sizeof(attach_us[0])) {
		const uint64_t round_us = now_us() + ROUND_US;

		attach_us[nb++] = open_timed(&pair);
		while (pair.nb_got < NB_FRAMES && now_us() < round_us)
			pair_run(&pair, 100);
		nb_frames += pair.nb_got;
		pair_close(&pair);
	}
	qsort(attach_us, nb, sizeof(attach_us[0]), by_size);
	(void)printf("{\"attaches\": %zu, \"attach_us_median\": %llu, \"attach_us_max\": %llu, "
		     "\"frames\": %llu}\n",
		     2 * nb, (unsigned long long)attach_us[nb / 2],
		     (unsigned long long)attach_us[nb - 1], (unsigned long long)nb_frames);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pair__loses_nothing) };

	if (argc != 4) {
		(void)fprintf(stderr, "honest: allowed are 3 arguments: SOCKET UID SECONDS\n");
		return 2;
	}
	(void)snprintf(daemon_.socket, sizeof(daemon_.socket), "%s", argv[1]);
	until_us = now_us() + 1000000 * strtoull(argv[3], NULL, 10);
	become_user((uid_t)strtoul(argv[2], NULL, 10));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
