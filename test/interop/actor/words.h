/* SPDX-License-Identifier: BSD-3-Clause */

/* A request is a line of words: the name of an operation, then key=value. */

#ifndef ACTOR_WORDS_H_
#define ACTOR_WORDS_H_

#include <stdbool.h>
#include <stdint.h>

#define WORDS_MAX 32

struct words {
	const char *op;
	int nb;
	struct {
		const char *key;
		const char *value;
	} pairs[WORDS_MAX];
};

/* A request that cannot be done is answered by one error, and nothing else: see fail(). */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Take a line apart, in place. */
void words_parse(struct words *words, char *line);

/* NULL where there is none. */
const char *words_text(const struct words *words, const char *key);

/* fail() where it is no number, or larger than `most`. */
uint64_t words_number(const struct words *words, const char *key, uint64_t otherwise,
		      uint64_t most);

/* The bits of the names in a list NAME+NAME; fail() where one is not in the table, which ends with NULL. */
struct word_bit {
	const char *name;
	uint64_t bit;
};
uint64_t words_bits(const struct words *words, const char *key, uint64_t otherwise,
		    const struct word_bit *table);

/* The one of a name. */
uint64_t words_one(const struct words *words, const char *key, uint64_t otherwise,
		   const struct word_bit *table);

/* The name of a value, or "?". */
const char *words_name_of(const struct word_bit *table, uint64_t value);

#endif
