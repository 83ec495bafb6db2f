/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_PORT_H
#define LIMIT_PORT_H

/**
 * @file
 * The only port of a process, with one queue in each direction, and the pool of its frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "options.h"

struct port {
	uint16_t id;
	struct rte_mempool *pool; /* pool of the frames that are received and sent */
};

/**
 * Configure and start the first port of EAL, for frames of up to `frame_len` bytes.
 * @return 0; -errno: a line on stderr gives the reason
 */
int port_open(struct port *port, const struct limit_options *opt, uint32_t frame_len);

void port_close(struct port *port);

/**
 * Wait until the link is up, for at most `seconds`.
 * @return false: the link is down, and a line on stderr says so
 */
bool port_wait_link(const struct port *port, double seconds);

/** Whether the process has got SIGINT or SIGTERM, so that all loops must end. */
bool port_is_stopped(void);

/**
 * Send all frames, and wait while the port is full. If no frame leaves for a second, or if the
 * process must end, the remaining frames are freed.
 * @return number of frames that were sent
 */
unsigned port_send(const struct port *port, struct rte_mbuf **frames, unsigned nb);

#endif /* LIMIT_PORT_H */
