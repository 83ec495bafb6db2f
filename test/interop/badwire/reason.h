/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_REASON_H
#define BADWIRE_REASON_H

/**
 * @file
 * The reason of a refusal: one line that names the object, the reason, and the allowed values.
 */

#include <stdbool.h>

struct reason {
	char text[512]; /* set by refuse() only; without a newline */
};

/**
 * Store the reason why an input is refused.
 * @return false, so that a caller can write: return refuse(...)
 */
__attribute__((format(printf, 2, 3))) bool refuse(struct reason *why, const char *format, ...);

#endif /* BADWIRE_REASON_H */
