/* SPDX-License-Identifier: BSD-3-Clause */

/* The pair of RC QPs that all tests of a program use, one test after the other. */

#include "rc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct pair pair;

int
open_pair(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	pair_open(&pair, &conf);
	return 0;
}

int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

void
post_writes(unsigned nb, uint32_t len)
{
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(
			pair_post(&pair, A,
				  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = len }),
			0);
}

void
post_read(uint32_t len)
{
	assert_int_equal(
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = len }),
		0);
}
