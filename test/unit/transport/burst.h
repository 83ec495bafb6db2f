/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_BURST_H
#define TEST_UNIT_TRANSPORT_BURST_H

/**
 * @file
 * Common part of the tests of bursts: a pair, and five frames of eight bytes each that arrive
 * together. A test may change the frame in the middle.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define NB      5u
#define ODD_ONE 2u /* index of the frame in the middle */
#define LEN     8u
#define SLOT(i) (64u * (i))

static struct pair pair;
static struct uroce_pkt pkts[NB];
static uint8_t verdicts[NB];

static inline void
open_with(const struct pair_conf *conf)
{
	pair_open(&pair, conf);
	pair_fill(&pair, A, 0, SLOT(NB), 1);
	pair_fill(&pair, B, 0, SLOT(NB), 2);
}

static inline int
open_rc(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	open_with(&conf);
	return 0;
}

static inline int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

/** Parse the five frames on the wire, for each of which the parser must return `verdict`. */
static inline void
parse_flights(enum uroce_verdict verdict)
{
	assert_int_equal(pair.nb_flights, NB);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(uroce_parse(pair.flights[i].frame, pair.flights[i].len, &pkts[i]),
				 verdict);
}

/** Deliver all five frames to side `end`, in each call as many as the QP accepts. */
static inline void
arrive_at(unsigned end)
{
	unsigned n = 0;

	while (n < NB)
		n += uroce_qpc_recv_burst(&pair.host[end].qpc, &pkts[n], NB - n, &verdicts[n],
					  pair.now_ns);
	assert_int_equal(n, NB);
}

/** Check that the payloads of the first `nb` frames are in B's memory, and no others. */
static inline void
expect_placed(unsigned nb)
{
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_is_equal(&pair, SLOT(i), SLOT(i), LEN), i < nb);
}

#endif /* TEST_UNIT_TRANSPORT_BURST_H */
