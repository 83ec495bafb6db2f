/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORKLOAD_H
#define TEST_SIM_WORKLOAD_H

/**
 * @file
 * What a seed is: a network, what goes wrong in it, connections, what they are asked for, and what
 * happens to them. All drawn from the seed before time begins, but for connections that are born
 * later.
 */

#include <stdbool.h>

struct qp;
struct world;

/** Make the world of its seed, ready to run. */
void workload_make(struct world *world);

/** Make one connection between two hosts that are alive, with its plan. */
void workload_connect(struct world *world);

/** Put both ends of a connection into RESET, and connect them anew, with a plan. @return whether */
bool workload_reconnect(struct world *world, struct qp *qp);

/**
 * The same with the PSNs that they had, where nothing of the connection is left on the network: `settle` is called
 * before either end is reset, and before they are connected. @return whether
 */
bool workload_reuse(struct world *world, struct qp *qp, void (*settle)(struct world *world));

#endif /* TEST_SIM_WORKLOAD_H */
