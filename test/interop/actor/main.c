/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Executes the requests of the interop runner with libibverbs. A request is a line on standard
 * input, `OPERATION key=value...`. Its response is a line of JSON on standard output. The response
 * has "error" if the request failed, and then nothing was changed. doc/guides/interop.md describes
 * the operations and their arguments.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"
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

static const struct {
	const char *name;
	void (*run)(const struct words *words);
} operations[] = {
	{ "open", op_open },       { "create", op_create }, { "connect", op_connect },
	{ "modify", op_modify },   { "state", op_state },   { "attach", op_attach },
	{ "destroy", op_destroy }, { "send", op_send },     { "recv", op_recv },
	{ "poll", op_poll },       { "arm", op_arm },       { "event", op_event },
	{ "bind", op_bind },       { "fill", op_fill },     { "check", op_check },
	{ "word", op_word },       { "stream", op_stream },
};

static void
serve(const struct words *words)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(operations[i].name, words->op)) {
			operations[i].run(words);
			return;
		}
	fail("%s: no such operation", words->op);
}

int
main(void)
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
			serve(&words);
		}
		fflush(stdout);
	}
	ends_close();
	free(line);
	return 0;
}
