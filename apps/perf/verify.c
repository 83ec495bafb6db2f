/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes and checks the pattern of messages, eight bytes at a time. Each word is a multiplicative
 * hash of the number of the message and the number of the word, in little-endian byte order.
 */

#include "verify.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REPORTED_MAX 3u /* the largest number of wrong bytes that are described on stderr */

static uint64_t
word_of(uint64_t message, uint64_t idx)
{
	uint64_t x = message * UINT64_C(0x9e3779b97f4a7c15) + idx * UINT64_C(0xd1b54a32d192ed03) +
		     UINT64_C(0x2545f4914f6cdd1d);

	x ^= x >> 32;
	x *= UINT64_C(0xff51afd7ed558ccd);
	return htole64(x ^ (x >> 29));
}

static void
fill(uint8_t *at, size_t len, uint64_t message, uint64_t invert)
{
	size_t nb_words = len / 8;

	for (size_t i = 0; i < nb_words; i++) {
		uint64_t word = word_of(message, i) ^ invert;

		memcpy(at + 8 * i, &word, 8);
	}
	uint64_t word = word_of(message, nb_words) ^ invert;
	memcpy(at + 8 * nb_words, &word, len % 8);
}

void
verify_fill(uint8_t *at, size_t len, uint64_t message)
{
	fill(at, len, message, 0);
}

void
verify_poison(uint8_t *at, size_t len, uint64_t message)
{
	fill(at, len, message, UINT64_MAX);
}

/*
 * The wrong bytes that a check of a message has found: their number, and how many of them were
 * never written.
 */
struct finding {
	uint64_t wrong;
	uint64_t untouched;
};

static void
report_mismatch(const struct verify *verify, uint64_t message, size_t offset, uint8_t expected,
		uint8_t got)
{
	if (verify->wrong >= REPORTED_MAX)
		return;
	fprintf(stderr,
		"uroce-perf: verify: wrong byte: iteration %" PRIu64
		", offset %zu: expected 0x%02x, got 0x%02x\n",
		message, offset, expected, got);
}

static void
inspect_word(struct verify *verify, const uint8_t *at, size_t len, uint64_t expected,
	     uint64_t message, size_t offset, bool is_lossy, struct finding *finding)
{
	uint8_t bytes[8];

	memcpy(bytes, &expected, 8);
	for (size_t i = 0; i < len; i++) {
		if (at[i] == bytes[i])
			continue;
		if (is_lossy && (at[i] ^ bytes[i]) == 0xff) {
			finding->untouched++;
			continue;
		}
		report_mismatch(verify, message, offset + i, bytes[i], at[i]);
		verify->wrong++;
		finding->wrong++;
	}
}

static struct finding
inspect(struct verify *verify, uint8_t *at, size_t len, uint64_t message, bool is_lossy)
{
	struct finding finding = { 0 };

	if (verify->is_selftest && !verify->is_flipped) {
		at[len / 2] ^= 0x01;
		verify->is_flipped = true;
	}
	for (size_t offset = 0; offset < len; offset += 8) {
		size_t nb = len - offset < 8 ? len - offset : 8;
		uint64_t expected = word_of(message, offset / 8);

		if (memcmp(at + offset, &expected, nb) != 0)
			inspect_word(verify, at + offset, nb, expected, message, offset, is_lossy,
				     &finding);
	}
	return finding;
}

void
verify_message(struct verify *verify, uint8_t *at, size_t len, uint64_t message)
{
	inspect(verify, at, len, message, false);
	verify->messages++;
	verify->bytes += len;
}

void
verify_lossy(struct verify *verify, uint8_t *at, size_t len, uint64_t message)
{
	struct finding finding = inspect(verify, at, len, message, true);

	if (finding.untouched > 0) {
		verify->lost++;
		return;
	}
	verify->messages++;
	verify->bytes += len;
}

void
verify_value(struct verify *verify, uint64_t *at, uint64_t expected, uint64_t message)
{
	uint8_t *bytes = (uint8_t *)at;
	struct finding finding = { 0 };

	if (verify->is_selftest && !verify->is_flipped) {
		bytes[4] ^= 0x01;
		verify->is_flipped = true;
	}
	if (*at != expected)
		inspect_word(verify, bytes, 8, expected, message, 0, false, &finding);
	verify->messages++;
	verify->bytes += 8;
}
