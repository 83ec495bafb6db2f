/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Helpers for tests of the responder: they build requests to side B of the pair, and compare B's
 * responses.
 */

#include "request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

uint64_t
va(uint32_t offset)
{
	return (uintptr_t)pair.host[B].mem + offset;
}

enum uroce_verdict
write_only(uint32_t psn, uint32_t offset, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_ONLY,
					       .psn = psn,
					       .has_ack_req = true,
					       .va = va(offset),
					       .rkey = pair.host[B].key,
					       .dma_len = len,
					       .payload_len = len });
}

enum uroce_verdict
write_packet(uint8_t opcode, uint32_t psn, uint32_t dma_len, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = opcode,
					       .psn = psn,
					       .va = va(0),
					       .rkey = pair.host[B].key,
					       .dma_len = dma_len,
					       .payload_len = len });
}

enum uroce_verdict
send_packet(uint8_t opcode, uint32_t psn, uint32_t len)
{
	return pair_inject(
		&pair, B,
		&(struct pair_pkt){
			.opcode = opcode, .psn = psn, .has_ack_req = true, .payload_len = len });
}

enum uroce_verdict
read_request(uint32_t psn, uint32_t offset, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
					       .psn = psn,
					       .va = va(offset),
					       .rkey = pair.host[B].key,
					       .dma_len = len });
}

enum uroce_verdict
fetch_add(uint32_t psn, uint64_t at, uint64_t add)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UROCE_OP_FETCH_ADD,
					       .psn = psn,
					       .va = at,
					       .rkey = pair.host[B].key,
					       .swap_add = add });
}

void
expect_answer(const char *trace)
{
	pair_flush(&pair, B);
	pair_expect_trace(&pair, trace);
}

void
expect_err(uint32_t events)
{
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
	assert_int_equal(pair_events(&pair, B), events | UROCE_QPC_FAILED);
}
