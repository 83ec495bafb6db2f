/* SPDX-License-Identifier: BSD-3-Clause */

/* Two honest clients: one sends numbered frames, and the other one checks them. */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define NUMBER_AT 70
#define TIMEOUT_S 300
#define KIB_SPARE 2048 /* KiB of freed memory that the allocator may keep */

/*
 * With a sanitizer the size of the memory is not checked: sanitizers keep freed memory, and the
 * address sanitizer itself reports leaks.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

void
pair_open(struct pair *pair, const struct daemon *daemon)
{
	memset(pair, 0, sizeof(*pair));
	peer_open(&pair->from, daemon->socket, 1, PAIR_SLOTS);
	peer_open(&pair->to, daemon->socket, 1, PAIR_SLOTS);
	peer_accept(&pair->to, &pair->from);
	(void)peer_build(&pair->from, pair->frame, NULL, peer_qpn(&pair->to, 0) + 3, PAIR_LEN);
}

void
pair_close(struct pair *pair)
{
	peer_close(&pair->from);
	peer_close(&pair->to);
}

static void
take(struct pair *pair)
{
	uint8_t got[UROCE_SHM_FRAME_MAX];
	uint16_t len;

	while ((len = peer_take(&pair->to, 0, got)) > 0) {
		memcpy(pair->frame + NUMBER_AT, &pair->nb_got, 4);
		assert_int_equal(len, PAIR_LEN);
		assert_memory_equal(got, pair->frame, PAIR_LEN);
		pair->nb_got++;
	}
}

static bool
put(struct pair *pair)
{
	if (pair->nb_sent - pair->nb_got >= PAIR_SLOTS)
		return false;
	memcpy(pair->frame + NUMBER_AT, &pair->nb_sent, 4);
	if (!peer_put(&pair->from, 0, pair->frame, PAIR_LEN))
		return false;
	peer_push(&pair->from, 0, 1);
	pair->nb_sent++;
	return true;
}

void
pair_step(struct pair *pair)
{
	for (unsigned i = 0; i < 16 && put(pair); i++)
		;
	take(pair);
}

void
pair_run(struct pair *pair, uint32_t nb)
{
	const uint32_t until = pair->nb_sent + nb;
	const time_t late = time(NULL) + TIMEOUT_S;

	while (pair->nb_got < until) {
		while (pair->nb_sent < until && put(pair))
			;
		take(pair);
		if (time(NULL) > late)
			fail_msg("%u frames sent, %u received", pair->nb_sent, pair->nb_got);
	}
}

static struct footprint
take_footprint(const struct daemon *daemon, unsigned nb_clients)
{
	return (struct footprint){ daemon_nb_fds(daemon), daemon_nb_watched(daemon), nb_clients,
				   daemon_kib(daemon, "RssAnon") };
}

/*
 * Wait until the numbers of descriptors stay the same. When a client has left, its descriptors are
 * closed by other threads and processes of uroced, one after the other.
 */
struct footprint
pair_footprint(const struct daemon *daemon, unsigned nb_clients)
{
	struct footprint last = { 0, 0, 0, 0 }, now;
	unsigned slots[1024];

	for (unsigned i = 0; daemon_clients(daemon, slots, 1024) != nb_clients; i++) {
		assert_true(i < TIMEOUT_S * 100);
		(void)usleep(10000);
	}
	for (unsigned nb_same = 0; nb_same < 10; nb_same++) {
		now = take_footprint(daemon, nb_clients);
		if (now.nb_fds != last.nb_fds || now.nb_watched != last.nb_watched)
			nb_same = 0;
		last = now;
		(void)usleep(10000);
	}
	return last;
}

void
pair_expect_footprint(const struct daemon *daemon, const struct footprint *before)
{
	struct footprint now = pair_footprint(daemon, before->nb_clients);

	for (unsigned i = 0; now.nb_fds > before->nb_fds && i < TIMEOUT_S * 100; i++) {
		(void)usleep(10000);
		now = take_footprint(daemon, before->nb_clients);
	}
	print_message("# descriptors %u to %u, memory %u to %u KiB\n", before->nb_fds, now.nb_fds,
		      before->kib, now.kib);
	assert_true(now.nb_fds <= before->nb_fds);
	assert_true(now.nb_watched <= before->nb_watched);
	assert_true(IS_SANITIZED || now.kib <= before->kib + KIB_SPARE);
}
