/* SPDX-License-Identifier: BSD-3-Clause */

/* Operations of ends that post requests, poll completions, and fill and check memory. */

#ifndef ACTOR_WORK_H_
#define ACTOR_WORK_H_

#include "end.h"

/* Compute byte `i` of the pattern of a seed, with which messages are filled and checked. */
static inline uint8_t
pattern(uint32_t seed, uint64_t i)
{
	return (uint8_t)(seed * 37 + i * 7 + (i >> 8) * 13 + (i >> 16) * 29);
}

void pattern_fill(uint8_t *at, uint64_t length, uint32_t seed);

/*
 * Compare memory with the pattern of a seed. Returns the offset of the first byte that differs; -1:
 * none differs.
 */
int64_t pattern_check(const uint8_t *at, uint64_t length, uint32_t seed);

extern const struct word_bit wc_statuses[];

uint64_t now_us(void);

void op_send(const struct words *words);
void op_recv(const struct words *words);
void op_poll(const struct words *words);
void op_arm(const struct words *words);
void op_event(const struct words *words);
void op_bind(const struct words *words);
void op_fill(const struct words *words);
void op_check(const struct words *words);
void op_word(const struct words *words);
void op_stream(const struct words *words);

#endif
