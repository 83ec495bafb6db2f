/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options are a table. Each row has the name of an option, the place of its value, the allowed
 * values, and the tests to which the option applies. Parsing, the help text and all error messages
 * use the rows.
 *
 * The file has more than 500 lines: the rows, and the rules about options that exclude or imply
 * each other, name the same options, so a new option is added in one file.
 */

#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NB(array) (sizeof(array) / sizeof((array)[0]))

/* The tests to which an option applies, as bits of struct row.where. */
#define BW       1u
#define LAT      2u
#define SEND     4u
#define WRITE    8u
#define READ     16u
#define ATOMIC   32u
#define ANY_OP   (SEND | WRITE | READ | ATOMIC)
#define ANYWHERE (BW | LAT | ANY_OP)

enum kind {
	FLAG,
	NUMBER,
	TEXT,
	CHOICE,
	HELP,
	VERSION,
};

struct choice {
	const char *name;
	int value;
};

struct row {
	const char *name;
	char letter; /* letter of the option; 0 if it has none */
	enum kind kind;
	size_t offset; /* offset of the value in struct options */
	uint64_t min, max;
	/* the allowed values of a CHOICE; the last entry has a NULL name */
	const struct choice *choices;
	unsigned where;
	const char *arg;
	const char *help; /* text for the help; NULL if the help does not show the option */
};

static const struct choice conn_choices[] = {
	{ "RC", IBV_QPT_RC }, { "UC", IBV_QPT_UC }, { "UD", IBV_QPT_UD }, { NULL, 0 }
};

static const struct choice atomic_choices[] = { { "CMP_AND_SWAP", PERF_CMP_AND_SWAP },
						{ "FETCH_AND_ADD", PERF_FETCH_AND_ADD },
						{ NULL, 0 } };

static const struct choice order_choices[] = { { "turn", PERF_IN_TURN },
					       { "random", PERF_RANDOM },
					       { NULL, 0 } };

#define AT(field) offsetof(struct options, field)

