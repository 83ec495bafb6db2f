/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-perf measures over uroce what perftest measures over RDMA devices. This file calls the
 * steps of a run, and each step is in a file of its own.
 */

#include <stdio.h>

#include <rte_eal.h>

#include "capture.h"
#include "eal/command_line.h"
#include "eal/eal.h"
#include "impair.h"
#include "loopback.h"
#include "options.h"
#include "session.h"
#include "stop.h"
#include "workers.h"

#define MIB_MIN 1024u

/* Run one side of a test whose other side is another process. */
static int
run_side(const struct options *opt)
{
	/* `session` is static, because it is too large for a stack */
	static struct session session;

	session.opt = opt;
	session.is_client = opt->server != NULL;
	if (report_begin(&session.report, opt, &session.measures, false) != 0 ||
	    session_open(&session, opt->device) != 0)
		return PERF_EXIT_FAILED;
	return session_run(&session);
}

static int
exit_code(int code)
{
	return code == PERF_EXIT_FAILED && stop_signal() != 0 ? 128 + stop_signal() : code;
}

/*
 * Compute the MiB of address space that EAL needs if there are no hugepages. The address space
 * takes memory only after it is written. Each QP needs its context and its queues, whose numbers of
 * slots are powers of two. Each port needs its mbufs.
 */
static unsigned
needed_mib(const struct options *opt)
{
	const uint64_t send_slot = opt->inline_len > 64 ? 128 + opt->inline_len : 128;
	const uint64_t recv_slot = 32;
	const uint64_t per_qp = 4096 + 2 * (opt->tx_depth * send_slot + opt->rx_depth * recv_slot) +
				64 * (opt->tx_depth + opt->rx_depth);
	const uint64_t nb_pairs = opt->nb_workers > 0 ? opt->nb_workers : 1;
	const uint64_t mib = (opt->nb_qp * per_qp >> 20) * (opt->is_loopback ? 2 : 1);

	return (unsigned)nb_pairs * (mib < MIB_MIN / 2 ? MIB_MIN : (unsigned)mib + MIB_MIN / 2);
}

int
main(int argc, char **argv)
{
	struct options opt;
	int own = command_line_split(argc, argv);
	char **own_argv = argv + own;
	int own_argc = argc - own;

	switch (command_line_question(argc, argv)) {
	case COMMAND_LINE_HELP:
		options_help();
		return PERF_EXIT_OK;
	case COMMAND_LINE_VERSION:
		command_line_print_versions();
		return PERF_EXIT_OK;
	case COMMAND_LINE_NONE:
		break;
	}
	own_argv[0] = argv[0];
	int parsed = options_parse(&opt, own_argc, own_argv);
	if (parsed == PERF_VERSION_ASKED)
		command_line_print_versions();
	if (parsed != 0)
		return parsed < 0 ? PERF_EXIT_USAGE : PERF_EXIT_OK;
	if (opt.capture_file != NULL && capture_open(opt.capture_file) != 0)
		return PERF_EXIT_FAILED;
	if (opt.impair != NULL && impair_open(opt.impair) != 0)
		return PERF_EXIT_USAGE;
	eal_allow_restart();
	int started =
		eal_start(argv[0], own > 0 ? own : 1, argv, opt.is_loopback, needed_mib(&opt));
	if (started != 0)
		return started;
	stop_catch_signals();

	int code = opt.nb_workers > 0 ? workers_run(&opt)
		   : opt.is_loopback  ? loopback_run(&opt)
				      : run_side(&opt);

	capture_close();
	impair_close();
	eal_cleanup();
	return exit_code(code);
}
