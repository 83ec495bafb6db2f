/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FORGE_H
#define TEST_SIM_FORGE_H

/**
 * @file
 * Frames made by hand, as a peer of another make, or an attacker, might send them.
 */

#include "qp.h"

/** What an opcode does not have is ignored. */
struct forgery {
	const char *opcode; /* without its service: "SEND_ONLY" */
	uint32_t psn;
	uint32_t len; /* payload: bytes of the noise from 0 on */
	uint32_t dma_len;
	uint64_t va;
	uint32_t rkey;
	uint8_t syndrome;
	uint32_t msn;
	uint64_t orig;
	uint32_t qkey;
	uint16_t pkey;
	bool has_ack_req;
	bool is_from_stranger;
};

/** It arrives at a QP now. @return what became of it */
enum uroce_verdict forge(struct qp *to, const struct forgery *forgery);

#endif /* TEST_SIM_FORGE_H */
