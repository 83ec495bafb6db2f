/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of uroce-perf. Options mean the same as in perftest, and wrong options are
 * refused. Error messages go to stderr, which perf-loopback.sh reads.
 */

#include "check.h"
#include "options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 16

/*
 * Parse a command line whose words are separated by single blanks. A device is added unless the
 * command line has --loopback, --uroce or --ib-dev.
 */
static int
parse(struct options *opt, const char *text)
{
	static char line[256];
	static char device[] = "--uroce=net_null0", program[] = "uroce-perf";
	char *argv[WORDS_MAX] = { program, device };
	int argc = 2;

	if (strstr(text, "--loopback") != NULL || strstr(text, "--uroce") != NULL ||
	    strstr(text, "--ib-dev") != NULL)
		argc = 1;
	snprintf(line, sizeof(line), "%s", text);
	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_parse(opt, argc, argv);
}

static void
parse__defaults_are_perftests(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw"), 0);
	assert_int_equal(opt.op, PERF_WRITE);
	assert_false(opt.is_lat);
	assert_int_equal(opt.qp_type, IBV_QPT_RC);
	assert_int_equal(opt.size, 65536);
	assert_int_equal(opt.iters, 5000);
	assert_int_equal(opt.tx_depth, 128);
	assert_int_equal(opt.cq_mod, 100);
	assert_int_equal(opt.port, 18515);
	assert_int_equal(opt.timeout_code, 14);
	assert_null(opt.server);
	assert_int_equal(parse(&opt, "read_lat"), 0);
	assert_int_equal(opt.size, 2);
	assert_int_equal(opt.iters, 1000);
	assert_int_equal(parse(&opt, "send_bw"), 0);
	assert_int_equal(opt.rx_depth, 512);
	assert_int_equal(opt.iters, 1000);
	/* on a loopback the ACK timeout is longer */
	assert_int_equal(parse(&opt, "--loopback write_bw"), 0);
	assert_int_equal(opt.timeout_code, 18);
	assert_int_equal(parse(&opt, "--loopback write_bw -u 14"), 0);
	assert_int_equal(opt.timeout_code, 14);
}

static void
parse__flags_may_stand_anywhere(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "-s 1024 send_bw -n 77 192.0.2.1 -c UD"), 0);
	assert_string_equal(opt.test, "send_bw");
	assert_string_equal(opt.server, "192.0.2.1");
	assert_int_equal(opt.size, 1024);
	assert_int_equal(opt.iters, 77);
	assert_int_equal(opt.qp_type, IBV_QPT_UD);
	assert_true(opt.has_size && opt.has_iters);
}

static void
parse__long_and_short_are_the_same(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw --size=8 --qp 4 --post_list=16 --tx-depth 64"), 0);
	assert_int_equal(opt.size, 8);
	assert_int_equal(opt.nb_qp, 4);
	assert_int_equal(opt.post_list, 16);
	assert_int_equal(opt.tx_depth, 64);
}

static void
parse__rdma_cm_connects_any_type_of_two_processes(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw"), 0);
	assert_false(opt.is_rdma_cm);
	assert_int_equal(parse(&opt, "write_bw -R -p 7000 192.0.2.1"), 0);
	assert_true(opt.is_rdma_cm);
	assert_int_equal(opt.port, 7000);
	assert_int_equal(parse(&opt, "send_bw --rdma_cm -c UD"), 0);
	assert_int_equal(parse(&opt, "send_lat --rdma_cm -c UC"), 0);
	assert_int_equal(parse(&opt, "--loopback write_bw -R"), -1);
}

/*
 * With QPs in random order, only completions reduce the number of requests in flight. So the last
 * request of each list that is posted must be signaled.
 */
static void
parse__random_order_completes_each_list(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw -q 131072 --qp-order=random -D 1 -l 16"), 0);
	assert_int_equal(opt.order, PERF_RANDOM);
	assert_int_equal(opt.cq_mod, 16);
	assert_int_equal(parse(&opt, "write_bw -q 4 --qp-order=random -D 1 -l 16 -Q 8"), 0);
	assert_int_equal(opt.cq_mod, 8);
	assert_int_equal(parse(&opt, "write_bw -q 4 --qp-order=random -D 1 -l 16 -Q 5"), 0);
	assert_int_equal(opt.cq_mod, 16);
	assert_int_equal(parse(&opt, "write_bw -q 4 --qp-order=random"), -1);
	assert_int_equal(parse(&opt, "write_bw -q 4 --qp-order=random -D 1 --verify"), -1);
}

