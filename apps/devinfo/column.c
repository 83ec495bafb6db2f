/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints labels, and their values in a fixed column.
 */

#include "column.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TAB 8

static void
print_tabs(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		putchar('\t');
}

static unsigned
values_at(enum indent indent)
{
	return indent == OF_DEVICE ? 40 : 48;
}

/*
 * Print a label and the tabs behind it. At least one tab is printed, also behind a label that
 * reaches the column of the values.
 */
static void
print_label(enum indent indent, const char *label)
{
	const unsigned end = indent * TAB + (unsigned)strlen(label) + 1;
	const unsigned column = values_at(indent);

	print_tabs(indent);
	printf("%s:", label);
	print_tabs(end < column ? (column - end + TAB - 1) / TAB : 1);
}

void
column_print(enum indent indent, const char *label, const char *format, ...)
{
	va_list args;

	print_label(indent, label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void
column_print_more(const char *value)
{
	print_tabs(values_at(OF_DEVICE) / TAB);
	puts(value);
}

static const char *
name_of(const struct column_name *names, uint64_t number)
{
	while (names->name != NULL && names->number != number)
		names++;
	return names->name != NULL ? names->name : "invalid";
}

void
column_print_named(enum indent indent, const char *label, const struct column_name *names,
		   uint64_t number)
{
	column_print(indent, label, "%s (%" PRIu64 ")", name_of(names, number), number);
}

void
column_print_bits(const struct column_name *names, uint64_t bits)
{
	char text[40];

	for (; names->name != NULL; names++) {
		if ((bits & names->number) == 0)
			continue;
		column_print_more(names->name);
		bits &= ~names->number;
	}
	if (bits == 0)
		return;
	snprintf(text, sizeof(text), "Unknown flags: 0x%" PRIX64, bits);
	column_print_more(text);
}
