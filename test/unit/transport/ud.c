/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Datagrams [IBA 9.8.3].
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/hdr.h"

static struct pair pair;

static void
ud_send__arrives_behind_its_grh(void **state)
{
	(void)state;
	for (int is_ipv6 = 0; is_ipv6 <= 1; is_ipv6++) {
		struct pair_conf conf = pair_conf(IBV_QPT_UD);
		const uint32_t ip_len = is_ipv6 ? 40 : 20;

		conf.is_ipv6 = is_ipv6;
		pair_open(&pair, &conf);
		pair_fill(&pair, A, 0, 1000, 1);
		pair_post_recv(&pair, B, 0, 2000);
		memset(pair.host[B].mem, 0xee, 40);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 1000 });
		pair_run(&pair);
		pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n");
		pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
		pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 1040 from aaaaa1\n");
		assert_true(pair_is_equal(&pair, 0, 40, 1000));
		/* the IP header ends where the payload begins */
		const uint8_t *ip = pair.host[B].mem + 40 - ip_len;

		assert_int_equal(ip[0] >> 4, is_ipv6 ? 6 : 4);
		assert_memory_equal(ip + ip_len - (is_ipv6 ? 32 : 8),
				    pair.host[A].path.hdr + pair.host[A].path.udp_off -
					    (is_ipv6 ? 32 : 8),
				    is_ipv6 ? 32 : 8);
		for (uint32_t i = 0; i < 40 - ip_len; i++)
			assert_int_equal(pair.host[B].mem[i], 0);
		pair_close(&pair);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud_send__arrives_behind_its_grh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
