/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_WORKLOAD_H
#define TEST_SIM_WORKLOAD_H

/**
 * @file
 * The world of a seed: a network and its faults, connections, their requests, and the events of
 * their lifetime. All is drawn from the seed before time begins, except for connections that are
 * created later.
 */

#include <stdbool.h>

struct qp;
struct world;

/** Create the world of its seed, ready to run. */
void workload_make(struct world *world);

/** Create one connection between two running hosts, and plan its requests. */
void workload_connect(struct world *world);

/**
 * Reset both ends of a connection, and connect them again with new requests.
 * @return whether the connection allowed it
 */
bool workload_reconnect(struct world *world, struct qp *qp);

/**
 * Reset both ends of a connection, and connect them again with the same PSNs. `settle` is called
 * before either end is reset and before they are connected: it must receive all packets that are on
 * the network.
 * @return whether the connection allowed it
 */
bool workload_reuse(struct world *world, struct qp *qp, void (*settle)(struct world *world));

#endif /* TEST_SIM_WORKLOAD_H */
