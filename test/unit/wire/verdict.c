/* SPDX-License-Identifier: BSD-3-Clause */

/* The list of verdicts: each verdict has a name for its counter and a text for users. */

#include "wire/verdict.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *const upper[] = {
#define UPPER(name, text) #name,
	UROCE_VERDICT_LIST(UPPER)
#undef UPPER
};

static void
verdict_name__is_the_enum_in_lower_case(void **state)
{
	(void)state;
	for (int v = 0; v < UROCE_VERDICT_NB; v++) {
		const char *name = uroce_verdict_name((enum uroce_verdict)v);

		assert_int_equal(strlen(name), strlen(upper[v]));
		for (size_t i = 0; name[i] != '\0'; i++)
			assert_int_equal(name[i], tolower(upper[v][i]));
	}
	assert_string_equal(uroce_verdict_name(UROCE_VERDICT_REQUEST), "request");
	assert_string_equal(uroce_verdict_name(UROCE_VERDICT_BAD_BTH_VERSION), "bad_bth_version");
	assert_string_equal(uroce_verdict_name(UROCE_VERDICT_OVERRUN), "overrun");
}

static void
verdict_text__is_the_sentence_of_the_list(void **state)
{
	(void)state;
	for (int v = 0; v < UROCE_VERDICT_NB; v++)
		assert_true(strlen(uroce_verdict_text((enum uroce_verdict)v)) > 10);
	assert_string_equal(uroce_verdict_text(UROCE_VERDICT_BAD_ICRC), "invariant CRC wrong");
}

static void
verdict__out_of_range_is_a_question_mark(void **state)
{
	(void)state;
	assert_string_equal(uroce_verdict_name(UROCE_VERDICT_NB), "?");
	assert_string_equal(uroce_verdict_text(UROCE_VERDICT_NB), "?");
	assert_string_equal(uroce_verdict_name((enum uroce_verdict) - 1), "?");
	assert_string_equal(uroce_verdict_text((enum uroce_verdict) - 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict_name__is_the_enum_in_lower_case),
		cmocka_unit_test(verdict_text__is_the_sentence_of_the_list),
		cmocka_unit_test(verdict__out_of_range_is_a_question_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
