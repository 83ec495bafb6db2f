/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-connect: goes through the steps of a connection by rdma_cm, and prints the outcome of each.
 *
 *	uroce-connect [EAL options] -- --uroce=PORT[,key=value...] [options] ADDRESS:PORT
 *
 * With --listen the program is the passive side, which accepts or rejects requests. uroce-doctor
 * --connect runs this program, and explains what it prints.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_eal.h>
#include <uroce.h>

#include "eal/command_line.h"
#include "eal/eal.h"
#include "end.h"
#include "options.h"

#define MIB 512u /* size in MiB of ordinary memory, if there are no hugepages */

/*
 * Create the device of the options, and run the active or the passive side on it. If the device
 * cannot be created, the library has printed the reason.
 */
static int
run(const struct options *opt)
{
	struct ibv_device *const device = uroce_create_device(opt->spec);
	struct rdma_event_channel *channel;
	int status;

	if (device == NULL)
		return EXIT_FAILURE;
	channel = uroce_cm_create_event_channel();
	if (channel == NULL) {
		fprintf(stderr, "uroce-connect: no event channel: %s\n", strerror(errno));
		status = EXIT_FAILURE;
	} else {
		status = opt->is_listener ? passive_run(opt, channel) : active_run(opt, channel);
	}
	uroce_cm_destroy_event_channel(channel);
	(void)uroce_destroy_device(device);
	return status;
}

int
main(int argc, char **argv)
{
	const int own = command_line_split(argc, argv);
	struct options opt;
	int ret;

	switch (command_line_question(argc, argv)) {
	case COMMAND_LINE_HELP:
		fputs(options_usage, stdout);
		return EXIT_SUCCESS;
	case COMMAND_LINE_VERSION:
		command_line_print_versions();
		return EXIT_SUCCESS;
	case COMMAND_LINE_NONE:
		break;
	}
	argv[own] = argv[0];
	if (options_parse(&opt, argc - own, argv + own) != 0)
		return EXIT_USAGE;
	eal_allow_restart();
	ret = eal_start(argv[0], own > 0 ? own : 1, argv, false, MIB);
	if (ret != 0)
		return ret;
	ret = run(&opt);
	eal_cleanup();
	return ret;
}