static void
parse__workers_loop_one_sided_tests_for_a_time(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "--loopback --workers 2 write_bw -D 1 -l 16 -Q 100"), 0);
	assert_int_equal(opt.nb_workers, 2);
	assert_int_equal(opt.cq_mod, 16);
	assert_int_equal(parse(&opt, "--loopback --workers 2 write_bw"), -1);
	assert_int_equal(parse(&opt, "--loopback --workers 2 write_bw -D 1 --verify"), -1);
	assert_int_equal(parse(&opt, "--loopback --workers 2 write_bw -D 1 -b"), -1);
	assert_int_equal(parse(&opt, "--loopback --workers 2 write_bw -D 1 -a"), -1);
	assert_int_equal(parse(&opt, "--loopback --workers 2 send_bw -D 1"), -1);
	assert_int_equal(parse(&opt, "--workers 2 write_bw -D 1"), -1);
}

static void
parse__atomics_have_one_size(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "atomic_bw -a -A CMP_AND_SWAP"), 0);
	assert_int_equal(opt.size, 8);
	assert_false(opt.is_all);
	assert_int_equal(opt.atomic, PERF_CMP_AND_SWAP);
	assert_int_equal(parse(&opt, "atomic_bw -s 8"), 0);
	assert_int_equal(parse(&opt, "atomic_bw -s 16"), -1);
}

/*
 * The moderation of completions leaves room for a list of requests in the send queue. Otherwise a
 * full send queue could have no signaled request, and uroce-perf would wait for ever.
 */
static void
parse__moderation_leaves_room_for_a_list(void **state)
{
	static const char *const lines[] = { "write_bw -t 128 -l 128", "write_bw -t 1",
					     "write_bw -t 16 -l 5 -Q 16", "write_bw -Q 8192" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options opt;

		assert_int_equal(parse(&opt, lines[i]), 0);
		assert_true(opt.cq_mod >= 1);
		assert_true(opt.cq_mod - 1 + opt.post_list <= opt.tx_depth);
	}
}

static void
parse__selftest_verifies(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw --verify-selftest"), 0);
	assert_true(opt.is_verify && opt.is_selftest);
}

static void
parse__json_file_means_json(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw --out_json"), 0);
	assert_string_equal(opt.json_file, "perftest_out.json");
	assert_int_equal(parse(&opt, "write_bw --out_json_file=x"), 0);
	assert_true(opt.is_json);
	assert_string_equal(opt.json_file, "x");
}

static void
parse__multicast_is_ud(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "send_bw -g"), 0);
	assert_int_equal(opt.qp_type, IBV_QPT_UD);
	assert_int_equal(parse(&opt, "send_lat -g -M 239.1.1.1 -c UD"), 0);
}

static void
parse__a_run_without_an_end_reports_each_5_s(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw --run_infinitely"), 0);
	assert_int_equal(opt.duration_s, 5);
	assert_true(opt.is_no_peak);
	assert_int_equal(parse(&opt, "write_bw --run_infinitely -D 2"), 0);
	assert_int_equal(opt.duration_s, 2);
}

static void
parse__sizes_have_units(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw -s 64K"), 0);
	assert_int_equal(opt.size, 65536);
	assert_int_equal(parse(&opt, "write_bw -s 3M"), 0);
	assert_int_equal(opt.size, 3 << 20);
}

static void
parse__the_device_has_two_names(void **state)
{
	struct options opt;

	(void)state;
	/* parse() adds --uroce to this command line, so it names two devices */
	assert_int_equal(parse(&opt, "write_bw -d net_null1"), -1);
	assert_int_equal(parse(&opt, "--ib-dev=net_null1 write_bw"), 0);
	assert_string_equal(opt.device, "net_null1");
	assert_int_equal(parse(&opt, "--loopback write_bw -d net_null1"), -1);
}

static void
parse__what_perftest_asks_for_may_be_always_so(void **state)
{
	struct options opt;

	(void)state;
	assert_int_equal(parse(&opt, "write_bw -F --use_old_post_send --disable_pcie_relaxed"), 0);
	assert_int_equal(parse(&opt, "read_lat -F --use_old_post_send --force-link=Ethernet"), 0);
}

