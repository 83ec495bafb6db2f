/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the command line by the table of options (option_table.c), and prints the help. The rules
 * about options that exclude or imply each other are in option_rules.c.
 */

#include "options.h"
#include "option_table.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NB(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name;
	enum perf_op op;
	bool is_lat;
} tests[] = {
	{ "send_bw", PERF_SEND, false },     { "send_lat", PERF_SEND, true },
	{ "write_bw", PERF_WRITE, false },   { "write_lat", PERF_WRITE, true },
	{ "read_bw", PERF_READ, false },     { "read_lat", PERF_READ, true },
	{ "atomic_bw", PERF_ATOMIC, false }, { "atomic_lat", PERF_ATOMIC, true },
};

int
option_refuse(const char *format, ...)
{
	va_list args;

	fputs("uroce-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

static void
print_rows(bool is_refused)
{
	for (size_t i = 0; i < option_nb_rows; i++) {
		const struct option_row *row = &option_rows[i];
		char spelling[64];

		if (row->help == NULL || (row->kind == OPTION_REFUSED) != is_refused)
			continue;
		snprintf(spelling, sizeof(spelling), "%c%c%s--%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
			 row->arg ? "=" : "", row->arg ? row->arg : "");
		printf("  %-30s %s\n", spelling, row->help);
	}
}

void
options_help(void)
{
	printf("uroce-perf [EAL options] -- --uroce=DEV[,key=value...] TEST [flags] [SERVER]\n"
	       "uroce-perf --loopback TEST [flags]\n\n"
	       "Without SERVER this side waits for a client; start both with the same TEST and "
	       "flags.\n\n"
	       "TEST:");
	for (size_t i = 0; i < NB(tests); i++)
		printf(" %s", tests[i].name);
	printf("\n\nflags:\n");
	print_rows(false);
	printf("\nflags of perftest that are refused:\n");
	print_rows(true);
}

static void
name_choices(const struct option_choice *choices, char *text, size_t len)
{
	size_t used = 0;

	text[0] = '\0';
	for (; choices->name != NULL && used < len; choices++)
		if (choices->value >= 0)
			used += (size_t)snprintf(text + used, len - used, "%s%s", used ? ", " : "",
						 choices->name);
}

static int
take_number(const struct option_row *row, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0)
		return option_refuse("--%s %s: not a number; allowed: %llu to %llu", row->name,
				     text, (unsigned long long)row->min,
				     (unsigned long long)row->max);
	if (number < row->min || number > row->max)
		return option_refuse("--%s %s: out of range; allowed: %llu to %llu", row->name,
				     text, (unsigned long long)row->min,
				     (unsigned long long)row->max);
	*value = number;
	return 0;
}

/* Parse the value of an option as a number of bytes, which may end with K or M as in perftest. */
static int
take_bytes(const struct option_row *row, const char *text, uint64_t *value)
{
	const size_t len = strlen(text);
	const char unit = len > 0 ? text[len - 1] : '\0';
	const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
	char digits[32];

	if (shift == 0 || len >= sizeof(digits))
		return take_number(row, text, value);
	snprintf(digits, sizeof(digits), "%.*s", (int)len - 1, text);
	if (take_number(row, digits, value) != 0)
		return -1;
	if (*value > row->max >> shift)
		return option_refuse("--%s %s: out of range; allowed: %llu to %llu", row->name,
				     text, (unsigned long long)row->min,
				     (unsigned long long)row->max);
	*value <<= shift;
	return 0;
}

static int
take_decimal(const struct option_row *row, const char *text, double *value)
{
	char *end;
	double number = strtod(text, &end);

	if (!(isdigit((unsigned char)text[0]) || text[0] == '.') || *end != '\0' ||
	    !(number > 0 && number < 1e15))
		return option_refuse("--%s %s: no positive number; allowed: such as 9.5", row->name,
				     text);
	*value = number;
	return 0;
}

static int
take_choice(const struct option_row *row, const char *text, int *value)
{
	char allowed[128];

	for (const struct option_choice *choice = row->choices; choice->name != NULL; choice++) {
		if (strcmp(choice->name, text) == 0) {
			*value = choice->value;
			return 0;
		}
	}
	name_choices(row->choices, allowed, sizeof(allowed));
	return option_refuse("--%s %s: no such choice; allowed: %s", row->name, text, allowed);
}

static int
take(struct options *opt, const struct option_row *row, const char *text)
{
	void *field = (char *)opt + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_NUMBER:
		return take_number(row, text, field);
	case OPTION_BYTES:
		return take_bytes(row, text, field);
	case OPTION_DECIMAL:
		return take_decimal(row, text, field);
	case OPTION_TEXT:
		if (text[0] == '\0')
			return option_refuse("--%s: is empty; allowed: %s", row->name, row->arg);
		*(const char **)field = text;
		return 0;
	case OPTION_CHOICE:
		return take_choice(row, text, field);
	case OPTION_HELP:
		options_help();
		return PERF_HELP_GIVEN;
	case OPTION_VERSION:
		return PERF_VERSION_ASKED;
	case OPTION_REFUSED:
		return option_refuse("--%s: %s", row->name, row->help);
	}
	return 0;
}

