/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

void
words_parse(struct words *words, char *line)
{
	char *rest = NULL;
	char *word = strtok_r(line, " \t\r\n", &rest);

	words->op = word ? word : "";
	words->nb = 0;
	while ((word = strtok_r(NULL, " \t\r\n", &rest))) {
		char *value = strchr(word, '=');

		if (!value)
			fail("%s: a word of a request is key=value", word);
		if (words->nb == WORDS_MAX)
			fail("more than %d words in a request", WORDS_MAX);
		*value++ = '\0';
		words->pairs[words->nb].key = word;
		words->pairs[words->nb++].value = value;
	}
}

const char *
words_text(const struct words *words, const char *key)
{
	for (int i = 0; i < words->nb; i++)
		if (!strcmp(words->pairs[i].key, key))
			return words->pairs[i].value;
	return NULL;
}

uint64_t
words_number(const struct words *words, const char *key, uint64_t otherwise, uint64_t most)
{
	const char *text = words_text(words, key);
	unsigned long long number;
	char *end;

	if (!text)
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 0);
	if (!*text || *end || errno || *text == '-' || number > most)
		fail("%s=%s: a number, at most %llu", key, text, (unsigned long long)most);
	return number;
}

static uint64_t
look_up(const char *key, const char *name, size_t len, const struct word_bit *table)
{
	for (const struct word_bit *row = table; row->name; row++)
		if (strlen(row->name) == len && !strncmp(row->name, name, len))
			return row->bit;
	fail("%s=%.*s: no such name; %s is one", key, (int)len, name, table->name);
}

uint64_t
words_bits(const struct words *words, const char *key, uint64_t otherwise,
	   const struct word_bit *table)
{
	const char *text = words_text(words, key);
	uint64_t bits = 0;

	if (!text)
		return otherwise;
	while (*text) {
		size_t len = strcspn(text, "+");

		bits |= look_up(key, text, len, table);
		text += len + (text[len] == '+');
	}
	return bits;
}

uint64_t
words_one(const struct words *words, const char *key, uint64_t otherwise,
	  const struct word_bit *table)
{
	const char *text = words_text(words, key);

	return text ? look_up(key, text, strlen(text), table) : otherwise;
}

const char *
words_name_of(const struct word_bit *table, uint64_t value)
{
	for (; table->name; table++)
		if (table->bit == value)
			return table->name;
	return "?";
}
