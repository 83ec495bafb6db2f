/* SPDX-License-Identifier: BSD-3-Clause */

/* The slots of the peer cache: the hosts of one network use different slots. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "transport/recovery/peer_cache.h"

/*
 * Number of slots that the first `nb_hosts` hosts of a network use. Their addresses differ in the
 * last byte.
 */
static unsigned
count_slots(uint8_t *ip, size_t len, unsigned nb_hosts)
{
	bool is_used[UROCE_PEER_CACHE_SLOTS] = { false };
	unsigned nb = 0;

	for (unsigned i = 1; i <= nb_hosts; i++) {
		ip[len - 1] = (uint8_t)i;
		const unsigned slot = uroce_peer_cache_slot(uroce_peer_cache_hash(ip, len));

		assert_in_range(slot, 0, UROCE_PEER_CACHE_SLOTS - 1);
		nb += !is_used[slot];
		is_used[slot] = true;
	}
	return nb;
}

static void
hosts__of_one_network_have_slots_of_their_own(void **state)
{
	uint8_t v4[4] = { 10, 0, 0, 0 };
	uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8 };

	(void)state;
	assert_true(count_slots(v4, sizeof(v4), 16) >= 12);
	assert_true(count_slots(v6, sizeof(v6), 16) >= 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts__of_one_network_have_slots_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
