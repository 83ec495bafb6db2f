/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_TEXT_H
#define TEST_UNIT_TRANSPORT_TEXT_H

/**
 * @file
 * A string that grows. A test records events in it, line by line, and compares it with the expected
 * text.
 */

#include <stddef.h>

/** A string that grows. All zero: an empty string. */
struct text {
	char *at; /* zero-terminated; NULL: nothing was added yet */
	size_t len;
	size_t room;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The string. The result is never NULL. */
const char *text_get(const struct text *text);

void text_clear(struct text *text);
void text_free(struct text *text);

#endif /* TEST_UNIT_TRANSPORT_TEXT_H */
