/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_EVENT_H
#define PERF_EVENT_H

/**
 * @file
 * Sleeping until there is a completion, for the option --events. While the program sleeps, the
 * service thread of the library drives the device.
 */

#include "endpoint.h"

/**
 * Create the completion channel, if the options request events.
 * @return 0, or -1 after a line on stderr
 */
int event_open(struct endpoint *endpoint, const struct options *opt);

/**
 * Poll completions after the CQs were found empty: request completion events, and sleep until there
 * is an event. The sleep takes some milliseconds at most, because the caller also waits for other
 * things, such as lines of the other side.
 * @return the result of ibv_poll_cq()
 */
int event_poll(struct endpoint *endpoint, int nb, struct ibv_wc *wc);

/** Destroy the channel. The CQs must have been destroyed. */
void event_close(struct endpoint *endpoint);

#endif /* PERF_EVENT_H */
