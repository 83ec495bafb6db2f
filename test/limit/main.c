/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * limit: measures the maximum rate of frames like RDMA WRITEs that a port and a core can carry. The
 * frames are built, checked and copied as a transport must do it, but without a transport. Results
 * of uroce are given as a share of this maximum.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "options.h"
#include "port.h"
#include "shape.h"
#include "side.h"

static int (*const sides[])(const struct port *, const struct limit_options *) = {
	[LIMIT_BLAST] = side_blast,
	[LIMIT_SINK] = side_sink,
	[LIMIT_PING] = side_ping,
	[LIMIT_PONG] = side_pong,
};

static int
run(const struct limit_options *opt)
{
	struct shape shape;
	struct port port;
	int ret;

	shape_init(&shape, opt->size, opt->mtu);
	ret = port_open(&port, opt, shape_frame_len(&shape));
	if (ret != 0)
		return ret;
	ret = sides[opt->side](&port, opt);
	port_close(&port);
	return ret;
}

/* The number of arguments before `--`, which are EAL's. */
static int
nb_eal_args(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

int
main(int argc, char **argv)
{
	const int nb_eal = nb_eal_args(argc, argv);
	struct limit_options opt;
	/*
	 * Parse the options before EAL starts, so that a wrong option is reported before ports are
	 * created.
	 */
	int ret = limit_options_parse(argc - nb_eal, argv + nb_eal, &opt);

	if (ret != 0)
		return ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (rte_eal_init(argc, argv) < 0) {
		fprintf(stderr, "limit: EAL does not start: %s\n", rte_strerror(rte_errno));
		return EXIT_FAILURE;
	}
	ret = run(&opt);
	/*
	 * Do not call rte_eal_cleanup(). It unmaps memory that EAL's interrupt thread may still
	 * read, because the closed port has woken that thread.
	 */
	return ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
