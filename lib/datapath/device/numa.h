/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NUMA_H
#define UROCE_DATAPATH_NUMA_H

/**
 * @file
 * NUMA placement. A port, the memory of its workers and the CPUs that drive them should be on the
 * same NUMA node. All placement is a preference: if a node has no memory or no allowed CPU, another
 * node is used.
 *
 * EAL calls a node "socket". SOCKET_ID_ANY (-1) means that a port belongs to no particular node.
 */

#include <pthread.h>
#include <stddef.h>

/** Whether the machine has several NUMA nodes. */
int uroce_numa_has_nodes(void);

/**
 * Set the NUMA policy of a range of memory: the kernel allocates from `node` those pages that were
 * not touched yet. With SOCKET_ID_ANY the policy does not change.
 */
void uroce_numa_place(void *mem, size_t len, int node);

/**
 * Restrict a thread to those of its allowed CPUs that belong to a NUMA node. If there are no such
 * CPUs, nothing is changed.
 */
void uroce_numa_keep_near(pthread_t thread, int node);

/**
 * Find an lcore that waits for work, on this NUMA node if possible.
 * @return ID of the lcore; RTE_MAX_LCORE: no lcore waits
 */
unsigned uroce_numa_free_lcore(int node);

#endif /* UROCE_DATAPATH_NUMA_H */
