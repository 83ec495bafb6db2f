/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, sources and descriptions of the counters, generated from UROCE_COUNTER_LIST. */
#include "transport/counter.h"

#include <assert.h>

#include "base/lower.h"

/* The size of the longest string that DPDK telemetry accepts, with the terminating zero. */
#define TEXT_MAX 128

static const char counter_names[UROCE_COUNTER_NB][UROCE_LOWER_MAX + 1] = {
#define NAME(name, source, text) [UROCE_COUNTER_##name] = UROCE_LOWER(#name),
	UROCE_COUNTER_LIST(NAME)
#undef NAME
};

static const struct {
	enum uroce_counter_source source;
	const char *text;
} counter_rows[UROCE_COUNTER_NB] = {
#define ROW(name, source, text) [UROCE_COUNTER_##name] = { UROCE_COUNTER_OF_##source, text },
	UROCE_COUNTER_LIST(ROW)
#undef ROW
};

#define CHECK_LEN(name, source, text)                                                              \
	static_assert(sizeof(#name) <= UROCE_LOWER_MAX + 1, #name " is too long");                 \
	static_assert(sizeof(text) <= TEXT_MAX, "the text of " #name " is too long");
UROCE_COUNTER_LIST(CHECK_LEN)
#undef CHECK_LEN

const char *
uroce_counter_name(enum uroce_counter counter)
{
	return (unsigned)counter < UROCE_COUNTER_NB ? counter_names[counter] : "?";
}

const char *
uroce_counter_text(enum uroce_counter counter)
{
	return (unsigned)counter < UROCE_COUNTER_NB ? counter_rows[counter].text : "?";
}

enum uroce_counter_source
uroce_counter_source(enum uroce_counter counter)
{
	assert((unsigned)counter < UROCE_COUNTER_NB);
	return counter_rows[counter].source;
}
