/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_BYTES_H
#define TEST_FUZZ_BYTES_H

/**
 * @file
 * The fuzzer's input as a sequence of decisions: the fuzz target reads numbers from it. When the
 * input is used up, the numbers are zero, and the fuzz target returns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	const uint8_t *at;
	size_t left;
};

/** The fuzz target, which libFuzzer calls once for each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/** Print a message and abort if the condition is false. */
#define expect(holds)                                                                              \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/** Read `len` bytes of the input into `to`; zeros if the input is used up. */
static inline void
bytes_take(struct bytes *bytes, void *to, size_t len)
{
	const size_t nb = len < bytes->left ? len : bytes->left;

	memset(to, 0, len);
	memcpy(to, bytes->at, nb);
	bytes->at += nb;
	bytes->left -= nb;
}

static inline uint8_t
bytes_u8(struct bytes *bytes)
{
	uint8_t value;

	bytes_take(bytes, &value, sizeof(value));
	return value;
}

static inline uint16_t
bytes_u16(struct bytes *bytes)
{
	uint16_t value;

	bytes_take(bytes, &value, sizeof(value));
	return value;
}

static inline uint32_t
bytes_u32(struct bytes *bytes)
{
	uint32_t value;

	bytes_take(bytes, &value, sizeof(value));
	return value;
}

static inline uint64_t
bytes_u64(struct bytes *bytes)
{
	uint64_t value;

	bytes_take(bytes, &value, sizeof(value));
	return value;
}

#endif /* TEST_FUZZ_BYTES_H */