static const struct row rows[] = {
	{ "uroce", 0, TEXT, AT(device), 0, 0, NULL, ANYWHERE, "DEV[,key=value...]",
	  "the device to create: an ethdev port and its addresses" },
	{ "loopback", 0, FLAG, AT(is_loopback), 0, 0, NULL, ANYWHERE, NULL,
	  "both sides in this process, over a pair of ring ports" },
	{ "all", 'a', FLAG, AT(is_all), 0, 0, NULL, ANYWHERE, NULL,
	  "sizes from 2 to 8388608 (UD: to the path MTU)" },
	{ "atomic_type", 'A', CHOICE, AT(atomic), 0, 0, atomic_choices, BW | LAT | ATOMIC, "TYPE",
	  "kind of atomic (default FETCH_AND_ADD)" },
	{ "bidirectional", 'b', FLAG, AT(is_bidir), 0, 0, NULL, BW | ANY_OP, NULL,
	  "both sides send requests at the same time" },
	{ "connection", 'c', CHOICE, AT(qp_type), 0, 0, conn_choices, ANYWHERE, "TYPE",
	  "transport service (default RC)" },
	{ "duration", 'D', NUMBER, AT(duration_s), 1, 1000000, NULL, ANYWHERE, "SECONDS",
	  "run for this time instead of -n messages" },
	{ "CPU-freq", 'F', FLAG, AT(is_cpu_freq), 0, 0, NULL, ANYWHERE, NULL,
	  "accepted for compatibility with perftest; has no effect" },
	{ "help", 'h', HELP, 0, 0, 0, NULL, ANYWHERE, NULL, "print this text and exit" },
	{ "inline_size", 'I', NUMBER, AT(inline_len), 0, 4096, NULL, BW | LAT | SEND | WRITE,
	  "BYTES", "messages up to this size are posted inline (default 0, lat 220)" },
	{ "post_list", 'l', NUMBER, AT(post_list), 1, 1024, NULL, BW | ANY_OP, "COUNT",
	  "work requests in one post (default 1)" },
	{ "mtu", 'm', NUMBER, AT(mtu), 256, 4096, NULL, ANYWHERE, "BYTES",
	  "path MTU: 256, 512, 1024, 2048 or 4096 (default: the largest that both ports support)" },
	{ "iters", 'n', NUMBER, AT(iters), 5, UINT32_MAX, NULL, ANYWHERE, "COUNT",
	  "messages for each QP (default 1000, write_bw 5000; large sizes fewer)" },
	{ "noPeak", 'N', FLAG, AT(is_no_peak), 0, 0, NULL, BW | ANY_OP, NULL,
	  "do not measure the peak bandwidth" },
	{ "outs", 'o', NUMBER, AT(outs), 1, 255, NULL, BW | LAT | READ | ATOMIC, "COUNT",
	  "outstanding READs or atomics (default: the limit of the device)" },
	{ "port", 'p', NUMBER, AT(port), 1, 65535, NULL, ANYWHERE, "PORT",
	  "TCP port of the connection between client and server, with -R their RDMA port (default "
	  "18515)" },
	{ "qp", 'q', NUMBER, AT(nb_qp), 1, PERF_QPS_MAX, NULL, BW | ANY_OP, "COUNT",
	  "number of queue pairs (default 1)" },
	{ "qp-order", 0, CHOICE, AT(order), 0, 0, order_choices, BW | ANY_OP, "ORDER",
	  "which QP posts next: turn, or random for each list (default turn)" },
	{ "cq-mod", 'Q', NUMBER, AT(cq_mod), 1, PERF_DEPTH_MAX, NULL, BW | ANY_OP, "COUNT",
	  "number of requests for each completion (default 100)" },
	{ "rx-depth", 'r', NUMBER, AT(rx_depth), 1, PERF_DEPTH_MAX, NULL, BW | LAT | SEND, "COUNT",
	  "length of the receive queue (default 512)" },
	{ "rdma_cm", 'R', FLAG, AT(is_rdma_cm), 0, 0, NULL, ANYWHERE, NULL,
	  "connect by rdma_cm: SERVER is the address of its device, no TCP connection is made" },
	{ "size", 's', NUMBER, AT(size), 1, PERF_SIZE_MAX, NULL, ANYWHERE, "BYTES",
	  "message size (default 65536, lat 2; UD at most the path MTU)" },
	{ "tx-depth", 't', NUMBER, AT(tx_depth), 1, PERF_DEPTH_MAX, NULL, ANYWHERE, "COUNT",
	  "length of the send queue (default 128); lat: 1 waits for the completion of each "
	  "message" },
	{ "qp-timeout", 'u', NUMBER, AT(timeout_code), 0, 31, NULL, ANYWHERE, "CODE",
	  "ACK timeout: 4.096 us * 2^CODE (default 14, loopback 18)" },
	{ "retry_count", 0, NUMBER, AT(retry_cnt), 0, 7, NULL, ANYWHERE, "COUNT",
	  "retries after an ACK timeout (default 7)" },
	{ "gid-index", 'x', NUMBER, AT(gid_index), 0, 255, NULL, ANYWHERE, "INDEX",
	  "source GID (default: the first IPv4 one, with --ipv6 the first global IPv6 one)" },
	{ "ipv6", 0, FLAG, AT(is_ipv6), 0, 0, NULL, ANYWHERE, NULL, "use an IPv6 GID" },
	{ "report_gbits", 0, FLAG, AT(is_gbits), 0, 0, NULL, BW | ANY_OP, NULL,
	  "report Gb/sec (10^9 bits) instead of MB/sec (2^20 bytes)" },
	{ "out_json", 0, FLAG, AT(is_json), 0, 0, NULL, ANYWHERE, NULL,
	  "write a JSON report as well" },
	{ "out_json_file", 0, TEXT, AT(json_file), 0, 0, NULL, ANYWHERE, "FILE",
	  "file of the JSON report (default perftest_out.json)" },
	{ "version", 'V', VERSION, 0, 0, 0, NULL, ANYWHERE, NULL,
	  "print the versions of uroce, DPDK and rdma-core, and exit" },
	{ "verify", 0, FLAG, AT(is_verify), 0, 0, NULL, ANYWHERE, NULL,
	  "check every byte of every message, in batches" },
	{ "verify-selftest", 0, FLAG, AT(is_selftest), 0, 0, NULL, ANYWHERE, NULL, NULL },
	{ "working-set", 0, NUMBER, AT(working_set), PERF_ATOMIC_LEN, PERF_WORKING_SET_MAX, NULL,
	  BW | SEND | WRITE | READ, "BYTES",
	  "memory that the messages use in turn at each side (default: a page for each QP)" },
	{ "workers", 0, NUMBER, AT(nb_workers), 1, PERF_WORKERS_MAX, NULL,
	  BW | WRITE | READ | ATOMIC, "COUNT",
	  "with --loopback: number of threads, each with both sides of a pair of ports" },
	{ "capture", 0, TEXT, AT(capture_file), 0, 0, NULL, ANYWHERE, "FILE",
	  "write the frames that this side receives to a pcap file" },
	{ "impair", 0, TEXT, AT(impair), 0, 0, NULL, ANYWHERE, "loss=P,...",
	  "impair the network: loss, dup, reorder, corrupt (probabilities), span, seed" },
};

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

