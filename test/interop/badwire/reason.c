/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is quoted comes from a line or from the command line; what is too long is cut.
 */

#include "reason.h"

#include <stdarg.h>
#include <stdio.h>

bool
refuse(struct reason *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return false;
}
