/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FORGE_H
#define TEST_SIM_FORGE_H

/**
 * @file
 * Forged frames: the caller chooses the fields, as another implementation or an attacker might do.
 */

#include "qp.h"

/** The fields of a forged frame. Fields that the opcode does not have are ignored. */
struct forgery {
	/* name of the opcode without the transport service, such as "SEND_ONLY" */
	const char *opcode;
	uint32_t psn;
	/* bytes of payload: the first ones of the world's random bytes (world.h, noise) */
	uint32_t len;
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
 * Build a forged frame and deliver it to QP `to` now.
 * @return the verdict
 */
enum uroce_verdict forge(struct qp *to, const struct forgery *forgery);

#endif /* TEST_SIM_FORGE_H */
