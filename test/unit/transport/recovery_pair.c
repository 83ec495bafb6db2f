/* SPDX-License-Identifier: BSD-3-Clause */

/* Two QPs for tests of loss recovery. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "recovery_pair.h"

/*
 * Open two hosts with a path MTU of RECOVERY_MTU bytes and reorder buffers.
 * @param is_resp_gbn  responders drop out-of-order packets, although there are reorder buffers
 * @param window_psns  maximum number of packets in flight; 0: the default of the transport
 */
static int
open_with(bool is_resp_gbn, uint16_t window_psns)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = IBV_MTU_256;
	conf.nb_hold = 64;
	conf.burst = PAIR_BURST_MAX;
	conf.is_resp_gbn = is_resp_gbn;
	conf.window_psns = window_psns;
	pair_open(&pair, &conf);
	pair.now_ns = 1000;
	pair_fill(&pair, A, 0, 65536, 1);
	return 0;
}

int
recovery_open_holding(void **state)
{
	(void)state;
	return open_with(false, 0);
}

int
recovery_open_dropping(void **state)
{
	(void)state;
	return open_with(true, 0);
}

int
recovery_open_narrow(void **state)
{
	(void)state;
	return open_with(false, 8);
}

void
recovery_write(uint32_t nb)
{
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = nb * RECOVERY_MTU });
}

uint64_t
recovery_run(void)
{
	pair_run(&pair);
	assert_true(pair_is_equal(&pair, 0, 0, 32 * RECOVERY_MTU));
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 0);
	return pair.host[A].qpc.stats.retransmits;
}

/* Lose a packet, so that the requester finds out that the peer is go-back-N. */
void
recovery_find_out(void)
{
	recovery_write(32);
	pair_lose(&pair, A, 3);
	(void)recovery_run();
}
