/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SIDE_H
#define LIMIT_SIDE_H

/**
 * @file
 * The two ends of the measurement. Each runs on the calling lcore until it is done, prints its
 * result, and returns 0, or -errno after one line on stderr.
 */

#include "options.h"
#include "port.h"

/** Sends as fast as the window lets it; ends when the sink no longer answers. */
int side_blast(const struct port *port, const struct limit_options *opt);

/** Sends one frame and waits for its answer, again and again: the least that a round trip takes. */
int side_ping(const struct port *port, const struct limit_options *opt);

/** Receives, checks, copies, answers; measures. */
int side_sink(const struct port *port, const struct limit_options *opt);

/** How long either side waits for the other before it gives up. */
#define SIDE_PATIENCE_S 10.0

/** How long silence lasts before a side that has heard the other takes it for gone. */
#define SIDE_SILENCE_S 0.5

/** How long a side that was told of the end waits, its port untouched, before it closes it. */
#define SIDE_LEAVE_S 0.1

#endif /* LIMIT_SIDE_H */
