/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_PORT_H
#define LIMIT_PORT_H

/**
 * @file
 * The only port of a side, with one queue in each direction, and the pool of its frames.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "options.h"

struct port {
	uint16_t id;
	struct rte_mempool *pool; /* pool of received and sent frames */
};

/**
 * Configure and start the first port of EAL, for frames of up to `frame_len` bytes.
 * @return 0, or -errno after one line on stderr
 */
int port_open(struct port *port, const struct limit_options *opt, uint32_t frame_len);

void port_close(struct port *port);

/**
 * Wait until the link is up.
 * @return whether it came up in time; otherwise after a line on stderr
 */
bool port_wait_link(const struct port *port, double seconds);

/** True after SIGINT or SIGTERM: every loop ends. */
bool port_is_stopped(void);

/**
 * Send all frames, however long the port takes. If no frame leaves for a second, because the peer
 * is gone, or if the process must stop, the remaining frames are freed.
 * @return number of frames sent
 */
unsigned port_send(const struct port *port, struct rte_mbuf **frames, unsigned nb);

#endif /* LIMIT_PORT_H */
