/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_REQUEST_H
#define TEST_UNIT_TRANSPORT_REQUEST_H

/**
 * @file
 * Helpers for tests of the responder: the test builds requests to side B of the pair, and compares
 * B's responses.
 */

#include "rc.h"

uint64_t va(uint32_t offset);

enum uroce_verdict write_only(uint32_t psn, uint32_t offset, uint32_t len);

enum uroce_verdict write_packet(uint8_t opcode, uint32_t psn, uint32_t dma_len, uint32_t len);

enum uroce_verdict send_packet(uint8_t opcode, uint32_t psn, uint32_t len);

enum uroce_verdict read_request(uint32_t psn, uint32_t offset, uint32_t len);

enum uroce_verdict fetch_add(uint32_t psn, uint64_t at, uint64_t add);

void expect_answer(const char *trace);

void expect_err(uint32_t events);

#endif /* TEST_UNIT_TRANSPORT_REQUEST_H */
