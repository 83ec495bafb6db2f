/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CM_ENDPOINT_H
#define PERF_CM_ENDPOINT_H

/**
 * @file
 * The queue pairs of a test that rdma_cm connects.
 */

#include "cm.h"

/**
 * Create and connect the queue pairs of an endpoint after endpoint_create().
 * @return 0, or -1 after a line on stderr (without a line if cm->is_peer_gone)
 */
int cm_endpoint_connect(struct endpoint *endpoint, struct cm *cm);

#endif /* PERF_CM_ENDPOINT_H */
