/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_TIMEOUT_H
#define UROCE_CM_TIMEOUT_H

/**
 * @file
 * Encoded times in CM messages: 4.096 us * 2^code, with codes of five bits [IBA 12.7]. The response
 * timeouts, the service timeout of an MRA and the target ACK delay use this encoding. Code 0 means
 * 4.096 us. (For the ACK timeout of a QP, code 0 means infinite; see wire/syndrome.h.)
 */

#include <stdint.h>

#define UROCE_CM_TIMEOUT_CODE_MAX 31

/**
 * Code of the longest time that a peer can request, 17 s. If a peer requests a longer time, the
 * time is reduced to 17 s. The same limit applies to the ACK timeout of a client of uroced.
 */
#define UROCE_CM_PEER_TIMEOUT_CODE_MAX 22

/** Convert an encoded time, the low five bits of `code`, to nanoseconds. */
static inline uint64_t
uroce_cm_timeout_ns(uint8_t code)
{
	return UINT64_C(4096) << (code & UROCE_CM_TIMEOUT_CODE_MAX);
}

/**
 * Find the smallest code of an encoded time that is at least `ns`. If `ns` is longer than all
 * encoded times, return the largest code.
 */
static inline uint8_t
uroce_cm_timeout_code(uint64_t ns)
{
	uint8_t code = 0;

	while (code < UROCE_CM_TIMEOUT_CODE_MAX && uroce_cm_timeout_ns(code) < ns)
		code++;
	return code;
}

#endif /* UROCE_CM_TIMEOUT_H */
