/* SPDX-License-Identifier: BSD-3-Clause */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"
#include "serve.h"
#include "work.h"

static jmp_buf next;

void
fail(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '\'';
	printf("{\"error\": \"%s\"}\n", text);
	longjmp(next, 1);
}

static const struct operation operations[] = {
	{ "open", op_open },       { "create", op_create }, { "connect", op_connect },
	{ "modify", op_modify },   { "state", op_state },   { "attach", op_attach },
	{ "destroy", op_destroy }, { "send", op_send },     { "recv", op_recv },
	{ "poll", op_poll },       { "arm", op_arm },       { "event", op_event },
	{ "bind", op_bind },       { "fill", op_fill },     { "check", op_check },
	{ "word", op_word },       { "stream", op_stream }, { NULL, NULL },
};

static const struct operation *
find(const struct operation *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static void
execute(const struct words *words, const struct operation *more)
{
	const struct operation *operation = find(operations, words->op);

	if (!operation)
		operation = find(more, words->op);
	if (!operation)
		fail("%s: no such operation", words->op);
	operation->run(words);
}

void
serve(const struct operation *more)
{
	static char *line;
	static size_t room;
	struct words words;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	while (getline(&line, &room, stdin) > 0) {
		if (!setjmp(next)) {
			words_parse(&words, line);
			if (!strcmp(words.op, "quit"))
				break;
			execute(&words, more);
		}
		fflush(stdout);
	}
	free(line);
}
