/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_CONNECT_END_H
#define APPS_CONNECT_END_H

/**
 * @file
 * Functions for both sides of uroce-connect: they report steps, wait for events, and create QPs.
 */

#include <stdbool.h>
#include <uroce_cm.h>

#include "options.h"

/**
 * Report a step: one line on stdout with its name, its outcome and a text, with tabs between them.
 * @param outcome  0 for success, a negative errno, or the positive reason of the peer's REJ
 * @return `outcome`
 */
__attribute__((format(printf, 3, 4))) int end_report(const char *step, int outcome,
						     const char *format, ...);

/**
 * Wait for the next event of a channel.
 * @return 0, -ETIMEDOUT, -EINTR if a signal arrived, or another -errno
 */
int end_await(struct rdma_event_channel *channel, int timeout_ms, struct rdma_cm_event **event);

/** Create a QP for an id. end_destroy() destroys the QP. @return 0, or -errno */
int end_create_qp(struct rdma_cm_id *id, bool is_datagram);

/** Destroy an id and its QP. The caller has acknowledged all events of the id. */
void end_destroy(struct rdma_cm_id *id);

/**
 * Connect to the address of the options, and report each step.
 * @return the exit status of the program
 */
int active_run(const struct options *opt, struct rdma_event_channel *channel);

/**
 * Listen at the address of the options until SIGINT or SIGTERM.
 * @return the exit status of the program
 */
int passive_run(const struct options *opt, struct rdma_event_channel *channel);

#endif /* APPS_CONNECT_END_H */
