/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Helpers for tests of the requester: side A of the pair sends requests, and the test builds the
 * responses of side B.
 */

#include "response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

void
post(enum ibv_wr_opcode opcode, uint32_t len)
{
	assert_int_equal(pair_post(&pair, A, &(struct pair_wr){ .opcode = opcode, .len = len }), 0);
}

/* Let A post a request, and drop its packets. The test builds the responses itself. */
void
post_and_flush(enum ibv_wr_opcode opcode, uint32_t len)
{
	post(opcode, len);
	pair_flush(&pair, A);
	text_clear(&pair.trace);
}

enum uroce_verdict
aeth(uint32_t psn, uint8_t syndrome)
{
	return pair_inject(
		&pair, A,
		&(struct pair_pkt){ .opcode = UROCE_OP_ACK, .psn = psn, .syndrome = syndrome });
}

enum uroce_verdict
ack(uint32_t psn)
{
	return aeth(psn, UROCE_SYNDROME_ACK);
}

enum uroce_verdict
nak(uint32_t psn, enum uroce_nak code)
{
	return aeth(psn, uroce_syndrome_make(UROCE_AETH_NAK, code));
}

enum uroce_verdict
rnr_nak(uint32_t psn, uint8_t timer_code)
{
	return aeth(psn, uroce_syndrome_make(UROCE_AETH_RNR, timer_code));
}

enum uroce_verdict
response(uint8_t opcode, uint32_t psn, uint32_t len)
{
	return pair_inject(
		&pair, A,
		&(struct pair_pkt){
			.opcode = opcode, .psn = psn, .syndrome = 31, .payload_len = len });
}

void
expect_sent(const char *trace)
{
	pair_flush(&pair, A);
	pair_expect_trace(&pair, trace);
}
