/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORKLOAD_H
#define TEST_SIM_WORKLOAD_H

/**
 * @file
 * The world of a seed: a network and its faults, connections, their requests, and the events of
 * life.h. Everything is drawn from the seed before time begins, except for connections that are
 * created later.
 */

#include <stdbool.h>

struct qp;
struct world;

/** Draw the network, the connections, their requests and the events from the seed of `world`. */
void workload_make(struct world *world);

/** Create one connection between two hosts that have not crashed, and plan its requests. */
void workload_connect(struct world *world);

/**
 * Reset both ends of a connection, and connect them again with new requests and far PSNs.
 * @return false: the connection cannot be reconnected
 */
bool workload_reconnect(struct world *world, struct qp *qp);

/**
 * Reset both ends of a connection, and connect them again with the same PSNs.
 * @param settle  must receive all frames that are on the network; called before either end is reset
 * and before the ends are connected
 * @return false: the connection cannot be reconnected
 */
bool workload_reuse(struct world *world, struct qp *qp, void (*settle)(struct world *world));

#endif /* TEST_SIM_WORKLOAD_H */
