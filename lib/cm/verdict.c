/* SPDX-License-Identifier: BSD-3-Clause */

/* Names and texts of the verdicts on received MADs, both generated from UROCE_CM_VERDICT_LIST. */

#include "cm/verdict.h"

#include <assert.h>

#include "base/lower.h"

static const char cm_verdict_names[UROCE_CM_VERDICT_NB][UROCE_LOWER_MAX + 1] = {
#define NAME(name, text) [UROCE_CM_VERDICT_##name] = UROCE_LOWER(#name),
	UROCE_CM_VERDICT_LIST(NAME)
#undef NAME
};

static const char *const cm_verdict_texts[UROCE_CM_VERDICT_NB] = {
#define TEXT(name, text) [UROCE_CM_VERDICT_##name] = text,
	UROCE_CM_VERDICT_LIST(TEXT)
#undef TEXT
};

#define CHECK_LEN(name, text)                                                                      \
	static_assert(sizeof(#name) <= UROCE_LOWER_MAX + 1, #name " is too long");
UROCE_CM_VERDICT_LIST(CHECK_LEN)
#undef CHECK_LEN

const char *
uroce_cm_verdict_name(enum uroce_cm_verdict verdict)
{
	return (unsigned)verdict < UROCE_CM_VERDICT_NB ? cm_verdict_names[verdict] : "?";
}

const char *
uroce_cm_verdict_text(enum uroce_cm_verdict verdict)
{
	return (unsigned)verdict < UROCE_CM_VERDICT_NB ? cm_verdict_texts[verdict] : "?";
}
