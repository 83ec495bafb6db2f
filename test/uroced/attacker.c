/* SPDX-License-Identifier: BSD-3-Clause */

/* The fixture of the tests with an attacker: uroced, two honest clients, and the attacker. */

#include "attacker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct daemon daemon_;
struct pair pair;
static struct footprint before;
struct peer eve;

int
attacker_set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	pair_open(&pair, &daemon_);
	/*
	 * attach once before the footprint is taken, because uroced keeps memory that it allocates
	 * for the first client of a kind
	 */
	peer_open(&eve, daemon_.socket, 1, 64);
	peer_close(&eve);
	before = pair_footprint(&daemon_, 2);
	return 0;
}

int
attacker_tear_down(void **state)
{
	(void)state;
	pair_close(&pair);
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

int
attacker_begin(void **state)
{
	(void)state;
	memset(&eve, 0, sizeof(eve));
	eve.socket = eve.doorbell = -1;
	return 0;
}

int
attacker_check(void **state)
{
	(void)state;
	peer_close(&eve);
	pair_run(&pair, 2000);
	pair_expect_footprint(&daemon_, &before);
	return 0;
}

void
attacker_open(void)
{
	peer_open(&eve, daemon_.socket, 2, 64);
	peer_accept(&eve, &pair.from);
}
