/* SPDX-License-Identifier: BSD-3-Clause */

/* A request is a line of words: the name of an operation, then key=value pairs. */

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

/* Respond with an error, and end the request. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Split a line into words, in place. */
void words_parse(struct words *words, char *line);

/* The value of a key; NULL if there is none. */
const char *words_text(const struct words *words, const char *key);

/* The value of a key as a number. Calls fail() if it is not a number, or larger than `most`. */
uint64_t words_number(const struct words *words, const char *key, uint64_t otherwise,
		      uint64_t most);

/*
 * The bits of a list NAME+NAME. Calls fail() if a name is not in the table, which ends with NULL.
 */
struct word_bit {
	const char *name;
	uint64_t bit;
};
uint64_t words_bits(const struct words *words, const char *key, uint64_t otherwise,
		    const struct word_bit *table);

/* The value of one name. */
uint64_t words_one(const struct words *words, const char *key, uint64_t otherwise,
		   const struct word_bit *table);

/* The name of a value, or "?". */
const char *words_name_of(const struct word_bit *table, uint64_t value);

#endif