static int __attribute__((format(printf, 1, 2))) refuse(const char *format, ...)
{
	va_list args;

	fputs("uroce-perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
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
	for (size_t i = 0; i < NB(rows); i++) {
		const struct row *row = &rows[i];
		char spelling[64];

		if (row->help == NULL)
			continue;
		snprintf(spelling, sizeof(spelling), "%c%c%s--%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
			 row->arg ? "=" : "", row->arg ? row->arg : "");
		printf("  %-30s %s\n", spelling, row->help);
	}
}

static void
name_choices(const struct choice *choices, char *text, size_t len)
{
	size_t used = 0;

	text[0] = '\0';
	for (; choices->name != NULL && used < len; choices++)
		used += (size_t)snprintf(text + used, len - used, "%s%s", used ? ", " : "",
					 choices->name);
}

static int
take_number(const struct row *row, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0)
		return refuse("--%s %s: not a number; allowed: %llu to %llu", row->name, text,
			      (unsigned long long)row->min, (unsigned long long)row->max);
	if (number < row->min || number > row->max)
		return refuse("--%s %s: out of range; allowed: %llu to %llu", row->name, text,
			      (unsigned long long)row->min, (unsigned long long)row->max);
	*value = number;
	return 0;
}

static int
take_choice(const struct row *row, const char *text, int *value)
{
	char allowed[128];

	for (const struct choice *choice = row->choices; choice->name != NULL; choice++) {
		if (strcmp(choice->name, text) == 0) {
			*value = choice->value;
			return 0;
		}
	}
	name_choices(row->choices, allowed, sizeof(allowed));
	return refuse("--%s %s: no such choice; allowed: %s", row->name, text, allowed);
}

static int
take(struct options *opt, const struct row *row, const char *text)
{
	void *field = (char *)opt + row->offset;

	switch (row->kind) {
	case FLAG:
		*(bool *)field = true;
		return 0;
	case NUMBER:
		return take_number(row, text, field);
	case TEXT:
		if (text[0] == '\0')
			return refuse("--%s: is empty; allowed: %s", row->name, row->arg);
		*(const char **)field = text;
		return 0;
	case CHOICE:
		return take_choice(row, text, field);
	case HELP:
		options_help();
		return PERF_HELP_GIVEN;
	case VERSION:
		return PERF_VERSION_ASKED;
	}
	return 0;
}

/* Print why getopt_long() refused an option. */
static int
refuse_option(int result, char **argv)
{
	const char *given = argv[optind - 1];

	if (result == ':')
		return refuse("%s: needs a value; uroce-perf --help shows which", given);
	if (optopt != 0 && optopt < (int)UINT8_MAX && isprint(optopt) &&
	    strncmp(given, "--", 2) != 0)
		return refuse("-%c: unknown option; uroce-perf --help lists the allowed ones",
			      optopt);
	return refuse("%s: unknown option; uroce-perf --help lists the allowed ones", given);
}

