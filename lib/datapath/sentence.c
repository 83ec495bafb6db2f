/* SPDX-License-Identifier: BSD-3-Clause */
/* Composes sentences for log lines. */

#include "datapath/sentence.h"

#include <stdarg.h>
#include <stdio.h>

void
uroce_sentence_add(struct uroce_sentence *sentence, const char *format, ...)
{
	const size_t left = sizeof(sentence->text) - sentence->used;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(sentence->text + sentence->used, left, format, args);
	va_end(args);
	if (len > 0)
		sentence->used += (size_t)len < left ? (size_t)len : left - 1;
}
