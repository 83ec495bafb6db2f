/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_REASON_H
#define BADWIRE_REASON_H

/**
 * @file
 * Why something was refused: one line that says what, why, and what is allowed.
 */

#include <stdbool.h>

struct reason {
	char text[512]; /* set by refuse() alone; without a line's end */
};

/** @return false, so that whoever refuses can return it */
__attribute__((format(printf, 2, 3))) bool refuse(struct reason *why, const char *format, ...);

#endif /* BADWIRE_REASON_H */
