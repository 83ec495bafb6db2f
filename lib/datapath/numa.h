/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NUMA_H
#define UROCE_DATAPATH_NUMA_H

/**
 * @file
 * Where things are: a port, the memory that its workers use, and the CPUs that drive them belong on one NUMA
 * node. All of it is preference: where a node has no memory, or no CPU for us, another does.
 *
 * EAL names nodes by "socket", with SOCKET_ID_ANY (-1) for a port that is nowhere in particular.
 */

#include <pthread.h>
#include <stddef.h>

/** Whether the machine has several nodes. */
int uroce_numa_has_nodes(void);

/** Have pages, which nobody has touched yet, come from this node; any: as they would. */
void uroce_numa_place(void *mem, size_t len, int node);

/** Keep a thread on the CPUs of this node, out of those that it may use; it stays as it is where there are none. */
void uroce_numa_keep_near(pthread_t thread, int node);

/** An lcore that waits for work, on this node if there is one. @return RTE_MAX_LCORE: none waits */
unsigned uroce_numa_free_lcore(int node);

#endif /* UROCE_DATAPATH_NUMA_H */
