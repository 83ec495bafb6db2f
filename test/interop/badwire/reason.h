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

/** @return false, so that the caller can return it */
__attribute__((format(printf, 2, 3))) bool refuse(struct reason *why, const char *format, ...);

#endif /* BADWIRE_REASON_H */
