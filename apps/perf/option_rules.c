/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of the options: defaults that depend on other options, and options that exclude each
 * other.
 */

#include "option_table.h"

#include <string.h>

static bool
is_given(const bool *given, const char *name)
{
	for (size_t i = 0; i < option_nb_rows; i++)
		if (given[i] && strcmp(option_rows[i].name, name) == 0)
			return true;
	return false;
}

void
option_complete(struct options *opt, const bool *given)
{
	opt->has_size = is_given(given, "size");
	opt->has_iters = is_given(given, "iters");
	opt->has_gid_index = is_given(given, "gid-index");
	if (opt->is_multicast && !is_given(given, "connection"))
		opt->qp_type = IBV_QPT_UD;
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
	/*
	 * A loopback loses no packet, but a busy CPU may not run the other lcore for seconds. So
	 * the ACK timeout of a loopback is long, and no packet is retransmitted needlessly.
	 */
	if (opt->is_loopback && !is_given(given, "qp-timeout"))
		opt->timeout_code = 18;
	if (opt->is_lat)
		opt->cq_mod = 1;
	if (opt->is_lat && !is_given(given, "inline_size") &&
	    (opt->op == PERF_SEND || opt->op == PERF_WRITE))
		/* the default of write_lat in perftest for inline data, in bytes */
		opt->inline_len = 220;
	/*
	 * A full send queue must contain a signaled request: without its completion the queue never
	 * gets room.
	 */
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
	if (opt->is_infinite && opt->duration_s == 0)
		opt->duration_s = 5; /* the default of perftest for the time of an interval */
	if (opt->is_infinite)
		opt->is_no_peak = true;
}

/*
 * Refuse an option of the command line that does not apply to the kind of the test (bandwidth,
 * latency) or to its operation.
 */
static int
check_where(const struct options *opt, const bool *given)
{
	static const unsigned op_bit[] = { [PERF_SEND] = OPTION_SEND,
					   [PERF_WRITE] = OPTION_WRITE,
					   [PERF_READ] = OPTION_READ,
					   [PERF_ATOMIC] = OPTION_ATOMIC };
	unsigned kind_bit = opt->is_lat ? OPTION_LAT : OPTION_BW;

	for (size_t i = 0; i < option_nb_rows; i++) {
		if (!given[i])
			continue;
		if (!(option_rows[i].where & kind_bit))
			return option_refuse(
				"--%s: has no meaning for %s; allowed: with the %s tests",
				option_rows[i].name, opt->test, opt->is_lat ? "bw" : "lat");
		if (!(option_rows[i].where & op_bit[opt->op]))
			return option_refuse("--%s: has no meaning for %s", option_rows[i].name,
					     opt->test);
	}
	return 0;
}

static int
check_transport(const struct options *opt)
{
	if (opt->qp_type == PERF_QPT_DC)
		return option_refuse("--connection DC: is a transport of one vendor's NICs, and is "
				     "not specified; allowed: RC, UC, UD, XRC");
	if (opt->qp_type == PERF_QPT_SRD)
		return option_refuse(
			"--connection SRD: is a transport of one vendor's NICs, and is "
			"not RoCE; allowed: RC, UC, UD, XRC");
	if (opt->link == PERF_LINK_IB)
		return option_refuse("--force-link IB: RoCE is on Ethernet; allowed: Ethernet");
	if (opt->qp_type == IBV_QPT_UD && opt->op != PERF_SEND)
		return option_refuse("--connection UD: carries no %s; allowed: send_bw, send_lat",
				     opt->test);
	if (opt->qp_type == IBV_QPT_UC && (opt->op == PERF_READ || opt->op == PERF_ATOMIC))
		return option_refuse(
			"--connection UC: carries no %s; allowed: send and write tests", opt->test);
	return 0;
}

static int
check_device(const struct options *opt, const bool *given)
{
	if (is_given(given, "uroce") && is_given(given, "ib-dev"))
		return option_refuse("--uroce and --ib-dev: both name the device; allowed: one of "
				     "them");
	if (opt->is_loopback && opt->device != NULL)
		return option_refuse("--loopback: makes its own ports; allowed: it or --uroce");
	if (opt->is_loopback && opt->server != NULL)
		return option_refuse("--loopback: both ends are here; %s is one argument too many",
				     opt->server);
	if (opt->is_com_rdma_cm && opt->is_loopback)
		return option_refuse("--com_rdma_cm: connects two processes, and --loopback has "
				     "one; allowed: it or --loopback");
	if (opt->qp_type == IBV_QPT_XRC_SEND && opt->is_rdma_cm)
		return option_refuse("--connection XRC: rdma_cm does not connect it; allowed: "
				     "--com_rdma_cm");
	if (opt->is_loopback && opt->is_rdma_cm)
		return option_refuse(
			"--rdma_cm: connects two processes, and --loopback has one; allowed: "
			"it or --loopback");
	if (!opt->is_loopback && opt->device == NULL)
		return option_refuse("no device: give --uroce=PORT[,key=value...], or --loopback");
	return 0;
}

