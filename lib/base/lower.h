/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_LOWER_H
#define UROCE_BASE_LOWER_H

/**
 * @file
 * Conversion of a string literal to lower case by the compiler, character by character. The names
 * of an enum's constants are in upper case in the macro that lists them. A table of the names in
 * lower case can be generated from the same macro by UROCE_LOWER().
 *
 *	static const char names[][UROCE_LOWER_MAX + 1] = { UROCE_LOWER("BAD_ICRC"), ... };
 */

/** Maximum number of characters of a name that UROCE_LOWER() converts. */
#define UROCE_LOWER_MAX      27

#define UROCE_UPPER_AT(s, i) ((i) < sizeof(s) ? (s)[(i) < sizeof(s) ? (i) : 0] : 0)
#define UROCE_UPPER_IS(s, i) (UROCE_UPPER_AT(s, i) >= 'A' && UROCE_UPPER_AT(s, i) <= 'Z')
#define UROCE_LOWER_AT(s, i) (char)(UROCE_UPPER_AT(s, i) + (UROCE_UPPER_IS(s, i) ? 'a' - 'A' : 0))
#define UROCE_LOWER_FOUR(s, i)                                                                     \
	UROCE_LOWER_AT(s, i), UROCE_LOWER_AT(s, i + 1), UROCE_LOWER_AT(s, i + 2),                  \
		UROCE_LOWER_AT(s, i + 3)

/**
 * Initialiser of a character array: the string literal `s` in lower case, at most UROCE_LOWER_MAX
 * characters.
 */
#define UROCE_LOWER(s)                                                                             \
	{                                                                                          \
		UROCE_LOWER_FOUR(s, 0), UROCE_LOWER_FOUR(s, 4), UROCE_LOWER_FOUR(s, 8),            \
			UROCE_LOWER_FOUR(s, 12), UROCE_LOWER_FOUR(s, 16), UROCE_LOWER_FOUR(s, 20), \
			UROCE_LOWER_FOUR(s, 24)                                                    \
	}

#endif /* UROCE_BASE_LOWER_H */
