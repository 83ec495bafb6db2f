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

/** Receives, checks, copies, answers; measures. */
int side_sink(const struct port *port, const struct limit_options *opt);

/**
 * Sends one frame and waits until it comes back, again and again: the least that a round trip takes.
 * Messages of one frame only.
 */
int side_ping(const struct port *port, const struct limit_options *opt);

/** Checks a frame, copies its payload, and sends one like it back, until the other side has enough. */
int side_pong(const struct port *port, const struct limit_options *opt);

/** How long either side waits for the other before it gives up. */
#define SIDE_PATIENCE_S 60.0

/**
 * How long silence lasts before a side that has heard the other takes it for gone. The other one says when it ends, so this
 * is for one that died; a machine that is busy may keep a side from its CPU for seconds.
 */
#define SIDE_SILENCE_S 10.0

/** How long a side that was told of the end waits, its port untouched, before it closes it. */
#define SIDE_LEAVE_S 0.1

struct shape_kind;

/**
 * Tell the other side that this is the end, and give it the time to close its port first: a port may
 * not survive that its peer goes while it is in use (memif: the rings are unmapped under the burst).
 * @param ack  the template of answers
 */
void side_say_goodbye(const struct port *port, const struct shape_kind *ack, uint32_t psn);

/** Leave the port alone, having been told of the end, before it is closed. */
void side_leave(void);

#endif /* LIMIT_SIDE_H */
