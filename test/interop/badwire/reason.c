/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Formats the reasons of refusals. Text of a client or of the command line may be quoted in a
 * reason; a reason that is too long is truncated.
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
