/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CM_EXCHANGE_H
#define PERF_CM_EXCHANGE_H

/**
 * @file
 * Exchanges lines over an RC connection that rdma_cm makes between the devices of the two sides. So
 * the two sides need no network besides that of their devices.
 */

#include "cm.h"
#include "exchange.h"

/**
 * Make the connection: the client connects to the server, and the server waits for one client, or
 * until stop_is_asked().
 * @return 0, or -1 after one line on stderr (without a line if the wait was interrupted)
 */
int cm_exchange_open(struct exchange *exchange, struct cm *cm);

#endif /* PERF_CM_EXCHANGE_H */
