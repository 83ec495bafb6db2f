/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DEVINFO_COLUMN_H
#define DEVINFO_COLUMN_H

/**
 * @file
 * The output columns of ibv_devinfo, which scripts parse. A line consists of tabs, a label, a
 * colon, and tabs up to the column of the values. Values of a device begin at column 40, values of
 * a port at column 48.
 */

#include <stdint.h>

/** The number of tabs before the label of an attribute of a device or of a port. */
enum indent { OF_DEVICE = 1, OF_PORT = 3 };

/** Print one line with a label and its value. */
__attribute__((format(printf, 3, 4))) void column_print(enum indent indent, const char *label,
							const char *format, ...);

/**
 * Print one more value of a device, in a line without a label. The value belongs to the label that
 * was printed last.
 */
void column_print_more(const char *value);

/**
 * An entry of a list of names: a number or a mask of one bit, and the name of this number or bit.
 */
struct column_name {
	uint64_t number;
	/* name that is printed for the number; NULL in the last entry of a list */
	const char *name;
};

/**
 * Print a label, and a number as "NAME (number)". NAME is "invalid" if `names` does not have the
 * number.
 */
void column_print_named(enum indent indent, const char *label, const struct column_name *names,
			uint64_t number);

/**
 * Print the names of the bits that are set in `bits`, one line for each name. If bits are set that
 * have no name, one more line shows them as a number.
 */
void column_print_bits(const struct column_name *names, uint64_t bits);

#endif /* DEVINFO_COLUMN_H */
