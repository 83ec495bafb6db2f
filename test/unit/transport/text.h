/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_TEXT_H
#define TEST_UNIT_TRANSPORT_TEXT_H

/**
 * @file
 * A text that grows: the events of a test, line by line, to be compared.
 */

#include <stddef.h>

/** A text. All zero: empty. */
struct text {
	char *at; /* zero-terminated; NULL while nothing was added */
	size_t len;
	size_t room;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The text; never NULL. */
const char *text_get(const struct text *text);

void text_clear(struct text *text);
void text_free(struct text *text);

#endif /* TEST_UNIT_TRANSPORT_TEXT_H */
