/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SIDE_H
#define LIMIT_SIDE_H

/**
 * @file
 * The sides of the measurement. The function of a side runs on the calling lcore until the test has
 * ended, and prints the result. It returns 0, or -errno with a line on stderr.
 */

#include "options.h"
#include "port.h"

/** Send frames as fast as the window allows. End when the sink sends no responses any more. */
int side_blast(const struct port *port, const struct limit_options *opt);

/** Receive frames, check them, copy their payload, send responses, and measure the rate. */
int side_sink(const struct port *port, const struct limit_options *opt);

/**
 * Send a frame and wait until it returns, repeatedly, and measure the round trips. A message must
 * fit one frame.
 */
int side_ping(const struct port *port, const struct limit_options *opt);

/**
 * Check each received frame, copy its payload, and send a similar frame back. End when the other
 * side ends.
 */
int side_pong(const struct port *port, const struct limit_options *opt);

/** Time in seconds that a side waits for the first frame of the other side. */
#define SIDE_TIMEOUT_S 60.0

/**
 * Time in seconds without frames after which the other side counts as ended. Normally a side
 * reports its end, so this time matters if a process was killed. It is long, because a busy machine
 * may stop a process for seconds.
 */
#define SIDE_SILENCE_S 10.0

/**
 * Time in seconds that a side waits between the goodbye of the other side and the close of its
 * port. The side does not use the port in this time.
 */
#define SIDE_LEAVE_S 0.1

struct shape_kind;

/**
 * Report the end of the test to the other side, and wait until it has closed its port. A port may
 * fail if its peer closes while the port is in use. For example, memif unmaps its rings, perhaps
 * during a burst.
 * @param ack  the template of responses
 */
void side_say_goodbye(const struct port *port, const struct shape_kind *ack, uint32_t psn);

/** Wait for SIDE_LEAVE_S after the other side's goodbye, without using the port. */
void side_leave(void);

#endif /* LIMIT_SIDE_H */
