/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

/**
 * @file
 * Whether every byte arrived: a pattern that is a function of the message's number and the byte's
 * offset, so that a byte of another message, another place or an earlier round is wrong.
 *
 * A slot is spoiled (filled with the complement) before the message, so that a byte which was never
 * written is wrong with certainty, and the same slot can be used again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What was checked; all counts. */
struct verify {
	uint64_t messages;
	uint64_t bytes;
	uint64_t wrong;   /* bytes */
	uint64_t lost;    /* messages of an unreliable transport that did not arrive in whole */
	bool is_selftest; /* flip one byte before the first check */
	bool is_flipped;
};

/** Fill a message. */
void verify_fill(uint8_t *at, size_t len, uint64_t message);

/** Fill a place where that message is to arrive with what it is not. */
void verify_spoil(uint8_t *at, size_t len, uint64_t message);

/** Check a message and count; the first wrong bytes are told on stderr. */
void verify_message(struct verify *verify, uint8_t *at, size_t len, uint64_t message);

/** The same where messages may be lost: untouched bytes make it a lost message, not a wrong one. */
void verify_lossy(struct verify *verify, uint8_t *at, size_t len, uint64_t message);

/** Check a 64-bit value that an atomic returned. */
void verify_value(struct verify *verify, uint64_t *at, uint64_t expected, uint64_t message);

#endif /* PERF_VERIFY_H */
