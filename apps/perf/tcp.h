/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_TCP_H
#define PERF_TCP_H

/**
 * @file
 * Exchanges lines over a TCP connection, which is independent of the RDMA traffic.
 */

#include <stdint.h>

#include "exchange.h"
#include "options.h"

/**
 * Wait for one client on the TCP port of the options, or until stop_is_asked().
 * @return 0, or -1 after one line on stderr (without a line if the wait was interrupted)
 */
int tcp_accept(struct exchange *exchange, const struct options *opt);

/**
 * Connect to the server of the options.
 * @return 0, or -1 after one line on stderr
 */
int tcp_connect(struct exchange *exchange, const struct options *opt);

/**
 * Create the two ends of a connection inside this process, for loopback.
 * @return 0, or -1 after one line on stderr
 */
int tcp_pair(struct exchange pair[2]);

#endif /* PERF_TCP_H */
