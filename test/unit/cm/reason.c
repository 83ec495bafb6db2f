/* SPDX-License-Identifier: BSD-3-Clause */

/* The texts of reject reasons, and times in the encoding of CM messages. */

#include "cm/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cm/timeout.h"
#include "cm/verdict.h"

static void
reason_text__of_1_to_33_and_35(void **state)
{
	(void)state;
	for (unsigned reason = 0; reason < 100; reason++) {
		const bool is_known = (reason >= 1 && reason <= 33) || reason == 35;
		const char *text = uroce_cm_reason_text(reason);

		assert_int_equal(strcmp(text, "unknown reason") != 0, is_known);
		for (unsigned other = 1; other < reason && is_known; other++)
			assert_string_not_equal(text, uroce_cm_reason_text(other));
	}
	assert_string_equal(uroce_cm_reason_text(65535), "unknown reason");
	assert_non_null(strstr(uroce_cm_reason_text(8), "no listener"));
	assert_non_null(strstr(uroce_cm_reason_text(10), "earlier connection"));
	assert_non_null(strstr(uroce_cm_reason_text(28), "program"));
}

static void
status_text__of_each_status(void **state)
{
	(void)state;
	for (unsigned status = 0; status < 256; status++) {
		const char *sidr = uroce_cm_sidr_status_text(status);
		const char *apr = uroce_cm_apr_status_text(status);

		assert_int_equal(strcmp(sidr, "unknown status") != 0, status <= 5);
		assert_int_equal(strcmp(apr, "unknown status") != 0, status <= 13);
	}
}

static void
timeout__codes_and_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_timeout_ns(0), 4096);
	assert_int_equal(uroce_cm_timeout_ns(20), UINT64_C(4294967296));
	assert_int_equal(uroce_cm_timeout_ns(24), UINT64_C(68719476736));
	assert_int_equal(uroce_cm_timeout_ns(31), UINT64_C(8796093022208));
	assert_int_equal(uroce_cm_timeout_ns(0xe0 | 20), UINT64_C(4294967296));
	assert_int_equal(uroce_cm_timeout_code(0), 0);
	assert_int_equal(uroce_cm_timeout_code(UINT64_MAX), 31);
	for (uint8_t code = 0; code < 31; code++) {
		assert_int_equal(uroce_cm_timeout_code(uroce_cm_timeout_ns(code)), code);
		assert_int_equal(uroce_cm_timeout_code(uroce_cm_timeout_ns(code) + 1), code + 1);
	}
}

static void
verdict__has_name_and_text(void **state)
{
	(void)state;
	for (int v = 0; v < UROCE_CM_VERDICT_NB; v++)
		assert_true(strlen(uroce_cm_verdict_text((enum uroce_cm_verdict)v)) > 10);
	assert_string_equal(uroce_cm_verdict_name(UROCE_CM_VERDICT_ACCEPTED), "accepted");
	assert_string_equal(uroce_cm_verdict_name(UROCE_CM_VERDICT_BAD_METHOD), "bad_method");
	assert_string_equal(uroce_cm_verdict_name(UROCE_CM_VERDICT_NB), "?");
	assert_string_equal(uroce_cm_verdict_text((enum uroce_cm_verdict) - 1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reason_text__of_1_to_33_and_35),
		cmocka_unit_test(status_text__of_each_status),
		cmocka_unit_test(timeout__codes_and_nanoseconds),
		cmocka_unit_test(verdict__has_name_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