static int
check_path(const struct options *opt, const bool *given)
{
	if (opt->is_rdma_cm && (is_given(given, "tclass") || is_given(given, "pkey_index")))
		return option_refuse("--tclass and --pkey_index: with --rdma_cm the path is that "
				     "of rdma_cm; allowed: --tos");
	if (is_given(given, "tos") && (!opt->is_rdma_cm || opt->qp_type == IBV_QPT_UC))
		return option_refuse("--tos: allowed: with --rdma_cm, which has no UC in "
				     "perftest; without it --tclass is allowed");
	if (opt->is_loopback && opt->source_ip != NULL)
		return option_refuse("--source_ip: --loopback makes no connection; allowed: it or "
				     "--loopback");
	return 0;
}

static int
check_buffer(const struct options *opt, const bool *given)
{
	if (opt->mmap_file != NULL && (opt->is_hugepages || opt->is_loopback))
		return option_refuse("--mmap: allowed: without --use_hugepages and --loopback");
	if (opt->mmap_file == NULL && is_given(given, "mmap-offset"))
		return option_refuse("--mmap-offset: allowed: with --mmap");
	if (opt->mmap_offset % 4096 != 0)
		return option_refuse("--mmap-offset %llu: no multiple of the page size; allowed: "
				     "0, 4096, ...",
				     (unsigned long long)opt->mmap_offset);
	return 0;
}

/*
 * Check the options of a run that ends after a given time (--duration), or by a signal
 * (--run_infinitely).
 */
static int
check_time(const struct options *opt, const bool *given)
{
	if (opt->is_infinite &&
	    (opt->is_verify || opt->is_all || opt->is_events || opt->rate_limit != 0 ||
	     opt->nb_workers > 0 || is_given(given, "iters") ||
	     (opt->is_bidir && opt->op == PERF_SEND)))
		return option_refuse("--run_infinitely: allowed: without --verify, --all, "
				     "--events, --iters, --rate_limit and --workers, and SEND in "
				     "one direction");
	if (is_given(given, "margin") &&
	    (opt->duration_s == 0 || opt->is_infinite || opt->is_verify || opt->nb_workers > 0))
		return option_refuse("--margin: allowed: with --duration, without "
				     "--run_infinitely, --verify and --workers");
	if (opt->margin_s > 0 && 2 * opt->margin_s >= opt->duration_s)
		return option_refuse("--margin %llu: leaves no time to measure; allowed: less "
				     "than half of --duration",
				     (unsigned long long)opt->margin_s);
	return 0;
}

static int
check_rate(const struct options *opt, const bool *given)
{
	if (opt->rate_type != PERF_RATE_SOFTWARE)
		return option_refuse("--rate_limit_type %s: is a limit of NICs; allowed: SW",
				     option_choice_name("rate_limit_type", opt->rate_type));
	if (opt->rate_limit == 0 && (is_given(given, "rate_units") || opt->burst_size != 0 ||
				     is_given(given, "rate_limit_type")))
		return option_refuse("--rate_units, --burst_size and --rate_limit_type: allowed: "
				     "with --rate_limit");
	if (opt->rate_limit != 0 && (opt->order == PERF_RANDOM || opt->nb_workers > 0))
		return option_refuse("--rate_limit: allowed: without --qp-order random and "
				     "--workers");
	return 0;
}

static int
check_events(const struct options *opt, const bool *given)
{
	if (opt->is_events && (opt->duration_s != 0 || opt->rate_limit != 0))
		return option_refuse("--events: allowed: with --iters, without --duration and "
				     "--rate_limit");
	if (is_given(given, "vector") && !opt->is_events)
		return option_refuse("--vector: allowed: with --events");
	if (opt->is_reversed && opt->is_bidir)
		return option_refuse("--reversed and --bidirectional: allowed: one of them");
	if (opt->is_reversed && opt->nb_workers > 0)
		return option_refuse("--reversed: allowed: without --workers");
	if (opt->is_warmed_up && (opt->nb_workers > 0 || opt->is_infinite))
		return option_refuse("--perform_warm_up: allowed: without --workers and "
				     "--run_infinitely");
	return 0;
}

