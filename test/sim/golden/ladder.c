/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reads and writes files of ladder diagrams. ladder.h describes the format.
 */

#include "ladder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace.h"

#define FILE_MAX (1u << 20)

static char *
read_all(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, FILE_MAX);
	size_t len = 0;

	if (file && text)
		len = fread(text, 1, FILE_MAX - 1, file);
	if (!len) {
		fprintf(stderr, "golden: %s cannot be read\n", path);
		exit(2);
	}
	fclose(file);
	return text;
}

static char *
cut(const char *from, const char *to)
{
	while (to > from && to[-1] == '\n' && (to - from < 2 || to[-2] == '\n'))
		to--;
	return strndup(from, (size_t)(to - from));
}

/*
 * Read one case: from the line that begins with "== " to the next such line, or to the end of the
 * file.
 * @return the end of the case
 */
static const char *
read_case(struct ladder_case *c, const char *at)
{
	const char *next = strstr(at, "\n== ");
	const char *end = next ? next + 1 : at + strlen(at);
	const char *first = strstr(at, "\n> ");

	if (strncmp(at, "== ", 3) || !first || first > end) {
		fprintf(stderr, "golden: a case begins with == and has commands: %.40s\n", at);
		exit(2);
	}
	c->name = strndup(at + 3, strcspn(at + 3, "\n"));
	c->head = strndup(at, (size_t)(first + 1 - at));
	c->transcript = cut(first + 1, end);
	return end;
}

void
ladder_read(struct ladder *ladder, const char *path)
{
	char *text = read_all(path);
	const char *at = strstr(text, "== ");

	*ladder = (struct ladder){ .path = path };
	while (at && *at) {
		ladder->cases = realloc(ladder->cases, (ladder->nb + 1) * sizeof(ladder->cases[0]));
		at = read_case(&ladder->cases[ladder->nb++], at);
	}
	free(text);
}

/* Write the file again. The text before the first case does not change. */
void
ladder_write(struct ladder *ladder, struct world *world)
{
	char *text = read_all(ladder->path);
	const char *first = strstr(text, "== ");
	FILE *file = fopen(ladder->path, "w");

	if (!file) {
		fprintf(stderr, "golden: %s cannot be written\n", ladder->path);
		exit(2);
	}
	fwrite(text, 1, first ? (size_t)(first - text) : strlen(text), file);
	for (unsigned i = 0; i < ladder->nb; i++) {
		char *played = ladder_play(&ladder->cases[i], world);

		fprintf(file, "%s%s%s", ladder->cases[i].head, played,
			i + 1 < ladder->nb ? "\n" : "");
		free(played);
	}
	fclose(file);
	free(text);
}

void
ladder_free(struct ladder *ladder)
{
	for (unsigned i = 0; i < ladder->nb; i++) {
		free(ladder->cases[i].name);
		free(ladder->cases[i].head);
		free(ladder->cases[i].transcript);
	}
	free(ladder->cases);
}
