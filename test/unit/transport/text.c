/* SPDX-License-Identifier: BSD-3-Clause */

/* A string that grows. If there is no memory, the test crashes. */

#include "text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void
make_room(struct text *text, size_t more)
{
	if (text->len + more < text->room)
		return;
	text->room = 2 * (text->len + more) + 256;
	text->at = realloc(text->at, text->room);
	assert(text->at);
}

void
text_add(struct text *text, const char *format, ...)
{
	va_list args;

	make_room(text, 256);
	va_start(args, format);
	const int len = vsnprintf(text->at + text->len, text->room - text->len, format, args);

	va_end(args);
	assert(len >= 0 && len < 256);
	text->len += (size_t)len;
}

const char *
text_get(const struct text *text)
{
	return text->at ? text->at : "";
}

void
text_clear(struct text *text)
{
	text->len = 0;
	if (text->at)
		text->at[0] = '\0';
}

void
text_free(struct text *text)
{
	free(text->at);
	*text = (struct text){ 0 };
}