static int
check_multicast(const struct options *opt, const bool *given)
{
	if (opt->mgid != NULL && !opt->is_multicast)
		return option_refuse("--MGID: allowed: with --mcg");
	if (opt->is_multicast && (opt->is_bidir || opt->nb_qp > 1 || options_uses_cm(opt) ||
				  opt->is_srq || opt->qp_type != IBV_QPT_UD))
		return option_refuse("--mcg: allowed: with one QP of type UD, one direction, "
				     "without --rdma_cm, --com_rdma_cm and --use-srq");
	if (is_given(given, "use-srq") && opt->is_verify && opt->nb_qp > 1)
		return option_refuse("--use-srq and --verify: which request a message takes is "
				     "not known; allowed: with one QP");
	if (opt->qp_type == IBV_QPT_XRC_SEND && opt->op == PERF_SEND && opt->is_verify &&
	    opt->nb_qp > 1)
		return option_refuse("--connection XRC and --verify: which request a message takes "
				     "is not known; allowed: with one QP");
	return 0;
}

static int
check_report(const struct options *opt)
{
	if (opt->is_report_both && (!opt->is_bidir || opt->is_all))
		return option_refuse("--report-both: allowed: with --bidirectional and one size");
	if (opt->is_cpu_util && (opt->duration_s == 0 || opt->nb_workers > 0))
		return option_refuse("--cpu_util: allowed: with --duration, without --workers");
	if (opt->counters != NULL && opt->nb_workers > 0)
		return option_refuse("--report-counters: allowed: without --workers");
	if ((opt->is_sorted_list || opt->is_time_list) && opt->duration_s != 0)
		return option_refuse("--report-histogram and --report-unsorted: allowed: with "
				     "--iters; with --duration --histogram and --plot are "
				     "allowed");
	if (opt->is_lat && opt->output != PERF_OUTPUT_TABLE && opt->output != PERF_OUTPUT_LATENCY)
		return option_refuse("--output %s: has no meaning for %s; allowed: latency",
				     option_choice_name("output", opt->output), opt->test);
	if (!opt->is_lat && opt->output == PERF_OUTPUT_LATENCY)
		return option_refuse("--output latency: has no meaning for %s; allowed: bandwidth, "
				     "message_rate",
				     opt->test);
	return 0;
}

static int
check_values(const struct options *opt, const bool *given)
{
	if (opt->mtu != 0 && (opt->mtu & (opt->mtu - 1)) != 0)
		return option_refuse("--mtu %llu: no path MTU; allowed: 256, 512, 1024, 2048, 4096",
				     (unsigned long long)opt->mtu);
	if (is_given(given, "duration") && is_given(given, "iters"))
		return option_refuse("--duration and --iters: allowed: one of them");
	if (opt->order == PERF_RANDOM && (opt->duration_s == 0 || opt->is_verify))
		return option_refuse(
			"--qp-order random: allowed: with --duration, without --verify");
	if (opt->nb_workers > 0 && (!opt->is_loopback || opt->duration_s == 0 || opt->is_verify ||
				    opt->is_all || opt->is_bidir || opt->order == PERF_RANDOM))
		return option_refuse(
			"--workers: allowed: with --loopback, --duration and one size, one "
			"direction, in turn, without --verify");
	if (is_given(given, "all") && is_given(given, "size"))
		return option_refuse("--all and --size: allowed: one of them");
	if (opt->op == PERF_ATOMIC && opt->has_size && opt->size != PERF_ATOMIC_LEN)
		return option_refuse("--size %llu: atomics are 8 bytes; allowed: 8",
				     (unsigned long long)opt->size);
	if (opt->op == PERF_WRITE && opt->is_lat && opt->is_verify && opt->size == 1 &&
	    !opt->is_all)
		return option_refuse(
			"--size 1: the one byte is the signal, nothing is left to verify; "
			"allowed: 2 to %u",
			PERF_SIZE_MAX);
	if (opt->working_set != 0 && opt->is_verify)
		return option_refuse("--working-set and --verify: allowed: one of them");
	if (opt->post_list > opt->tx_depth)
		return option_refuse(
			"--post_list %llu: longer than the send queue; allowed: 1 to %llu "
			"(--tx-depth)",
			(unsigned long long)opt->post_list, (unsigned long long)opt->tx_depth);
	return 0;
}

int
option_check(const struct options *opt, const bool *given)
{
	if (check_where(opt, given) != 0 || check_transport(opt) != 0 ||
	    check_device(opt, given) != 0 || check_values(opt, given) != 0 ||
	    check_path(opt, given) != 0 || check_buffer(opt, given) != 0 ||
	    check_time(opt, given) != 0 || check_rate(opt, given) != 0 ||
	    check_events(opt, given) != 0 || check_multicast(opt, given) != 0 ||
	    check_report(opt) != 0)
		return -1;
	return 0;
}