/* Print why getopt_long() refused an option. */
static int
refuse_option(int result, char **argv)
{
	const char *given = argv[optind - 1];

	if (result == ':')
		return option_refuse("%s: needs a value; uroce-perf --help shows which", given);
	if (optopt != 0 && optopt < (int)UINT8_MAX && isprint(optopt) &&
	    strncmp(given, "--", 2) != 0)
		return option_refuse(
			"-%c: unknown option; uroce-perf --help lists the allowed ones", optopt);
	return option_refuse("%s: unknown option; uroce-perf --help lists the allowed ones", given);
}

static int
parse_flags(struct options *opt, bool *given, int argc, char **argv)
{
	struct option longs[OPTION_ROWS_MAX + 1] = { 0 };
	char shorts[2 * OPTION_ROWS_MAX + 2] = ":";
	size_t len = 1;

	for (size_t i = 0; i < option_nb_rows; i++) {
		bool has_arg = option_rows[i].arg != NULL;

		longs[i] = (struct option){ option_rows[i].name, has_arg, NULL, 256 + (int)i };
		if (option_rows[i].letter == 0)
			continue;
		shorts[len++] = option_rows[i].letter;
		if (has_arg)
			shorts[len++] = ':';
	}
	shorts[len] = '\0';

	opterr = 0;
	/*
	 * make getopt_long() start from the beginning: an earlier parse may have ended within an
	 * argument
	 */
	optind = 0;
	for (;;) {
		int result = getopt_long(argc, argv, shorts, longs, NULL);
		size_t i = 0;

		if (result < 0)
			return 0;
		if (result == '?' || result == ':')
			return refuse_option(result, argv);
		if (result >= 256)
			i = (size_t)result - 256;
		else
			while (option_rows[i].letter != result)
				i++;
		given[i] = true;
		int taken = take(opt, &option_rows[i], optarg);
		if (taken != 0)
			return taken;
	}
}

static int
parse_test(struct options *opt, int argc, char **argv)
{
	char names[160] = "";
	size_t used = 0;

	for (size_t i = 0; i < NB(tests); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 tests[i].name);
	if (optind == argc)
		return option_refuse("no test was named; allowed: %s", names);
	for (size_t i = 0; i < NB(tests); i++) {
		if (strcmp(tests[i].name, argv[optind]) != 0)
			continue;
		opt->test = tests[i].name;
		opt->op = tests[i].op;
		opt->is_lat = tests[i].is_lat;
		if (optind + 1 < argc)
			opt->server = argv[optind + 1];
		if (optind + 2 < argc)
			return option_refuse("%s: one argument too many after SERVER",
					     argv[optind + 2]);
		return 0;
	}
	return option_refuse("%s: no such test; allowed: %s", argv[optind], names);
}

static void
set_defaults(struct options *opt)
{
	*opt = (struct options){
		.qp_type = IBV_QPT_RC,
		.atomic = PERF_FETCH_AND_ADD,
		.tx_depth = 128,
		.rx_depth = 512,
		.nb_qp = 1,
		.cq_mod = 100,
		.post_list = 1,
		.timeout_code = 14,
		.retry_cnt = 7,
		.ib_port = 1,
		.port = 18515,
	};
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	bool given[OPTION_ROWS_MAX] = { false };

	set_defaults(opt);
	int result = parse_flags(opt, given, argc, argv);
	if (result != 0)
		return result;
	if (parse_test(opt, argc, argv) != 0)
		return -1;
	option_complete(opt, given);
	return option_check(opt, given);
}

const char *
options_conn_name(const struct options *opt)
{
	return option_choice_name("connection", opt->qp_type);
}
