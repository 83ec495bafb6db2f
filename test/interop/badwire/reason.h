/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_REASON_H
#define BADWIRE_REASON_H

/**
 * @file
 * The reason why an input is refused: one line that names the object, what is wrong with it, and
 * the allowed values.
 */

#include <stdbool.h>

struct reason {
	char text[512]; /* a line without its newline, which refuse() sets */
};

/**
 * Store the reason why an input is refused.
 * @return false, so that a caller can return the result of this function
 */
__attribute__((format(printf, 2, 3))) bool refuse(struct reason *why, const char *format, ...);

#endif /* BADWIRE_REASON_H */
