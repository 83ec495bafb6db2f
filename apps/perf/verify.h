/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

/**
 * @file
 * Checks that every byte arrived. The pattern of a message depends on the number of the message and
 * on the offset of the byte. So a byte of another message, of another offset or of an earlier round
 * is detected.
 *
 * A slot is poisoned (filled with the complement of the pattern) before the message arrives. So a
 * byte that was never written is always detected, and the same slot can be used again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The results of checks. All fields except for the flags are counts. */
struct verify {
	uint64_t messages;
	uint64_t bytes;
	uint64_t wrong; /* number of wrong bytes in the checked messages */
	/* number of messages of an unreliable transport that did not arrive, or arrived in part */
	uint64_t lost;
	/* flip one bit before the first check, to test that the check finds the bit */
	bool is_selftest;
	bool is_flipped;
};

/** Fill a message with its pattern. */
void verify_fill(uint8_t *at, size_t len, uint64_t message);

/** Fill a slot with the complement of the pattern of the message that is to arrive there. */
void verify_poison(uint8_t *at, size_t len, uint64_t message);

/** Check a message and count the result. The first wrong bytes are described on stderr. */
void verify_message(struct verify *verify, uint8_t *at, size_t len, uint64_t message);

/**
 * Check a message that may have been lost: if bytes of the message were never written, the message
 * counts as lost, not as wrong.
 */
void verify_lossy(struct verify *verify, uint8_t *at, size_t len, uint64_t message);

/** Check a 64-bit value that an atomic returned, and count the result. */
void verify_value(struct verify *verify, uint64_t *at, uint64_t expected, uint64_t message);

#endif /* PERF_VERIFY_H */