static int
parse_flags(struct options *opt, bool *given, int argc, char **argv)
{
	struct option longs[NB(rows) + 1] = { 0 };
	char shorts[2 * NB(rows) + 2] = ":";
	size_t len = 1;

	for (size_t i = 0; i < NB(rows); i++) {
		bool has_arg = rows[i].arg != NULL;

		longs[i] = (struct option){ rows[i].name, has_arg, NULL, 256 + (int)i };
		if (rows[i].letter == 0)
			continue;
		shorts[len++] = rows[i].letter;
		if (has_arg)
			shorts[len++] = ':';
	}
	shorts[len] = '\0';

	opterr = 0;
	optind = 0; /* begin anew: an earlier parse may have ended within an argument */
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
			while (rows[i].letter != result)
				i++;
		given[i] = true;
		int taken = take(opt, &rows[i], optarg);
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
		return refuse("no test was named; allowed: %s", names);
	for (size_t i = 0; i < NB(tests); i++) {
		if (strcmp(tests[i].name, argv[optind]) != 0)
			continue;
		opt->test = tests[i].name;
		opt->op = tests[i].op;
		opt->is_lat = tests[i].is_lat;
		if (optind + 1 < argc)
			opt->server = argv[optind + 1];
		if (optind + 2 < argc)
			return refuse("%s: one argument too many after SERVER", argv[optind + 2]);
		return 0;
	}
	return refuse("%s: no such test; allowed: %s", argv[optind], names);
}

static bool
is_given(const bool *given, const char *name)
{
	for (size_t i = 0; i < NB(rows); i++)
		if (given[i] && strcmp(rows[i].name, name) == 0)
			return true;
	return false;
}

/* Refuse an option that does not apply to this test. */
static int
check_where(const struct options *opt, const bool *given)
{
	static const unsigned op_bit[] = {
		[PERF_SEND] = SEND, [PERF_WRITE] = WRITE, [PERF_READ] = READ, [PERF_ATOMIC] = ATOMIC
	};
	unsigned kind_bit = opt->is_lat ? LAT : BW;

	for (size_t i = 0; i < NB(rows); i++) {
		if (!given[i])
			continue;
		if (!(rows[i].where & kind_bit))
			return refuse("--%s: has no meaning for %s; allowed: with the %s tests",
				      rows[i].name, opt->test, opt->is_lat ? "bw" : "lat");
		if (!(rows[i].where & op_bit[opt->op]))
			return refuse("--%s: has no meaning for %s", rows[i].name, opt->test);
	}
	return 0;
}

static int
check_transport(const struct options *opt)
{
	if (opt->qp_type == IBV_QPT_UD && opt->op != PERF_SEND)
		return refuse("--connection UD: carries no %s; allowed: send_bw, send_lat",
			      opt->test);
	if (opt->qp_type == IBV_QPT_UC && (opt->op == PERF_READ || opt->op == PERF_ATOMIC))
		return refuse("--connection UC: carries no %s; allowed: send and write tests",
			      opt->test);
	return 0;
}

static int
check_device(const struct options *opt)
{
	if (opt->is_loopback && opt->device != NULL)
		return refuse("--loopback: makes its own ports; allowed: it or --uroce");
	if (opt->is_loopback && opt->server != NULL)
		return refuse("--loopback: both ends are here; %s is one argument too many",
			      opt->server);
	if (opt->is_loopback && opt->is_rdma_cm)
		return refuse("--rdma_cm: connects two processes, and --loopback has one; allowed: "
			      "it or --loopback");
	if (!opt->is_loopback && opt->device == NULL)
		return refuse("no device: give --uroce=PORT[,key=value...], or --loopback");
	return 0;
}

