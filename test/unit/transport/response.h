/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_RESPONSE_H
#define TEST_UNIT_TRANSPORT_RESPONSE_H

/**
 * @file
 * Helpers for tests of the requester: side A of the pair posts requests, their packets are dropped,
 * and the test builds the responses of side B.
 */

#include "rc.h"
#include "wire/syndrome.h"

void post(enum ibv_wr_opcode opcode, uint32_t len);

void post_and_flush(enum ibv_wr_opcode opcode, uint32_t len);

enum uroce_verdict aeth(uint32_t psn, uint8_t syndrome);

enum uroce_verdict ack(uint32_t psn);

enum uroce_verdict nak(uint32_t psn, enum uroce_nak code);

enum uroce_verdict rnr_nak(uint32_t psn, uint8_t timer_code);

enum uroce_verdict response(uint8_t opcode, uint32_t psn, uint32_t len);

void expect_sent(const char *trace);

#endif /* TEST_UNIT_TRANSPORT_RESPONSE_H */
