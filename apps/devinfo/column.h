/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVINFO_COLUMN_H
#define DEVINFO_COLUMN_H

/**
 * @file
 * The columns of ibv_devinfo, which scripts take apart: a label behind tabs, a colon, and as many tabs as
 * lead to the column of the values. Those of a device stand at 40, those of a port at 48.
 */

#include <stdint.h>

/** Tabs before what is said of a device, and of a port. */
enum indent { OF_DEVICE = 1, OF_PORT = 3 };

/** One line. */
__attribute__((format(printf, 3, 4))) void column_print(enum indent indent, const char *label,
							const char *format, ...);

/** A line that is a value alone, beneath those of a device. */
void column_print_more(const char *value);

/** A name for a number. */
struct column_name {
	uint64_t number;
	const char *name; /* NULL ends the list */
};

/** "NAME (number)"; a number that is not in the list is "invalid". */
void column_print_named(enum indent indent, const char *label, const struct column_name *names,
			uint64_t number);

/** The names of the bits that are set, a line for each, and one for those that have none. */
void column_print_bits(const struct column_name *names, uint64_t bits);

#endif /* DEVINFO_COLUMN_H */
