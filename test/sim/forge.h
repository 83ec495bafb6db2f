/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FORGE_H
#define TEST_SIM_FORGE_H

/**
 * @file
 * Frames built field by field, as another implementation or an attacker might send them.
 */

#include "qp.h"

/** The fields of a forged frame. Fields that the opcode does not have are ignored. */
struct forgery {
	const char *opcode; /* name without the transport service: "SEND_ONLY" */
	uint32_t psn;
	uint32_t len; /* bytes of payload, which are those of the noise from offset 0 */
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

/**
 * Deliver a forged frame to a QP now.
 * @return the verdict
 */
enum uroce_verdict forge(struct qp *to, const struct forgery *forgery);

#endif /* TEST_SIM_FORGE_H */
