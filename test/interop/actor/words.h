/* SPDX-License-Identifier: BSD-3-Clause */

/* Words of a request. A request is a line: the name of an operation, and then pairs key=value. */

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

/* Print a response with an error, and end the execution of the request. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Split the line of a request into its words. The line is changed, and must remain in memory. */
void words_parse(struct words *words, char *line);

/* Get the value of a key as text; NULL: the request does not have the key. */
const char *words_text(const struct words *words, const char *key);

/*
 * Get the value of a key as a number; `otherwise`: the request does not have the key. Calls fail()
 * if the value is no number, or larger than `most`.
 */
uint64_t words_number(const struct words *words, const char *key, uint64_t otherwise,
		      uint64_t most);

/*
 * A table of names and their bits, which ends with the name NULL. words_bits() gets the bits of a
 * value NAME+NAME, and calls fail() if a name is not in the table.
 */
struct word_bit {
	const char *name;
	uint64_t bit;
};
uint64_t words_bits(const struct words *words, const char *key, uint64_t otherwise,
		    const struct word_bit *table);

/* Get the entry of the table for a value that is one name. */
uint64_t words_one(const struct words *words, const char *key, uint64_t otherwise,
		   const struct word_bit *table);

/* Get the name of a value from a table; "?": the table does not have the value. */
const char *words_name_of(const struct word_bit *table, uint64_t value);

#endif
