/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Names and texts of the verdicts, both generated from UROCE_VERDICT_LIST.
 */

#include "wire/verdict.h"

#include <assert.h>

#include "base/lower.h"

static const char verdict_names[UROCE_VERDICT_NB][UROCE_LOWER_MAX + 1] = {
#define NAME(name, text) [UROCE_VERDICT_##name] = UROCE_LOWER(#name),
	UROCE_VERDICT_LIST(NAME)
#undef NAME
};

static const char *const verdict_texts[UROCE_VERDICT_NB] = {
#define TEXT(name, text) [UROCE_VERDICT_##name] = text,
	UROCE_VERDICT_LIST(TEXT)
#undef TEXT
};

#define CHECK_LEN(name, text)                                                                      \
	static_assert(sizeof(#name) <= UROCE_LOWER_MAX + 1, #name " is too long");
UROCE_VERDICT_LIST(CHECK_LEN)
#undef CHECK_LEN

const char *
uroce_verdict_name(enum uroce_verdict verdict)
{
	return (unsigned)verdict < UROCE_VERDICT_NB ? verdict_names[verdict] : "?";
}

const char *
uroce_verdict_text(enum uroce_verdict verdict)
{
	return (unsigned)verdict < UROCE_VERDICT_NB ? verdict_texts[verdict] : "?";
}