static int
check_values(const struct options *opt, const bool *given)
{
	if (opt->mtu != 0 && (opt->mtu & (opt->mtu - 1)) != 0)
		return refuse("--mtu %llu: no path MTU; allowed: 256, 512, 1024, 2048, 4096",
			      (unsigned long long)opt->mtu);
	if (is_given(given, "duration") && is_given(given, "iters"))
		return refuse("--duration and --iters: allowed: one of them");
	if (opt->order == PERF_RANDOM && (opt->duration_s == 0 || opt->is_verify))
		return refuse("--qp-order random: allowed: with --duration, without --verify");
	if (opt->nb_workers > 0 && (!opt->is_loopback || opt->duration_s == 0 || opt->is_verify ||
				    opt->is_all || opt->is_bidir || opt->order == PERF_RANDOM))
		return refuse("--workers: allowed: with --loopback, --duration and one size, one "
			      "direction, in turn, without --verify");
	if (is_given(given, "all") && is_given(given, "size"))
		return refuse("--all and --size: allowed: one of them");
	if (opt->op == PERF_ATOMIC && opt->has_size && opt->size != PERF_ATOMIC_LEN)
		return refuse("--size %llu: atomics are 8 bytes; allowed: 8",
			      (unsigned long long)opt->size);
	if (opt->op == PERF_WRITE && opt->is_lat && opt->is_verify && opt->size == 1 &&
	    !opt->is_all)
		return refuse("--size 1: the one byte is the signal, nothing is left to verify; "
			      "allowed: 2 to %u",
			      PERF_SIZE_MAX);
	if (opt->working_set != 0 && opt->is_verify)
		return refuse("--working-set and --verify: allowed: one of them");
	if (opt->post_list > opt->tx_depth)
		return refuse("--post_list %llu: longer than the send queue; allowed: 1 to %llu "
			      "(--tx-depth)",
			      (unsigned long long)opt->post_list,
			      (unsigned long long)opt->tx_depth);
	return 0;
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
		.port = 18515,
	};
}

/* Set the defaults that depend on other options. */
static void
complete(struct options *opt, const bool *given)
{
	opt->has_size = is_given(given, "size");
	opt->has_iters = is_given(given, "iters");
	opt->has_gid_index = is_given(given, "gid-index");
	opt->is_verify = opt->is_verify || opt->is_selftest;
	if (opt->json_file != NULL)
		opt->is_json = true;
	else
		opt->json_file = "perftest_out.json";
	if (!opt->has_iters)
		opt->iters = opt->op == PERF_WRITE && !opt->is_lat ? 5000 : 1000;
	if (!opt->has_size && opt->op == PERF_ATOMIC)
		opt->size = PERF_ATOMIC_LEN;
	else if (!opt->has_size)
		opt->size = opt->is_lat ? 2 : 65536;
	if (opt->op == PERF_ATOMIC)
		/* option -a has no effect on atomics, because each has 8 bytes */
		opt->is_all = false;
	/* no packet is lost on a loopback, but a busy CPU may not run the other lcore for seconds */
	if (opt->is_loopback && !is_given(given, "qp-timeout"))
		opt->timeout_code = 18;
	if (opt->is_lat)
		opt->cq_mod = 1;
	if (opt->is_lat && !is_given(given, "inline_size") &&
	    (opt->op == PERF_SEND || opt->op == PERF_WRITE))
		opt->inline_len = 220; /* the default of write_lat in perftest */
	/* a full send queue must contain a signaled request, else no completion makes room */
	if (opt->post_list <= opt->tx_depth && opt->cq_mod > opt->tx_depth - opt->post_list + 1)
		opt->cq_mod = opt->tx_depth - opt->post_list + 1;
	/*
	 * only completions reduce the number of messages in flight, so the last request of each
	 * list must be signaled
	 */
	if ((opt->order == PERF_RANDOM || opt->nb_workers > 0) && opt->post_list % opt->cq_mod != 0)
		opt->cq_mod = opt->post_list;
	if (opt->op != PERF_SEND)
		opt->rx_depth = 1;
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	bool given[NB(rows)] = { false };

	set_defaults(opt);
	int result = parse_flags(opt, given, argc, argv);
	if (result != 0)
		return result;
	if (parse_test(opt, argc, argv) != 0)
		return -1;
	complete(opt, given);
	if (check_where(opt, given) != 0 || check_transport(opt) != 0 || check_device(opt) != 0 ||
	    check_values(opt, given) != 0)
		return -1;
	return 0;
}

const char *
options_conn_name(const struct options *opt)
{
	const struct choice *choice = conn_choices;

	while (choice->value != opt->qp_type)
		choice++;
	return choice->name;
}
