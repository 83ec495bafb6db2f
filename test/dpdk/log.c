/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The environment variable UROCE_LOG, and the limit of log lines that a program can cause. These
 * tests do not start EAL.
 */

#include "datapath/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static char *text;
static size_t text_len;
static FILE *sink;

static void
begin_capture(void)
{
	free(text);
	sink = open_memstream(&text, &text_len);
	assert_non_null(sink);
	rte_openlog_stream(sink);
}

static void
end_capture(void)
{
	rte_openlog_stream(NULL);
	(void)fclose(sink);
}

static unsigned
count_lines(void)
{
	unsigned nb = 0;

	for (const char *line = text; (line = strchr(line, '\n')); line++)
		nb++;
	return nb;
}

static void
log_read_env__sets_levels_before_and_after_eal_starts(void **state)
{
	(void)state;
	assert_int_equal(setenv("UROCE_LOG", "debug", 1), 0);
	uroce_log_read_env(false);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_DEBUG);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_port), RTE_LOG_DEBUG);
	/* When EAL starts, EAL sets the log levels that the options of EAL give. */
	assert_int_equal(rte_log_set_level_pattern("roce.*", RTE_LOG_WARNING), 0);
	assert_int_equal(setenv("UROCE_LOG", "info,qp=debug,nope=info,neigh=error,loud,=info", 1),
			 0);
	begin_capture();
	uroce_log_read_env(true);
	end_capture();
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_DEBUG);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_neigh), RTE_LOG_ERR);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_port), RTE_LOG_INFO);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_dev), RTE_LOG_INFO);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_mem), RTE_LOG_INFO);
	/* for each invalid part of UROCE_LOG, the log has a line that lists the allowed values */
	assert_int_equal(count_lines(), 3);
	assert_non_null(strstr(text, "'nope=info' is not understood: allowed is LEVEL"));
	assert_non_null(strstr(text, "'loud' is not understood"));
	assert_non_null(strstr(text, "'=info' is not understood"));
}

/*
 * UROCE_LOG is read once. Levels that the program sets later remain when the program creates
 * another device.
 */
static void
log_read_env__is_read_once(void **state)
{
	(void)state;
	(void)rte_log_set_level((uint32_t)uroce_log_qp, RTE_LOG_ERR);
	uroce_log_read_env(true);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_ERR);
}

static void
log_set_levels__may_be_called_again(void **state)
{
	(void)state;
	uroce_log_set_levels("error,cm=debug");
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_cm), RTE_LOG_DEBUG);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_ERR);
	/* a component that the new levels do not name has the default level again */
	uroce_log_set_levels("qp=info");
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_cm), RTE_LOG_NOTICE);
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_INFO);
	uroce_log_set_levels("");
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_NOTICE);
}

static void
log_are_levels__changes_nothing(void **state)
{
	static const char *const wrong[] = {
		"", "loud", "debug,", "nope=info", "=info", "qp=", "qp"
	};

	(void)state;
	uroce_log_set_levels("notice");
	assert_true(uroce_log_are_levels("debug"));
	assert_true(uroce_log_are_levels("warning,qp=debug,cm=error"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (uroce_log_are_levels(wrong[i]))
			fail_msg("'%s' is accepted", wrong[i]);
	}
	assert_int_equal(rte_log_get_level((uint32_t)uroce_log_qp), RTE_LOG_NOTICE);
}

/*
 * Write 10000 lines in a loop that takes far less than 100 seconds. The limit allows 5000 lines in
 * 100 seconds, so fewer lines appear.
 */
static void
log_limited__lines_are_few(void **state)
{
	(void)state;
	(void)rte_log_set_level((uint32_t)uroce_log_qp, RTE_LOG_WARNING);
	begin_capture();
	for (unsigned i = 0; i < 10000; i++) {
		UROCE_LOG_LIMITED(WARNING, qp, "line %u", i);
		/* a line that the level does not select does not count for the limit */
		UROCE_LOG_LIMITED(DEBUG, qp, "invisible");
	}
	end_capture();
	assert_true(count_lines() >= UROCE_LOG_LINES_MAX);
	assert_true(count_lines() < 5000);
	assert_non_null(strstr(text, "roce: line 0\n"));
	assert_null(strstr(text, "invisible"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_read_env__sets_levels_before_and_after_eal_starts),
		cmocka_unit_test(log_read_env__is_read_once),
		cmocka_unit_test(log_set_levels__may_be_called_again),
		cmocka_unit_test(log_are_levels__changes_nothing),
		cmocka_unit_test(log_limited__lines_are_few),
	};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
