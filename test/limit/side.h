/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SIDE_H
#define LIMIT_SIDE_H

/**
 * @file
 * The sides of the measurement. Each runs on the calling lcore until it is finished, prints its
 * result, and returns 0, or -errno after one line on stderr.
 */

#include "options.h"
#include "port.h"

/** Send as fast as the window allows; end when the sink does not respond any more. */
int side_blast(const struct port *port, const struct limit_options *opt);

/** Receive, check, copy and respond; measure. */
int side_sink(const struct port *port, const struct limit_options *opt);

/**
 * Send one frame and wait until it returns, repeatedly: the minimum time of a round trip. Messages
 * of one frame only.
 */
int side_ping(const struct port *port, const struct limit_options *opt);

/** Check a frame, copy its payload, and send one like it back, until the other side ends. */
int side_pong(const struct port *port, const struct limit_options *opt);

/** Time that a side waits for the first frame of the other. */
#define SIDE_TIMEOUT_S 60.0

/**
 * Time without frames after which the other side counts as ended. Normally a side reports its end,
 * so this time is for a process that was killed. A busy machine may stop a side for seconds.
 */
#define SIDE_SILENCE_S 10.0

/**
 * Time that a side waits after the other's goodbye, without use of the port, before it closes the
 * port.
 */
#define SIDE_LEAVE_S 0.1

struct shape_kind;

/**
 * Report the end to the other side, and give it time to close its port first. A port may fail if
 * its peer closes while it is in use (memif: the rings are unmapped during a burst).
 * @param ack  the template of responses
 */
void side_say_goodbye(const struct port *port, const struct shape_kind *ack, uint32_t psn);

/** Wait without use of the port after the other side's goodbye. */
void side_leave(void);

#endif /* LIMIT_SIDE_H */
