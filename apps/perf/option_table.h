/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_OPTION_TABLE_H
#define PERF_OPTION_TABLE_H

/**
 * @file
 * The table of the options. A row has the name of an option, the offset of its value in struct
 * options, the allowed values, and the tests to which the option applies. Parsing, the help text
 * and the error messages use the rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* The tests to which an option applies, as bits of struct option_row.where. */
#define OPTION_BW     1u
#define OPTION_LAT    2u
#define OPTION_SEND   4u
#define OPTION_WRITE  8u
#define OPTION_READ   16u
#define OPTION_ATOMIC 32u

enum option_kind {
	OPTION_FLAG,
	OPTION_NUMBER,
	OPTION_BYTES,   /* a number that may end with K (2^10) or M (2^20) */
	OPTION_DECIMAL, /* a positive number, which may have a fraction */
	OPTION_TEXT,
	OPTION_CHOICE,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_REFUSED, /* an option of perftest that uroce-perf refuses; `help` is the reason */
};

struct option_choice {
	const char *name;
	int value;
};

struct option_row {
	const char *name;
	char letter; /* letter of the option, such as 'a' for -a; 0 if the option has none */
	enum option_kind kind;
	size_t offset; /* offset of the value in struct options */
	uint64_t min, max;
	/* the allowed values of an OPTION_CHOICE; the last entry has a NULL name */
	const struct option_choice *choices;
	unsigned where;
	const char *arg;
	const char *help; /* text for the help; NULL if the help does not show the option */
};

extern const struct option_row option_rows[];
extern const size_t option_nb_rows;

/**
 * An upper limit of the number of rows of the table of options, for arrays that have an element for
 * each row.
 */
#define OPTION_ROWS_MAX 128u

/**
 * Get the name of an allowed value of an option of kind OPTION_CHOICE.
 * @return the name, or NULL if `value` is not an allowed value
 */
const char *option_choice_name(const char *option, int value);

/** Print one line on stderr that says why an option is refused. @return -1 */
int option_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Set the defaults that depend on other options.
 * @param given  for each row of the table, whether the command line has the option
 */
void option_complete(struct options *opt, const bool *given);

/**
 * Refuse options that do not apply to the test, and options that exclude each other.
 * @param given  for each row of the table, whether the command line has the option
 * @return 0, or -1 after a line on stderr
 */
int option_check(const struct options *opt, const bool *given);

#endif /* PERF_OPTION_TABLE_H */
