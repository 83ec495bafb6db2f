/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Names and texts of the verdicts, both from the one list. The list has its names in upper case
 * for the enum; counters want lower case, which the compiler makes here, character by character,
 * so that no name is typed twice.
 */

#include "wire/verdict.h"

#include <assert.h>

#define NAME_MAX_LEN         19

#define UPPER_AT(name, i)    ((i) < sizeof(name) ? (name)[(i) < sizeof(name) ? (i) : 0] : 0)
#define IS_UPPER_AT(name, i) (UPPER_AT(name, i) >= 'A' && UPPER_AT(name, i) <= 'Z')
#define LOWER_AT(name, i)    (char)(UPPER_AT(name, i) + (IS_UPPER_AT(name, i) ? 'a' - 'A' : 0))
#define LOWER_4(name, i)                                                                           \
	LOWER_AT(name, i), LOWER_AT(name, i + 1), LOWER_AT(name, i + 2), LOWER_AT(name, i + 3)
#define LOWER(name)                                                                                \
	{                                                                                          \
		LOWER_4(name, 0), LOWER_4(name, 4), LOWER_4(name, 8), LOWER_4(name, 12),           \
			LOWER_4(name, 16)                                                          \
	}

static const char names[UROCE_VERDICT_NB][NAME_MAX_LEN + 1] = {
#define NAME(name, text) [UROCE_VERDICT_##name] = LOWER(#name),
	UROCE_VERDICT_LIST(NAME)
#undef NAME
};

static const char *const texts[UROCE_VERDICT_NB] = {
#define TEXT(name, text) [UROCE_VERDICT_##name] = text,
	UROCE_VERDICT_LIST(TEXT)
#undef TEXT
};

#define CHECK_LEN(name, text)                                                                      \
	static_assert(sizeof(#name) <= NAME_MAX_LEN + 1, #name " is too long");
UROCE_VERDICT_LIST(CHECK_LEN)
#undef CHECK_LEN

const char *
uroce_verdict_name(enum uroce_verdict verdict)
{
	return (unsigned)verdict < UROCE_VERDICT_NB ? names[verdict] : "?";
}

const char *
uroce_verdict_text(enum uroce_verdict verdict)
{
	return (unsigned)verdict < UROCE_VERDICT_NB ? texts[verdict] : "?";
}