static void
parse__boundaries(void **state)
{
	static const struct {
		const char *line;
		int result;
	} rows[] = {
		{ "write_bw -s 1", 0 },          { "write_bw -s 0", -1 },
		{ "write_bw -s 2147483648", 0 }, { "write_bw -s 2147483649", -1 },
		{ "write_bw -s 64K", 0 },        { "write_bw -s 2048M", 0 },
		{ "write_bw -s 2049M", -1 },     { "write_bw -s 0K", -1 },
		{ "write_bw -s K", -1 },         { "write_bw -s 17592186044417M", -1 },
		{ "write_bw -i 1", 0 },          { "write_bw -i 2", -1 },
		{ "write_bw -S 0", 0 },          { "write_bw -S 3", -1 },
		{ "write_bw -w 0.5", 0 },        { "write_bw -w 0", -1 },
		{ "write_bw -w -1", -1 },        { "write_bw -w 1x", -1 },
		{ "write_bw -y nan", -1 },       { "write_bw -n 5", 0 },
		{ "write_bw -n 4", -1 },         { "write_bw -q 131072", 0 },
		{ "write_bw -q 131073", -1 },    { "write_bw -u 31", 0 },
		{ "write_bw -u 32", -1 },        { "write_bw -p 65535", 0 },
		{ "write_bw -p 65536", -1 },     { "write_bw -m 256", 0 },
		{ "write_bw -m 255", -1 },       { "write_bw -m 4096", 0 },
		{ "write_bw -m 3000", -1 },      { "write_bw -l 128", 0 },
		{ "write_bw -l 129", -1 },       { "write_bw -s 12x", -1 },
		{ "write_bw -s -1", -1 },        { "write_bw -s 18446744073709551616", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct options opt;

		assert_int_equal(parse(&opt, rows[i].line), rows[i].result);
	}
}

static void
parse__refuses_what_makes_no_sense(void **state)
{
	static const char *const lines[] = {
		"",
		"nosuch_bw",
		"write_bw server extra",
		"write_bw --nosuch",
		"write_bw -Z",
		"write_bw -s",
		"write_bw -c DC",
		"send_lat -c SRD",
		"write_bw --force-link IB",
		"--uroce=net_null0 -d net_null1 write_bw",
		"write_bw -T 8",
		"write_bw -R --tclass 8",
		"--loopback write_bw --source_ip 192.0.2.1",
		"--loopback write_bw --mmap x",
		"write_bw --mmap-offset 4096",
		"write_bw --mmap x --mmap-offset 100",
		"write_bw --run_infinitely --verify",
		"send_bw -b --run_infinitely",
		"write_bw -f 1",
		"write_bw -D 2 -f 1",
		"write_bw --rate_limit_type PP",
		"write_bw --burst_size 4",
		"write_bw --rate_limit 0",
		"write_bw -e",
		"send_bw -e -D 2",
		"send_bw -X 1",
		"write_bw --reversed -b",
		"write_lat --reversed",
		"write_bw --use-srq",
		"send_bw --use-srq --verify -q 2",
		"send_bw -c XRC --verify -q 2",
		"write_bw -c XRC -R",
		"--loopback write_bw -z",
		"send_bw -M 239.1.1.1",
		"write_bw -g",
		"send_bw -g -b",
		"send_bw -g -c RC",
		"send_bw -g -q 2",
		"read_lat --perform_warm_up",
		"write_bw --report-both",
		"write_bw -b -a --report-both",
		"write_bw --cpu_util",
		"write_bw -H",
		"write_bw --plot x",
		"write_lat -H -D 2",
		"write_lat -w 5",
		"write_lat --output bandwidth",
		"write_bw --output latency",
		"write_bw --output everything",
		"write_bw -c UD",
		"read_bw -c UC",
		"atomic_lat -c UC",
		"write_lat -q 2",
		"read_bw -I 64",
		"write_bw -A CMP_AND_SWAP",
		"send_bw -o 4",
		"write_bw -r 4",
		"write_bw -n 10 -D 2",
		"write_bw -a -s 8",
		"write_bw --working-set=1048576 --verify",
		"write_lat --working-set=1048576",
		"atomic_bw --working-set=1048576",
		"write_lat --verify -s 1",
		"--loopback write_bw server",
		"--loopback --uroce=net_null0 write_bw",
		"--uroce= write_bw",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options opt;

		assert_int_equal(parse(&opt, lines[i]), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__defaults_are_perftests),
		cmocka_unit_test(parse__flags_may_stand_anywhere),
		cmocka_unit_test(parse__long_and_short_are_the_same),
		cmocka_unit_test(parse__rdma_cm_connects_any_type_of_two_processes),
		cmocka_unit_test(parse__random_order_completes_each_list),
		cmocka_unit_test(parse__workers_loop_one_sided_tests_for_a_time),
		cmocka_unit_test(parse__atomics_have_one_size),
		cmocka_unit_test(parse__moderation_leaves_room_for_a_list),
		cmocka_unit_test(parse__selftest_verifies),
		cmocka_unit_test(parse__json_file_means_json),
		cmocka_unit_test(parse__multicast_is_ud),
		cmocka_unit_test(parse__a_run_without_an_end_reports_each_5_s),
		cmocka_unit_test(parse__sizes_have_units),
		cmocka_unit_test(parse__the_device_has_two_names),
		cmocka_unit_test(parse__what_perftest_asks_for_may_be_always_so),
		cmocka_unit_test(parse__boundaries),
		cmocka_unit_test(parse__refuses_what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
