/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * limit: the most that a port and a core can carry of frames that look like RDMA WRITEs, made and
 * checked and copied as a transport has to, but without a transport. What uroce achieves is told as
 * a share of this.
 */

#include <stdlib.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <stdio.h>

#include "options.h"
#include "port.h"
#include "shape.h"
#include "side.h"

static int (*const sides[])(const struct port *, const struct limit_options *) = {
	[LIMIT_BLAST] = side_blast,
	[LIMIT_SINK] = side_sink,
	[LIMIT_PING] = side_ping,
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

int
main(int argc, char **argv)
{
	struct limit_options opt;
	const int nb_eal = rte_eal_init(argc, argv);
	int ret;

	if (nb_eal < 0) {
		fprintf(stderr, "limit: EAL does not start: %s\n", rte_strerror(rte_errno));
		return EXIT_FAILURE;
	}
	ret = limit_options_parse(argc - nb_eal, argv + nb_eal, &opt);
	if (ret == 0)
		ret = run(&opt);
	rte_eal_cleanup();
	return ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
