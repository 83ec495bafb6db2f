/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_PORT_H
#define LIMIT_PORT_H

/**
 * @file
 * The one port of a side: a queue each way, and the pool of its frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "options.h"

struct port {
	uint16_t id;
	struct rte_mempool *pool; /* of frames received and sent */
};

/**
 * Configure and start the first port of EAL, for frames of up to `frame_len` bytes.
 * @return 0, or -errno after one line on stderr
 */
int port_open(struct port *port, const struct limit_options *opt, uint32_t frame_len);

void port_close(struct port *port);

/** Wait until the link is up. @return whether it came up in time; says so on stderr when not */
bool port_wait_link(const struct port *port, double seconds);

/** Set once by SIGINT or SIGTERM: every loop ends. */
bool port_is_stopped(void);

/**
 * Send all of them, however long the port takes. It is given up, and what is left freed, when
 * nothing leaves for a second (the peer is gone) or the process is to stop.
 * @return how many were sent
 */
unsigned port_send(const struct port *port, struct rte_mbuf **frames, unsigned nb);

#endif /* LIMIT_PORT_H */
