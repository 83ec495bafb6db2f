/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_SYNDROME_H
#define UROCE_WIRE_SYNDROME_H

/**
 * @file
 * The AETH syndrome and the encoded times of the transport [IBA 9.7.5.1.1, tables 43-45].
 *
 *  | 0 | kind:2 | value:5 |   kind 0 ACK (value: credits), 1 RNR NAK (timer code), 3 NAK (code)
 */

#include <stdint.h>

enum uroce_aeth_kind {
	UROCE_AETH_ACK = 0,
	UROCE_AETH_RNR = 1,
	UROCE_AETH_RESERVED = 2,
	UROCE_AETH_NAK = 3,
};

enum uroce_nak {
	UROCE_NAK_PSN_SEQ = 0,
	UROCE_NAK_INV_REQUEST = 1,
	UROCE_NAK_REM_ACCESS = 2,
	UROCE_NAK_REM_OP = 3,
	UROCE_NAK_INV_RD_REQUEST = 4,
};

/** Syndrome of an ACK without credits. End-to-end flow control is not used [IBA 9.7.7.2]. */
#define UROCE_SYNDROME_ACK 0x1f

static inline uint8_t
uroce_syndrome_make(enum uroce_aeth_kind kind, uint8_t value)
{
	return (uint8_t)(kind << 5 | (value & 0x1f));
}

static inline enum uroce_aeth_kind
uroce_syndrome_kind(uint8_t syndrome)
{
	return (enum uroce_aeth_kind)(syndrome >> 5 & 3);
}

static inline uint8_t
uroce_syndrome_value(uint8_t syndrome)
{
	return syndrome & 0x1f;
}

/** Convert an RNR timer code (0..31) to ns. Code 0 is the longest delay, 655.36 ms. */
uint64_t uroce_rnr_timer_ns(uint8_t code);

/**
 * Convert a code of the local ACK timeout to ns: 4.096 us * 2^code. Code 0 means no timeout and
 * gives 0.
 */
static inline uint64_t
uroce_ack_timeout_ns(uint8_t code)
{
	code &= 0x1f;
	return code == 0 ? 0 : UINT64_C(4096) << code;
}

#endif /* UROCE_WIRE_SYNDROME_H */
