/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_XRC_H
#define PERF_XRC_H

/**
 * @file
 * The objects that a test with --connection XRC has in addition: an XRC domain, a shared receive
 * queue of the domain, and an XRC target for each queue pair. Queue pair N of a side sends to
 * target N of the other side.
 */

#include "endpoint.h"

/**
 * Open the XRC domain, and create its shared receive queue.
 * @return 0, or -1 after a line on stderr
 */
int xrc_open(struct endpoint *endpoint, const struct options *opt);

/**
 * Create the target of queue pair `idx`, whose local address exists, and add the number of the
 * target to this address.
 * @return 0, or -1 after a line on stderr
 */
int xrc_create_target(struct endpoint *endpoint, const struct options *opt, unsigned idx);

/**
 * Connect XRC target `idx` to queue pair `idx` of the peer.
 * @return 0, or -1 after a line on stderr
 */
int xrc_connect_target(struct endpoint *endpoint, const struct options *opt, unsigned idx);

/** Destroy the XRC targets that exist. */
void xrc_destroy_targets(struct endpoint *endpoint);

/**
 * Close the XRC domain if there is one. The queue pairs and the shared receive queue must have been
 * destroyed.
 */
void xrc_close(struct endpoint *endpoint);

#endif /* PERF_XRC_H */
